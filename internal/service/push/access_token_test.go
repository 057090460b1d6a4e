package push_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/service/push"
)

// tokens is a token endpoint that answers when it is told.
type tokens struct {
	clock   *clocktest.Manual
	asked   atomic.Int64
	answers chan error // nil is a token
	*push.AccessToken
}

func newTokens() *tokens {
	e := &tokens{clock: clocktest.NewManual(), answers: make(chan error)}
	e.AccessToken = push.NewAccessToken(e.clock, func(ctx context.Context) (string, time.Duration, error) {
		e.asked.Add(1)
		select {
		case err := <-e.answers:
			return "a", time.Hour, err
		case <-ctx.Done():
			return "", 0, ctx.Err()
		}
	})
	return e
}

// A request that fails after a long time is the answer for all who waited, and for those who ask in the second after it.
func TestTokensArePausedAfterASlowFailure(t *testing.T) {
	e, refused := newTokens(), errors.New("refused")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := e.Get(t.Context()); !errors.Is(err, refused) {
				t.Errorf("one that waited gets %v", err)
			}
		})
	}
	eventually.True(t, "a token is requested", func() bool { return e.asked.Load() == 1 })
	e.clock.Advance(5 * time.Second)
	e.answers <- refused
	group.Wait()
	e.clock.Advance(999 * time.Millisecond)
	if _, err := e.Get(t.Context()); !errors.Is(err, refused) || e.asked.Load() != 1 {
		t.Fatalf("within the pause there is %v, after %d requests", err, e.asked.Load())
	}
	e.clock.Advance(time.Millisecond)
	group.Go(func() { e.answers <- nil })
	if token, err := e.Get(t.Context()); token != "a" || err != nil || e.asked.Load() != 2 {
		t.Errorf("after it there is %q (%v), after %d requests", token, err, e.asked.Load())
	}
	group.Wait()
}

// A delivery that ends while it waits fails alone, also if it began the request.
func TestATokenOutlivesWhoRequestedIt(t *testing.T) {
	e := newTokens()
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	get := func(ctx context.Context, to chan<- error) {
		_, err := e.Get(ctx)
		to <- err
	}
	go get(ctx, first)
	eventually.True(t, "a token is requested", func() bool { return e.asked.Load() == 1 })
	go get(t.Context(), second)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first one gets %v", err)
	}
	go func() {
		select {
		case e.answers <- nil:
		case <-t.Context().Done():
		}
	}()
	if err := <-second; err != nil || e.asked.Load() != 1 {
		t.Errorf("the second one gets %v, after %d requests", err, e.asked.Load())
	}
}
