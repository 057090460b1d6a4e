package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/bus"
)

// responder is one that answers.
type responder struct {
	bus    *Bus
	handle func([]byte) []byte
	sub    *nats.Subscription
	places chan struct{} // one for each request that is worked at
	ended  chan struct{} // closed when it takes no more
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
	// What has come is answered. Draining fails where the connection is closed, which ends it as well.
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

// receive works at a request on a goroutine of its own, or says at once that there are too many.
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
		// An answer that is lost is one that does not come in time.
		_ = m.Respond(append([]byte{kindAnswer}, answer...))
	})
}

// Request asks, and waits for the answer.
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := bus.Check(subject, data); err != nil {
		return nil, err
	}
	if !b.ask() {
		return nil, bus.ErrClosed
	}
	defer b.asking.Done()
	if !b.conn.IsConnected() {
		return nil, bus.ErrDown // what waits for the connection would be asked too late
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
	return nil, bus.ErrNoAnswer // of a later version
}

// ask notes a request that Close waits for; false once it has begun.
func (b *Bus) ask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed.Load() {
		return false
	}
	b.asking.Add(1)
	return true
}

// finish has responders take no more, and waits for what they work at, and for answers to what was asked here.
func (b *Bus) finish(ctx context.Context, responders []*responder) error {
	if !b.conn.IsConnected() {
		b.conn.Close() // nothing can be drained
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, r := range responders {
			_ = r.sub.Drain() // fails where it drains already
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
