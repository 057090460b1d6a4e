package gateway

import (
	"context"
	"runtime"
	"sync"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// flushYields is how often a flusher lets ready goroutines go first before it writes. After a commit these are the fan-out and its
// deliveries: an event then leaves in one write with the receipt before it. Writes to sockets are what a message costs most. Where nothing
// else is ready, nothing waits. Each yield may be followed by a step of the fan-out on another processor, and it has three.
const flushYields = 3

// laterSlice is how many connections with pushes of large conversations are written before others have their turn.
const laterSlice = 64

// flusher writes the pending output of its connections, in its own goroutine. Connections that were only pushed something of a large conversation,
// or answered a ping, are written in slices, and before each slice come all others: what is for many does not delay what is for one. A slice is
// written even if there are others again, so that what is for many is not starved.
type flusher struct {
	wake chan struct{}

	mu    sync.Mutex // guards conns and later; taken after a conn's mu
	conns []*conn
	later []*conn
}

func newFlusher() *flusher { return &flusher{wake: make(chan struct{}, 1)} }

func (f *flusher) add(c *conn) {
	f.mu.Lock()
	f.conns = append(f.conns, c)
	f.mu.Unlock()
}

func (f *flusher) addLater(c *conn) {
	f.mu.Lock()
	f.later = append(f.later, c)
	f.mu.Unlock()
}

// takeLater appends the next slice of later to an empty list. The caller holds mu.
func (f *flusher) takeLater(list []*conn) []*conn {
	n := min(len(f.later), laterSlice)
	list = append(list, f.later[:n]...)
	clear(f.later[:n])
	if f.later = f.later[n:]; len(f.later) == 0 {
		f.later = nil
	}
	return list
}

func (f *flusher) signal() {
	wakeup.Signal(f.wake)
}

func (f *flusher) run(ctx context.Context) {
	var list, later []*conn
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
			f.write(list, false)
			f.mu.Lock()
			later = f.takeLater(later[:0])
			f.mu.Unlock()
			if len(list)+len(later) == 0 {
				break
			}
			if len(later) > 0 {
				runtime.Gosched()
				f.write(later, true)
			}
		}
	}
}

// write writes the output of connections that were taken from conns or, if later, from later.
func (f *flusher) write(list []*conn, later bool) {
	for i, c := range list {
		c.mu.Lock()
		if later {
			c.queuedLater = false
		} else {
			c.queued = false
		}
		traced := c.traced
		c.traced = nil
		c.mu.Unlock()
		c.transport.flush(c)
		if traced != nil {
			c.recordWrites(traced)
		}
		list[i] = nil
	}
}
