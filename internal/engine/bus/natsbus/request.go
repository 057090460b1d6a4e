package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// responder is one that answers.
type responder struct {
	bus    *Bus
	handle func([]byte) []byte
	sub    *nats.Subscription
	places chan struct{} // one for each request in progress
	ended  chan struct{} // closed when it accepts no more requests
}

// Respond answers requests to subject.
func (b *Bus) Respond(subject string, handle func([]byte) []byte) (func(), error) {
	if err := bus.Check(subject, nil); err != nil {
		return nil, err
	}
	r := &responder{bus: b, handle: handle, places: make(chan struct{}, bus.AtOnce), ended: make(chan struct{})}
	if err := r.begin(subject); err != nil {
		return nil, err
	}
	b.settle()
	// Requests that have arrived are answered. Drain fails if the connection is closed, which ends the subscription as well.
	return sync.OnceFunc(func() { _ = r.sub.Drain() }), nil
}

func (r *responder) begin(subject string) (err error) {
	b := r.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return bus.ErrClosed
	}
	if r.sub, err = b.conn.QueueSubscribe(b.subjectOf(request, subject), "responders", r.receive); err != nil {
		return classify(err)
	}
	r.sub.SetClosedHandler(func(string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.responders, r)
		close(r.ended)
	})
	b.responders[r] = true
	return classify(r.sub.SetPendingLimits(b.config.PendingMessages, b.config.PendingBytes))
}

// receive handles a request on its own goroutine, or answers at once that there are too many.
func (r *responder) receive(m *nats.Msg) {
	if len(m.Data) == 0 || m.Data[0] != kindRequest {
		r.bus.odd.Add(1)
		return
	}
	select {
	case r.places <- struct{}{}:
	default:
		_ = m.Respond([]byte{kindBusy})
		return
	}
	r.bus.working.Go(func() {
		defer func() { <-r.places }()
		answer := r.handle(m.Data[1:])
		if len(answer) > bus.MaxData {
			_ = m.Respond([]byte{kindTooLarge})
			return
		}
		// If the answer is lost, the requester times out.
		_ = m.Respond(append([]byte{kindAnswer}, answer...))
	})
}

// Request sends a request and waits for the answer.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := bus.Check(subject, data); err != nil {
		return nil, err
	}
	if !b.ask() {
		return nil, bus.ErrClosed
	}
	defer b.asking.Done()
	if !b.conn.IsConnected() {
		return nil, bus.ErrDown // a request that waits for the connection would be too late
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bus.DefaultWait)
		defer cancel()
	}
	buffer := b.buffer()
	*buffer = append(append(*buffer, kindRequest), data...)
	m, err := b.conn.RequestWithContext(ctx, b.subjectOf(request, subject), *buffer)
	b.buffers.Put(buffer)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, bus.ErrNoResponder
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("%w: %w", bus.ErrNoAnswer, err)
	case err != nil:
		return nil, classify(err)
	case len(m.Data) == 0:
		return nil, bus.ErrNoAnswer
	}
	switch m.Data[0] {
	case kindAnswer:
		return m.Data[1:], nil
	case kindBusy:
		return nil, bus.ErrBusy
	case kindTooLarge:
		return nil, bus.ErrTooLarge
	}
	return nil, bus.ErrNoAnswer // an answer of a later version
}

// ask registers a request that Close waits for; it returns false after Close has begun.
func (b *Bus) ask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return false
	}
	b.asking.Add(1)
	return true
}

// finish makes responders refuse new requests, and waits for requests in progress, and for answers to this node's requests.
func (b *Bus) finish(ctx context.Context, responders []*responder) error {
	if !b.conn.IsConnected() {
		b.conn.Close() // it cannot be drained
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, r := range responders {
			_ = r.sub.Drain() // fails if it drains already
			<-r.ended
		}
		b.working.Wait()
		b.asking.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("a request on the bus was not answered in time")
	}
}
