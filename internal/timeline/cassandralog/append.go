package cassandralog

import (
	"context"
	"errors"
	"sync"
	"time"

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
	options *Options
	commit  func(k timeline.Key, batch []*timeline.Append, until time.Time)

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
	queue []queued
}

type queued struct {
	*timeline.Append
	since time.Time
}

func (w *lines) begin(l *Log) {
	w.options, w.commit, w.lines = &l.options, l.commit, map[timeline.Key]*line{}
	w.idle.L = &w.mu
}

// Append takes entries over.
func (w *lines) Append(entries ...*timeline.Append) {
	size := 0
	for _, a := range entries {
		size += len(a.Payload)
	}
	now := time.Now()
	w.mu.Lock()
	err := timeline.ErrClosed
	if !w.closed {
		err = timeline.ErrBusy
		o := w.options
		if w.waiting+len(entries) <= o.Queue && (w.size+size <= o.QueueBytes || w.waiting == 0) {
			w.waiting, w.size = w.waiting+len(entries), w.size+size
			for _, a := range entries {
				w.add(queued{a, now})
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
func (w *lines) add(a queued) {
	n := w.lines[a.Key]
	if n == nil {
		n = &line{key: a.Key}
		w.lines[a.Key] = n
		w.ready = append(w.ready, n)
		if w.running < w.options.Workers {
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
		late, batch, until := n.take(time.Now(), w.options.Patience)
		w.mu.Unlock()

		size := 0
		for _, a := range late {
			size += len(a.Payload)
		}
		for _, a := range batch {
			size += len(a.Payload)
		}
		refuse(late)
		if len(batch) > 0 {
			w.commit(n.key, batch, until)
		}

		w.mu.Lock()
		w.waiting, w.size = w.waiting-len(late)-len(batch), w.size-size
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

// errLate is why an append was not tried: the store kept others waiting for so long.
var errLate = errors.New("no worker came to it in time")

// refuse answers appends that nobody tried to store.
func refuse(late []*timeline.Append) {
	for _, a := range late {
		reset(a)
		a.Err = errStore(errLate)
		a.Done(a)
	}
}

func reset(a *timeline.Append) {
	a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, nil
}

// take gives what has waited for longer than patience, which is too late: while the store is away, workers are few. Then what goes into
// one batch, and until when it is tried: so none is answered later than after twice the patience.
func (n *line) take(now time.Time, patience time.Duration) (late, batch []*timeline.Append, until time.Time) {
	for len(late) < len(n.queue) && now.Sub(n.queue[len(late)].since) > patience {
		late = append(late, n.queue[len(late)].Append)
	}
	n.queue = n.queue[len(late):]
	size := 0
	for len(batch) < len(n.queue) && len(batch) < batchEntries {
		a := n.queue[len(batch)]
		size += len(a.Payload)
		if len(batch) > 0 && size > batchBytes {
			break
		}
		batch, until = append(batch, a.Append), a.since.Add(patience)
	}
	n.queue = n.queue[len(batch):]
	return late, batch, until
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
func (l *Log) commit(k timeline.Key, batch []*timeline.Append, until time.Time) {
	ctx, cancel := context.WithDeadline(l.ctx, until)
	defer cancel()
	for _, a := range batch {
		reset(a)
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
