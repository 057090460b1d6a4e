package cluster

import "context"

// prompt is a store whose calls return when their time is over, also where the store's own do not, as over a network that has
// swallowed the answer. One that is left behind may still do its work, at any time later; another begins when it has ended.
type prompt struct {
	store store
	turn  chan struct{} // has room for the call that runs
}

func promptly(s store) *prompt { return &prompt{s, make(chan struct{}, 1)} }

// inTime waits for a call for as long as ctx lasts.
func inTime[T any](ctx context.Context, p *prompt, call func() (T, error)) (value T, err error) {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() { // ends with the call, which the store owns
		var a answer
		a.value, a.err = call()
		<-p.turn
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

func done(ctx context.Context, p *prompt, call func() error) error {
	_, err := inTime(ctx, p, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (p *prompt) beat(ctx context.Context, m member, first bool) (state, error) {
	return inTime(ctx, p, func() (state, error) { return p.store.beat(ctx, m, first) })
}

func (p *prompt) apply(ctx context.Context, changes []change) ([]bool, error) {
	return inTime(ctx, p, func() ([]bool, error) { return p.store.apply(ctx, changes) })
}

func (p *prompt) peek(ctx context.Context) (state, error) {
	return inTime(ctx, p, func() (state, error) { return p.store.peek(ctx) })
}

func (p *prompt) agree(ctx context.Context, protocol int) (bool, error) {
	return inTime(ctx, p, func() (bool, error) { return p.store.agree(ctx, protocol) })
}

func (p *prompt) leave(ctx context.Context, m member) error {
	return done(ctx, p, func() error { return p.store.leave(ctx, m) })
}

func (p *prompt) forget(ctx context.Context, dead []member) error {
	return done(ctx, p, func() error { return p.store.forget(ctx, dead) })
}
