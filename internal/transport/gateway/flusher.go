package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// flushYields is how often a flusher lets ready goroutines go first before it writes. After a commit these are the fan-out and its
// deliveries: an event then leaves in one write with the receipt before it. Writes to sockets are what a message costs most. Where nothing
// else is ready, nothing waits. Each yield may be followed by a step of the fan-out on another processor, and it has three.
const flushYields = 3

// laterSlice is how many connections with pushes of large conversations are written before others have their turn, and sliceTime after what time they
// have it in any case: many bytes take longer.
const (
	laterSlice = 64
	sliceTime  = 500 * time.Microsecond
)

// flusher writes the pending output of its connections, in two goroutines. Connections that were only pushed something of a large conversation, or
// answered a ping, are written by one of its own, in slices, before each of which come all others: what is for many does not delay what is for one, also while
// that goroutine yields. A slice is written even if there are others again, so that what is for many is not starved.
type flusher struct {
	wake      chan struct{}
	wakeLater chan struct{}
	yield     func()        // lets others go on after each slice
	most      time.Duration // of a slice

	mu      sync.Mutex // guards the fields below; taken after a conn's mu
	written *sync.Cond // there is less than a slice in later, or the flusher has ended
	ended   bool
	conns   []*conn
	later   []*conn
}

func newFlusher(yield func()) *flusher {
	f := &flusher{wake: make(chan struct{}, 1), wakeLater: make(chan struct{}, 1), yield: yield, most: sliceTime}
	f.written = sync.NewCond(&f.mu)
	return f
}

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
	if len(f.later) < laterSlice {
		f.written.Broadcast()
	}
	return list
}

// awaitLater waits until what was pushed to many is written, but for the last slices, or the flusher has ended.
func (f *flusher) awaitLater() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.later) >= laterSlice && !f.ended {
		f.written.Wait()
	}
}

// end ends the waits of awaitLater.
func (f *flusher) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.written.Broadcast()
}

// signal has what was added written, soon. What is added during a write waits for the signal behind it: a receipt and the events of its message leave together.
func (f *flusher) signal() {
	wakeup.Signal(f.wake)
}

func (f *flusher) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { f.runLater(ctx) })
	defer group.Wait()
	yielder := newReadyYielder()
	defer yielder.close()
	var list []*conn
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		for range flushYields {
			yielder.yield()
		}
		var later bool
		if list, later = f.writeConns(list); later {
			wakeup.Signal(f.wakeLater)
		}
	}
}

// runLater writes what is for many until ctx ends.
func (f *flusher) runLater(ctx context.Context) {
	defer f.end()
	var list, later, rest []*conn
	for {
		select {
		case <-f.wakeLater:
		case <-ctx.Done():
			return
		}
		for {
			list, _ = f.writeConns(list)
			if len(rest) == 0 {
				f.mu.Lock()
				later = f.takeLater(later[:0])
				f.mu.Unlock()
				rest = later
			}
			if len(rest) == 0 {
				break
			}
			rest = rest[f.write(rest, true):]
			f.yield()
		}
	}
}

// writeConns writes what is for one connection, and returns what it has written, and whether there is something for many. The list is used again.
func (f *flusher) writeConns(list []*conn) (written []*conn, later bool) {
	f.mu.Lock()
	written, f.conns = f.conns, list[:0]
	later = len(f.later) > 0
	f.mu.Unlock()
	f.write(written, false)
	return written, later
}

// write writes the output of connections that were taken from conns or, if later, from later, and returns how many. Of the latter it writes some, if all
// take longer than a slice.
func (f *flusher) write(list []*conn, later bool) int {
	began := time.Now()
	for i, c := range list {
		if later && i > 0 && time.Since(began) > f.most {
			return i
		}
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
	return len(list)
}
