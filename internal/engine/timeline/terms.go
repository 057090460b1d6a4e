package timeline

import (
	"context"
	"sync/atomic"
)

// Terms are the terms in which a store with a single process has its partitions.
type Terms [Partitions]atomic.Uint64

// Acquire is Log.Acquire of such a store.
func (t *Terms) Acquire(ctx context.Context, partition uint16, term uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		now := t[partition].Load()
		if now > term {
			return &FencedError{Term: now}
		}
		if t[partition].CompareAndSwap(now, term) {
			return nil
		}
	}
}
