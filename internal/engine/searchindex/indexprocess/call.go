package indexprocess

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// check returns the error of a call that needs no process.
func (i *Index) check(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return errClosed
	case i.damage != nil:
		return i.damage
	}
	return ctx.Err()
}

// call calls the process. If the process has ended since the index was closed, the error says that: the caller then has another index.
func (i *Index) call(ctx context.Context, kind frameKind, value any) (*reply, error) {
	r, err := i.roundTrip(ctx, kind, value)
	if err != nil && errs.Of(err).Kind == errs.Unavailable {
		if closed := i.check(ctx); errors.Is(closed, errClosed) {
			return nil, closed
		}
	}
	return r, err
}

// roundTrip sends a call to the process, and receives its reply.
func (i *Index) roundTrip(ctx context.Context, kind frameKind, value any) (*reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := i.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer i.release()
	select {
	case i.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done := func() { <-i.slots }
	n, c, ok := p.addCall(done)
	if !ok {
		done()
		return nil, unavailable(p.failed)
	}
	b, err := encodeFrame(kind, n, value)
	if err == nil {
		err = p.send(ctx, b)
	}
	if err != nil {
		if p.removeCall(n) != nil {
			done()
		}
		return nil, err
	}
	r, err := p.receive(ctx, c)
	if ctx.Err() != nil && err != nil {
		p.cancel(n)
	}
	return r, err
}

// acquire returns the process that answers, which stays until release. If the index is suspended, it wakes it and waits for the start.
func (i *Index) acquire(ctx context.Context) (*process, error) {
	for {
		p, changed, err := i.current()
		if p != nil || err != nil {
			return p, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-i.done: // current then says why
		}
	}
}

// current returns the process that answers. If the index is suspended, there is none, and changed is closed once it has started, or could not be.
func (i *Index) current() (_ *process, changed <-chan struct{}, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return nil, nil, errClosed
	case i.damage != nil:
		return nil, nil, i.damage
	case i.process != nil:
		i.callers++
		return i.process, nil, nil
	case i.suspended:
		wakeup.Signal(i.wake)
		return nil, i.changed, nil
	}
	return nil, nil, unavailable(nil)
}

func (i *Index) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.callers--
	i.used = time.Now()
}
