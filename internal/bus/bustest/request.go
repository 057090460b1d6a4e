package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
)

func echo(data []byte) []byte { return append([]byte("re: "), data...) }

// answers reach who asked, many side by side, also the largest.
func answers(t *testing.T, b bus.Bus) {
	cancel, err := b.Respond("s", echo)
	must(t, err)
	if _, err := b.Respond("other", func([]byte) []byte { return []byte("of another") }); err != nil {
		t.Fatal(err)
	}
	_, err = b.Subscribe("s", func([]byte) { t.Error("a subscriber hears a request") }, nil)
	must(t, err)
	var all sync.WaitGroup
	for n := range 100 {
		all.Go(func() {
			text := fmt.Appendf(nil, "question %d", n)
			answer, err := b.Request(t.Context(), "s", text)
			if err != nil || !bytes.Equal(answer, echo(text)) {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
	all.Wait()
	large := bytes.Repeat([]byte("x"), bus.MaxData-4)
	if answer, err := b.Request(t.Context(), "s", large); err != nil || !bytes.Equal(answer, echo(large)) {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	if answer, err := b.Request(t.Context(), "other", nil); err != nil || string(answer) != "of another" {
		t.Errorf("%q, %v", answer, err)
	}
	cancel()
	cancel() // again: nothing
	eventually(t, func() bool {
		_, err := b.Request(t.Context(), "s", nil)
		return errors.Is(err, bus.ErrNoResponder)
	})
}

// eventually asks until it is so; the test's own time limit ends it.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		select {
		case <-t.Context().Done():
			t.Fatal("it never was")
		default:
		}
	}
}

func nobody(t *testing.T, b bus.Bus) {
	_, err := b.Subscribe("s", func([]byte) {}, nil) // who listens does not answer
	must(t, err)
	if answer, err := b.Request(t.Context(), "s", []byte("hello")); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("%q, %v", answer, err)
	}
}

// inTime: who asks leaves at its deadline, whatever the responder does, and others are answered.
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
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Request(ctx, "s", []byte("slow")); !errors.Is(err, bus.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	<-asked
	left, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if _, err := b.Request(left, "s", []byte("slow")); !errors.Is(err, bus.ErrNoAnswer) || !errors.Is(err, context.Canceled) {
		t.Errorf("the asker left: %v", err)
	}
	if _, err := b.Request(left, "s", []byte("quick")); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("the asker had left before: %v", err)
	}
	if answer, err := b.Request(t.Context(), "s", []byte("quick")); err != nil || string(answer) != "quick" {
		t.Errorf("beside a slow one: %q, %v", answer, err)
	}
}

// several responders: each request is worked at once.
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
		t.Errorf("50 requests were worked at %d times", worked)
	}
}

// tooMany: beyond bus.AtOnce one is told at once, and those that are worked at are answered.
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
		t.Errorf("one too many: %v", err)
	}
	close(release)
	all.Wait()
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

// closeWaits: a request that is worked at is answered before the bus ends.
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
			err = fmt.Errorf("%q", answer)
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
		t.Error("the bus ended while a request was worked at")
	default:
	}
	close(release)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	must(t, <-ended)
}
