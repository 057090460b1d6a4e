package cassandralog

import (
	"context"
	"sync"

	"github.com/rialto-im/rialto/internal/timeline"
)

// Bounds of one batch: what Paxos carries at once.
const (
	batchEntries = 200
	batchBytes   = 1 << 20
)

// lines has the appends that wait, by conversation. A conversation's are stored by one goroutine at a time, batch after batch:
// while one is under way the next forms.
type lines struct {
	log *Log

	mu      sync.Mutex // guards all below
	idle    sync.Cond  // running became 0; on mu
	closed  bool
	waiting int // appends taken over and not done
	size    int // bytes of their payloads
	lines   map[timeline.Key]*line
	ready   []*line // have something to store, and no worker
	running int     // workers
}

// line is one conversation's: in ready, or with a worker.
type line struct {
	key   timeline.Key
	queue []*timeline.Append
}

func (w *lines) begin(l *Log) {
	w.log, w.lines = l, map[timeline.Key]*line{}
	w.idle.L = &w.mu
}

// Append takes entries over.
func (w *lines) Append(entries ...*timeline.Append) {
	size := 0
	for _, a := range entries {
		size += len(a.Payload)
	}
	w.mu.Lock()
	err := timeline.ErrClosed
	if !w.closed {
		err = timeline.ErrBusy
		o := &w.log.options
		if w.waiting+len(entries) <= o.Queue && (w.size+size <= o.QueueBytes || w.waiting == 0) {
			w.waiting, w.size = w.waiting+len(entries), w.size+size
			for _, a := range entries {
				w.add(a)
			}
			w.mu.Unlock()
			return
		}
	}
	w.mu.Unlock()
	for _, a := range entries {
		a.Err = err
		a.Done(a)
	}
}

// add puts an append into its line; the caller holds mu.
func (w *lines) add(a *timeline.Append) {
	n := w.lines[a.Key]
	if n == nil {
		n = &line{key: a.Key}
		w.lines[a.Key] = n
		w.ready = append(w.ready, n)
		if w.running < w.log.options.Workers {
			w.running++
			go w.work()
		}
	}
	n.queue = append(n.queue, a)
}

// work stores what is ready until nothing is. It ends before close returns.
func (w *lines) work() {
	w.mu.Lock()
	for len(w.ready) > 0 {
		n := w.ready[0]
		w.ready = w.ready[1:]
		batch := n.take()
		w.mu.Unlock()

		size := 0
		for _, a := range batch {
			size += len(a.Payload)
		}
		w.log.commit(n.key, batch)

		w.mu.Lock()
		w.waiting, w.size = w.waiting-len(batch), w.size-size
		if len(n.queue) > 0 {
			w.ready = append(w.ready, n)
		} else {
			delete(w.lines, n.key)
		}
	}
	w.running--
	w.idle.Broadcast()
	w.mu.Unlock()
}

// take gives what goes into one batch.
func (n *line) take() []*timeline.Append {
	count, size := 0, 0
	for count < len(n.queue) && count < batchEntries {
		size += len(n.queue[count].Payload)
		if count > 0 && size > batchBytes {
			break
		}
		count++
	}
	batch := n.queue[:count:count]
	n.queue = n.queue[count:]
	return batch
}

func (w *lines) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.running > 0 {
		w.idle.Wait()
	}
}

// commit stores a batch of one conversation, sets every result and tells.
func (l *Log) commit(k timeline.Key, batch []*timeline.Append) {
	ctx, cancel := context.WithTimeout(l.ctx, l.options.Patience)
	defer cancel()
	for _, a := range batch {
		a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, nil
	}
	f := newForming(l, k, batch)
	err := f.store(ctx)
	unplace(f.open)
	for _, a := range f.open {
		a.Err = errStore(err)
	}
	f.follow()
	for _, a := range batch {
		a.Done(a)
	}
	f.end(ctx, err)
}
