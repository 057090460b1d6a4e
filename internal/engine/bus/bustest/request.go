package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
)

func echo(data []byte) []byte { return append([]byte("re: "), data...) }

// answers: concurrent requesters get their answers, even of maximum size.
func answers(t *testing.T, b bus.Bus) {
	cancel, err := b.Respond("s", echo)
	must(t, err)
	if _, err := b.Respond("other", func([]byte) []byte { return []byte("of another") }); err != nil {
		t.Fatal(err)
	}
	_, err = b.Subscribe("s", func([]byte) { t.Error("a subscriber got a request") }, nil)
	must(t, err)
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			text := fmt.Appendf(nil, "question %d", n)
			answer, err := b.Request(t.Context(), "s", text)
			if err != nil || !bytes.Equal(answer, echo(text)) {
				t.Errorf("request: got %q, %v", answer, err)
			}
		})
	}
	eventually.Done(t, "all requests are answered", &all)
	large := bytes.Repeat([]byte("x"), bus.MaxData-4)
	if answer, err := b.Request(t.Context(), "s", large); err != nil || !bytes.Equal(answer, echo(large)) {
		t.Errorf("largest request: got %d bytes, %v", len(answer), err)
	}
	if answer, err := b.Request(t.Context(), "other", nil); err != nil || string(answer) != "of another" {
		t.Errorf("empty request: got %q, %v", answer, err)
	}
	cancel()
	cancel() // a second call has no effect
	eventually.True(t, "nobody answers", func() bool {
		_, err := b.Request(t.Context(), "s", nil)
		return errors.Is(err, bus.ErrNoResponder)
	})
}

// owned: a responder may keep the data of a request, also while the requester reuses its buffer.
func owned(t *testing.T, b bus.Bus) {
	var mu sync.Mutex // guards kept
	var kept [][]byte
	_, err := b.Respond("s", func(data []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, data)
		return nil
	})
	must(t, err)
	buffer := make([]byte, 1)
	for i := range 100 {
		buffer[0] = byte(i)
		_, err := b.Request(t.Context(), "s", buffer)
		must(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, data := range kept {
		if len(data) != 1 || data[0] != byte(i) {
			t.Errorf("request %d: got %v", i, data)
		}
	}
	if len(kept) != 100 {
		t.Errorf("got %d requests", len(kept))
	}
}

func nobody(t *testing.T, b bus.Bus) {
	_, err := b.Subscribe("s", func([]byte) {}, nil) // a subscriber does not answer requests
	must(t, err)
	if answer, err := b.Request(t.Context(), "s", []byte("hello")); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("request without a responder: got %q, %v, want ErrNoResponder", answer, err)
	}
}

// deadline is a context whose deadline passes when the test says so.
type deadline struct {
	context.Context
	passed chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.passed }

func (d deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// inTime: a requester returns at its deadline, whatever the responder does, and other requests are answered.
func inTime(t *testing.T, b bus.Bus) {
	asked, release := make(chan struct{}, 10), make(chan struct{})
	defer close(release)
	_, err := b.Respond("s", func(data []byte) []byte {
		if string(data) == "slow" {
			asked <- struct{}{}
			<-release
		}
		return data
	})
	must(t, err)
	ctx := deadline{t.Context(), make(chan struct{})}
	go func() {
		<-asked
		close(ctx.passed)
	}()
	if _, err := b.Request(ctx, "s", []byte("slow")); !errors.Is(err, bus.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: got %v, want ErrNoAnswer", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := b.Request(cancelled, "s", []byte("slow")); !errors.Is(err, bus.ErrNoAnswer) || !errors.Is(err, context.Canceled) {
		t.Errorf("a request cancelled while in progress: got %v", err)
	}
	if _, err := b.Request(cancelled, "s", []byte("quick")); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("a request cancelled before: got %v", err)
	}
	if answer, err := b.Request(t.Context(), "s", []byte("quick")); err != nil || string(answer) != "quick" {
		t.Errorf("a request beside a slow one: got %q, %v", answer, err)
	}
}

// several: of several responders, one handles each request.
func several(t *testing.T, b bus.Bus) {
	var mu sync.Mutex
	worked := 0
	for range 3 {
		_, err := b.Respond("s", func(data []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			worked++
			return data
		})
		must(t, err)
	}
	for range 50 {
		_, err := b.Request(t.Context(), "s", nil)
		must(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if worked != 50 {
		t.Errorf("50 requests were handled %d times, want 50", worked)
	}
}

// tooMany: beyond bus.AtOnce, requesters fail at once; requests in progress are answered.
func tooMany(t *testing.T, b bus.Bus) {
	asked, release := make(chan struct{}, bus.AtOnce), make(chan struct{})
	_, err := b.Respond("s", func(data []byte) []byte {
		asked <- struct{}{}
		<-release
		return data
	})
	must(t, err)
	var all sync.WaitGroup
	for range bus.AtOnce {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := b.Request(ctx, "s", nil); err != nil {
				t.Error(err)
			}
		})
	}
	for range bus.AtOnce {
		<-asked
	}
	if _, err := b.Request(t.Context(), "s", nil); !errors.Is(err, bus.ErrBusy) {
		t.Errorf("one request too many: got %v, want ErrBusy", err)
	}
	close(release)
	eventually.Done(t, "all requests are answered", &all)
	_, err = b.Request(t.Context(), "s", nil)
	must(t, err)
}

func largeAnswer(t *testing.T, b bus.Bus) {
	_, err := b.Respond("s", func([]byte) []byte { return make([]byte, bus.MaxData+1) })
	must(t, err)
	if _, err := b.Request(t.Context(), "s", nil); !errors.Is(err, bus.ErrTooLarge) {
		t.Error(err)
	}
}

// closeWaits: Close waits until requests in progress are answered.
func closeWaits(t *testing.T, b bus.Bus) {
	asked, release := make(chan struct{}), make(chan struct{})
	_, err := b.Respond("s", func(data []byte) []byte {
		close(asked)
		<-release
		return data
	})
	must(t, err)
	answered := make(chan error, 1)
	go func() {
		answer, err := b.Request(t.Context(), "s", []byte("hello"))
		if err == nil && string(answer) != "hello" {
			err = fmt.Errorf("got answer %q", answer)
		}
		answered <- err
	}()
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- b.Close() }()
	for b.Publish("s", nil) == nil { // until it is closing
	}
	select {
	case <-ended:
		t.Error("Close returned while a request was in progress")
	default:
	}
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	must(t, <-ended)
}
