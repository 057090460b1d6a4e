package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// Guard is a hook that something waits for. It bounds the calls in progress, and the wait for one of them to end. It is safe for concurrent use.
type Guard struct {
	*Hook
	slots chan struct{}
	wait  time.Duration
}

var errOverloaded = errors.New("webhook: too many requests are waiting for it")

// NewGuard returns a guard of a configuration that Check accepts.
func NewGuard(config Config, kind Kind, c clock.Clock, atOnce int, wait time.Duration) (*Guard, error) {
	h, err := New(config, kind, c)
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
	return g.call(ctx, in, out, check)
}
