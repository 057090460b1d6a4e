package cluster

import "context"

// timeoutStore is a store whose calls return when their context ends, even if the underlying call does not, for example because the
// network dropped the answer. An abandoned call may still take effect at any later time. The next call starts when it has returned.
type timeoutStore struct {
	store store
	slot  chan struct{} // holds a token while a call runs
}

func withTimeouts(s store) *timeoutStore { return &timeoutStore{s, make(chan struct{}, 1)} }

// await waits for a call until ctx ends.
func await[T any](ctx context.Context, p *timeoutStore, call func() (T, error)) (value T, err error) {
	select {
	case p.slot <- struct{}{}:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() { // ends when the call returns
		var a answer
		a.value, a.err = call()
		<-p.slot
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

func awaitError(ctx context.Context, p *timeoutStore, call func() error) error {
	_, err := await(ctx, p, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (p *timeoutStore) heartbeat(ctx context.Context, m member, first bool) (state, error) {
	return await(ctx, p, func() (state, error) { return p.store.heartbeat(ctx, m, first) })
}

func (p *timeoutStore) apply(ctx context.Context, changes []change) ([]bool, error) {
	return await(ctx, p, func() ([]bool, error) { return p.store.apply(ctx, changes) })
}

func (p *timeoutStore) read(ctx context.Context) (state, error) {
	return await(ctx, p, func() (state, error) { return p.store.read(ctx) })
}

func (p *timeoutStore) raiseProtocol(ctx context.Context, protocol int) (bool, error) {
	return await(ctx, p, func() (bool, error) { return p.store.raiseProtocol(ctx, protocol) })
}

func (p *timeoutStore) leave(ctx context.Context, m member) error {
	return awaitError(ctx, p, func() error { return p.store.leave(ctx, m) })
}

func (p *timeoutStore) removeDead(ctx context.Context, dead []*member) error {
	return awaitError(ctx, p, func() error { return p.store.removeDead(ctx, dead) })
}
