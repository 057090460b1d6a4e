package membus

import (
	"context"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

type responder struct {
	handle func([]byte) []byte
	places chan struct{} // one for each request in progress
}

// Respond adds a responder.
func (b *Bus) Respond(subject string, handle func([]byte) []byte) (func(), error) {
	r := &responder{handle: handle, places: make(chan struct{}, bus.AtOnce)}
	return add(b, b.responders, subject, r)
}

// Request runs a responder's handler on its own goroutine, because the requester may give up before it is done.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := bus.Check(subject, data); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bus.DefaultWait)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", bus.ErrNoAnswer, err)
	}
	answer := make(chan []byte, 1)
	if err := b.ask(subject, slices.Clone(data), answer); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if len(a) > bus.MaxData {
			return nil, bus.ErrTooLarge
		}
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", bus.ErrNoAnswer, ctx.Err())
	}
}

// ask passes the request to the first responder that is not busy.
func (b *Bus) ask(subject string, data []byte, answer chan<- []byte) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return bus.ErrClosed
	}
	if len(b.responders[subject]) == 0 {
		return bus.ErrNoResponder
	}
	for _, r := range b.responders[subject] {
		select {
		case r.places <- struct{}{}:
			b.working.Go(func() {
				defer func() { <-r.places }()
				answer <- r.handle(data)
			})
			return nil
		default:
		}
	}
	return bus.ErrBusy
}
