package move

import (
	"context"
	"errors"
	"sync"
)

// eachOf does something for each of a list, at most n at once. After a failure no more are begun.
func eachOf[T any](ctx context.Context, n int, list []T, do func(ctx context.Context, one T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	var mu sync.Mutex // guards failed
	var failed error
	places := make(chan struct{}, n)
	for _, one := range list {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-places }()
			err := do(ctx, one)
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
	wait.Wait()
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return failed
}
