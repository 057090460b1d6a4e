package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// Guard is a hook that something waits for. It bounds the calls in progress, and the wait for one of them to end. After breakAfter failures in a row it calls
// nobody for breakFor, and then tries one call. It is safe for concurrent use.
type Guard struct {
	*Hook
	slots   chan struct{}
	wait    time.Duration
	breaker breaker
}

const (
	breakAfter = 20
	breakFor   = 2 * time.Second
)

var (
	errOverloaded = errors.New("webhook: too many requests are waiting for it")
	errBroken     = errors.New("webhook: it is not called for a moment, because it has failed many times in a row")
)

// NewGuard returns a guard of a configuration that Check accepts.
func NewGuard(config Config, c clock.Clock, atOnce int, wait time.Duration) (*Guard, error) {
	h, err := New(config, c)
	if err != nil {
		return nil, err
	}
	return &Guard{Hook: h, slots: make(chan struct{}, atOnce), wait: wait}, nil
}

// Call is Hook.Call within the bounds. check decides whether the answer is valid; it may be nil.
func (g *Guard) Call(ctx context.Context, in, out any, check func() error) error {
	within, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-within.Done():
		return errOverloaded
	}
	if !g.breaker.allow(time.Now()) {
		return errBroken
	}
	err := g.Hook.Call(ctx, in, out)
	if err == nil && check != nil {
		err = check()
	}
	g.breaker.record(err == nil, time.Now())
	return err
}

// breaker is a circuit breaker. Each call that it allows is recorded when it ends.
type breaker struct {
	mu        sync.Mutex // guards the fields below
	failures  int        // in a row
	openUntil time.Time  // nobody is called before
	probing   bool       // the one call after that is in progress
}

// allow reports whether a call may begin.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return true
	}
	if b.probing || now.Before(b.openUntil) {
		return false
	}
	b.probing = true
	return true
}

// record notes the end of a call. A call that began before the circuit opened counts as well.
func (b *breaker) record(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
	if ok {
		b.failures = 0
	} else if b.failures++; b.failures >= breakAfter {
		b.openUntil = now.Add(breakFor)
	}
}
