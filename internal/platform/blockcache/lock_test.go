package blockcache

import (
	"context"
	"log/slog"
	"testing"
)

// TestBlocksEndWithoutTheLock, whether the last reader leaves, or nobody waits any more: closing a file may take long.
func TestBlocksEndWithoutTheLock(t *testing.T) {
	c, err := Open(Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	free, ended := true, 0
	block := func() *opened {
		return &opened{end: func() {
			ended++
			if !c.mu.TryLock() {
				free = false
				return
			}
			c.mu.Unlock()
		}}
	}
	id := blockID{file: File{Group: "g", Size: 1}.id()}
	for _, current := range []bool{true, false} {
		f := &fetch{id: id, done: make(chan struct{}), waiting: 1}
		f.ctx, f.end = context.WithCancelCause(t.Context())
		if current {
			c.fetches[id] = f
		}
		c.finish(f, block(), nil)
		if (f.err == nil) != current {
			t.Errorf("current %v: the error is %v", current, f.err)
		}
		c.leave(f)
	}
	if !free || ended != 2 {
		t.Errorf("of 2 blocks %d ended, without the lock: %v", ended, free)
	}
}
