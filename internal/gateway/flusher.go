package gateway

import (
	"context"
	"sync"
)

// flusher writes what gathered in its connections, in a goroutine of its own.
type flusher struct {
	wake chan struct{}

	mu    sync.Mutex // guards conns; taken after a conn's mu
	conns []*conn
}

func newFlusher() *flusher { return &flusher{wake: make(chan struct{}, 1)} }

func (f *flusher) add(c *conn) {
	f.mu.Lock()
	f.conns = append(f.conns, c)
	f.mu.Unlock()
}

func (f *flusher) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *flusher) run(ctx context.Context) {
	var list []*conn
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		for {
			f.mu.Lock()
			list, f.conns = f.conns, list[:0]
			f.mu.Unlock()
			if len(list) == 0 {
				break
			}
			for i, c := range list {
				c.mu.Lock()
				c.queued = false
				c.mu.Unlock()
				c.via.write(c)
				list[i] = nil
			}
		}
	}
}
