// Package bustest is the suite that every bus passes.
package bustest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/bus"
)

// Run holds a bus to its port's promises.
func Run(t *testing.T, open func(t *testing.T) bus.Bus) {
	t.Run("each publisher's order is kept", func(t *testing.T) {
		b := open(t)
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
				data := make([]byte, 2) // reused: a bus does not keep it
				for m := range messages {
					data[0], data[1] = byte(p), byte(m)
					if err := b.Publish("s", data); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		all.Wait()
		for p, seen := range got {
			if !slices.IsSorted(seen) || len(seen) != messages {
				t.Errorf("publisher %d: %d messages, sorted: %v", p, len(seen), slices.IsSorted(seen))
			}
		}
	})
	t.Run("subjects are apart, and a cancelled subscriber hears nothing", func(t *testing.T) {
		b := open(t)
		heard := make(chan string, 10)
		listen := func(name, subject string) func() {
			cancel, err := b.Subscribe(subject, func(data []byte) { heard <- fmt.Sprintf("%s %s", name, data) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			return cancel
		}
		gone := listen("gone", "a")
		listen("first", "a")
		listen("other", "b")
		gone()
		gone() // again: nothing
		for _, subject := range []string{"a", "b"} {
			if err := b.Publish(subject, []byte(subject)); err != nil {
				t.Fatal(err)
			}
		}
		got := []string{<-heard, <-heard}
		slices.Sort(got)
		if want := []string{"first a", "other b"}; !slices.Equal(got, want) || len(heard) > 0 {
			t.Errorf("heard %v", got)
		}
	})
	t.Run("subjects side by side", func(t *testing.T) { subjects(t, open(t)) })
	t.Run("sizes", func(t *testing.T) { sizes(t, open(t)) })
	t.Run("a handler publishes", func(t *testing.T) { replies(t, open(t)) })
	t.Run("subjects are checked", func(t *testing.T) { names(t, open(t)) })
	t.Run("closed", func(t *testing.T) { closed(t, open(t)) })
	for name, test := range map[string]func(*testing.T, bus.Bus){
		"answers": answers, "nobody answers": nobody, "in time": inTime, "one of several answers": several, "too many": tooMany, "too large an answer": largeAnswer,
		"close waits for answers": closeWaits,
	} {
		t.Run("requests: "+name, func(t *testing.T) { test(t, open(t)) })
	}
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// subjects, many at once: each hears its own, in order, whole, and nobody is told of a hole where there is none.
func subjects(t *testing.T, b bus.Bus) {
	const many, messages = 100, 50
	got := make([][]byte, many) // each by its own subscription
	var all sync.WaitGroup
	all.Add(many * messages)
	for n := range many {
		cancel, err := b.Subscribe(fmt.Sprintf("part.%d.of-it", n), func(data []byte) {
			if int(data[0]) != n {
				t.Errorf("subject %d hears what is for %d", n, data[0])
			}
			got[n] = append(got[n], data[1])
			all.Done()
		}, func() { t.Errorf("subject %d misses something", n) })
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
	all.Wait()
	for n, seen := range got {
		if len(seen) != messages || !slices.IsSorted(seen) {
			t.Errorf("subject %d: %d", n, seen)
		}
	}
}

// sizes up to the limit arrive whole; beyond it is an error, and the next one arrives.
func sizes(t *testing.T, b bus.Bus) {
	heard := make(chan []byte, 10)
	_, err := b.Subscribe("s", func(data []byte) { heard <- bytes.Clone(data) }, func() { t.Error("something is missing") })
	must(t, err)
	data := make([]byte, bus.MaxData+1)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, n := range []int{0, 1, 4096, 100_000, bus.MaxData, 3} {
		must(t, b.Publish("s", data[:n]))
		if got := <-heard; !bytes.Equal(got, data[:n]) {
			t.Errorf("%d bytes of %d", len(got), n)
		}
		if err := b.Publish("s", data); !errors.Is(err, bus.ErrTooLarge) {
			t.Errorf("too many bytes: %v", err)
		}
	}
	if _, err := b.Request(t.Context(), "s", data); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("too large a request: %v", err)
	}
}

// replies: a handler may publish on another subject, and cancel itself.
func replies(t *testing.T, b bus.Bus) {
	heard := make(chan string, 1)
	_, err := b.Subscribe("back", func(data []byte) { heard <- string(data) }, nil)
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
	if got := <-heard; got != "hello!" || calls != 1 {
		t.Errorf("%q after %d calls", got, calls)
	}
}

func names(t *testing.T, b bus.Bus) {
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "*", "a.>", "a b", "a\r\n", "$SYS", "\u00e4", strings.Repeat("a", 201)} {
		_, subscribed := b.Subscribe(subject, func([]byte) {}, nil)
		_, responds := b.Respond(subject, func([]byte) []byte { return nil })
		_, asked := b.Request(t.Context(), subject, nil)
		for what, err := range map[string]error{"publish": b.Publish(subject, nil), "subscribe": subscribed, "respond": responds, "request": asked} {
			if !errors.Is(err, bus.ErrSubject) {
				t.Errorf("%s %q: %v", what, subject, err)
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
			t.Errorf("%s after the end: %v", what, err)
		}
	}
	must(t, b.Close())
}
