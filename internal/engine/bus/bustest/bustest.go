// Package bustest is the test suite that every implementation of bus passes.
package bustest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

// Run checks the guarantees of the interface.
func Run(t *testing.T, open func(t *testing.T) bus.Bus) {
	t.Run("each publisher's order is kept", func(t *testing.T) { ordered(t, open(t)) })
	t.Run("subjects are separate, and a cancelled subscriber receives nothing", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("many subjects at once", func(t *testing.T) { subjects(t, open(t)) })
	t.Run("sizes", func(t *testing.T) { sizes(t, open(t)) })
	t.Run("a handler publishes", func(t *testing.T) { replies(t, open(t)) })
	t.Run("subjects are checked", func(t *testing.T) { names(t, open(t)) })
	t.Run("closed", func(t *testing.T) { closed(t, open(t)) })
	for name, test := range map[string]func(*testing.T, bus.Bus){
		"answers": answers, "owned": owned, "no responder": nobody, "in time": inTime, "one of several responders answers": several, "too many requests": tooMany, "too large an answer": largeAnswer,
		"close waits for answers": closeWaits,
	} {
		t.Run("requests: "+name, func(t *testing.T) { test(t, open(t)) })
	}
}

// ordered: each of several concurrent publishers on one subject keeps its order.
func ordered(t *testing.T, b bus.Bus) {
	const publishers, messages = 4, 200
	var mu sync.Mutex
	got := map[byte][]byte{}
	var all sync.WaitGroup
	all.Add(publishers * messages)
	cancel, err := b.Subscribe("s", func(data []byte) {
		mu.Lock()
		got[data[0]] = append(got[data[0]], data[1])
		mu.Unlock()
		all.Done()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	for p := range publishers {
		go func() {
			data := make([]byte, 2) // reused: a bus does not keep data
			for m := range messages {
				data[0], data[1] = byte(p), byte(m)
				if err := b.Publish("s", data); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	eventually.Done(t, "all messages arrive", &all)
	for p, seen := range got {
		if !slices.IsSorted(seen) || len(seen) != messages {
			t.Errorf("publisher %d: got %d messages, in order: %v", p, len(seen), slices.IsSorted(seen))
		}
	}
}

// cancelled: a subscriber gets messages of its own subject only, and none after it was cancelled.
func cancelled(t *testing.T, b bus.Bus) {
	received := make(chan string, 10)
	listen := func(name, subject string) func() {
		cancel, err := b.Subscribe(subject, func(data []byte) { received <- fmt.Sprintf("%s %s", name, data) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cancel
	}
	gone := listen("gone", "a")
	listen("first", "a")
	listen("other", "b")
	gone()
	gone() // a second call has no effect
	for _, subject := range []string{"a", "b"} {
		if err := b.Publish(subject, []byte(subject)); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{<-received, <-received}
	slices.Sort(got)
	if want := []string{"first a", "other b"}; !slices.Equal(got, want) || len(received) > 0 {
		t.Errorf("got messages %v", got)
	}
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// subjects: many subjects at once each get their own messages, in order and complete, and no gap is reported.
func subjects(t *testing.T, b bus.Bus) {
	const many, messages = 100, 50
	got := make([][]byte, many) // by subscription
	var all sync.WaitGroup
	all.Add(many * messages)
	for n := range many {
		cancel, err := b.Subscribe(fmt.Sprintf("part.%d.of-it", n), func(data []byte) {
			if int(data[0]) != n {
				t.Errorf("subject %d: got a message for subject %d", n, data[0])
			}
			got[n] = append(got[n], data[1])
			all.Done()
		}, func() { t.Errorf("subject %d: got a gap, want none", n) })
		must(t, err)
		defer cancel()
	}
	for n := range many {
		go func() {
			for m := range messages {
				if err := b.Publish(fmt.Sprintf("part.%d.of-it", n), []byte{byte(n), byte(m)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	eventually.Done(t, "all messages arrive", &all)
	for n, seen := range got {
		if len(seen) != messages || !slices.IsSorted(seen) {
			t.Errorf("subject %d: got messages %d", n, seen)
		}
	}
}

// sizes: messages up to the limit arrive complete; larger ones are errors, and the next message arrives.
func sizes(t *testing.T, b bus.Bus) {
	received := make(chan []byte, 10)
	_, err := b.Subscribe("s", func(data []byte) { received <- bytes.Clone(data) }, func() { t.Error("got a gap, want none") })
	must(t, err)
	data := make([]byte, bus.MaxData+1)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, n := range []int{0, 1, 4096, 100_000, bus.MaxData, 3} {
		must(t, b.Publish("s", data[:n]))
		if got := <-received; !bytes.Equal(got, data[:n]) {
			t.Errorf("got %d bytes, want %d", len(got), n)
		}
		if err := b.Publish("s", data); !errors.Is(err, bus.ErrTooLarge) {
			t.Errorf("too large a message: got %v, want ErrTooLarge", err)
		}
	}
	if _, err := b.Request(t.Context(), "s", data); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("too large a request: got %v, want ErrTooLarge", err)
	}
}

// replies: a handler may publish on another subject, and cancel itself.
func replies(t *testing.T, b bus.Bus) {
	received := make(chan string, 1)
	_, err := b.Subscribe("back", func(data []byte) { received <- string(data) }, nil)
	must(t, err)
	calls, cancel := 0, func() {}
	ready := make(chan struct{})
	cancel, err = b.Subscribe("there", func(data []byte) {
		<-ready
		calls++
		cancel()
		if err := b.Publish("back", append(data, '!')); err != nil {
			t.Error(err)
		}
	}, nil)
	must(t, err)
	close(ready)
	for range 3 {
		must(t, b.Publish("there", []byte("hello")))
	}
	if got := <-received; got != "hello!" || calls != 1 {
		t.Errorf("got %q after %d calls", got, calls)
	}
}

func names(t *testing.T, b bus.Bus) {
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "*", "a.>", "a b", "a\r\n", "$SYS", "\u00e4", strings.Repeat("a", 201)} {
		_, subscribed := b.Subscribe(subject, func([]byte) {}, nil)
		_, responds := b.Respond(subject, func([]byte) []byte { return nil })
		_, asked := b.Request(t.Context(), subject, nil)
		for what, err := range map[string]error{"publish": b.Publish(subject, nil), "subscribe": subscribed, "respond": responds, "request": asked} {
			if !errors.Is(err, bus.ErrSubject) {
				t.Errorf("%s on subject %q: got %v, want ErrSubject", what, subject, err)
			}
		}
	}
	for _, subject := range []string{"a", "A_b-9", bus.Node("node-1", 0), strings.Repeat("a", 200)} {
		must(t, b.Publish(subject, nil))
	}
}

func closed(t *testing.T, b bus.Bus) {
	_, err := b.Subscribe("s", func([]byte) {}, nil)
	must(t, err)
	must(t, b.Close())
	_, subscribed := b.Subscribe("s", func([]byte) {}, nil)
	_, responds := b.Respond("s", func([]byte) []byte { return nil })
	_, asked := b.Request(t.Context(), "s", nil)
	for what, err := range map[string]error{"publish": b.Publish("s", nil), "subscribe": subscribed, "respond": responds, "request": asked} {
		if !errors.Is(err, bus.ErrClosed) {
			t.Errorf("%s after Close: got %v, want ErrClosed", what, err)
		}
	}
	must(t, b.Close())
}
