package gateway

import (
	"context"
	"runtime"
	"sync"
)

// flushYields is how often a flusher lets ready goroutines go first before it writes. After a commit these are the fan-out and its
// deliveries: an event then leaves in one write with the receipt before it. Writes to sockets are what a message costs most. Where nothing
// else is ready, nothing waits. Each yield may be followed by a step of the fan-out on another processor, and it has three.
const flushYields = 3

// flusher writes the pending output of its connections, in its own goroutine.
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

func (f *flusher) signal() {
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
		for range flushYields {
			runtime.Gosched()
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
				c.transport.flush(c)
				list[i] = nil
			}
		}
	}
}
