package move

import (
	"context"
	"errors"
	"sync"
)

// forEach calls do for each item of a list, at most n at once. It starts no more after a failure.
func forEach[T any](ctx context.Context, n int, list []T, do func(ctx context.Context, item T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex // guards failed
	var failed error
	slots := make(chan struct{}, n)
	for _, item := range list {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			err := do(ctx, item)
			if err == nil {
				return
			}
			cancel()
			mu.Lock()
			defer mu.Unlock()
			if failed == nil || errors.Is(failed, context.Canceled) {
				failed = err
			}
		})
	}
	group.Wait()
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return failed
}
