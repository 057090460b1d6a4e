package cassandralog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Bounds of a batch, which is one Paxos round.
const (
	batchEntries = 200
	batchBytes   = 1 << 20
)

// keyedQueues has the pending appends of each conversation. One worker at a time stores those of a conversation, batch after batch. During a
// batch the next one collects.
type keyedQueues struct {
	options *Options
	commit  func(k timeline.Key, batch []*timeline.AppendRequest, until time.Time)

	mu      sync.Mutex // guards the fields below
	idle    sync.Cond  // running became 0; on mu
	closed  bool
	waiting int // appends that are queued or in a batch
	size    int // bytes of their payloads
	queues  map[timeline.Key]*keyQueue
	ready   []*keyQueue // queues without a worker
	running int         // workers
}

// keyQueue has the pending appends of one conversation. It is in ready or has a worker.
type keyQueue struct {
	key   timeline.Key
	queue []queued
}

type queued struct {
	*timeline.AppendRequest
	since time.Time
}

func (w *keyedQueues) start(l *Log) {
	w.options, w.commit, w.queues = &l.options, l.commit, map[timeline.Key]*keyQueue{}
	w.idle.L = &w.mu
}

// Append queues entries.
func (w *keyedQueues) Append(entries ...*timeline.AppendRequest) {
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

// add adds an append to the queue of its key. The caller holds mu.
func (w *keyedQueues) add(a queued) {
	n := w.queues[a.Key]
	if n == nil {
		n = &keyQueue{key: a.Key}
		w.queues[a.Key] = n
		w.ready = append(w.ready, n)
		if w.running < w.options.Workers {
			w.running++
			go w.runWorker()
		}
	}
	n.queue = append(n.queue, a)
}

// runWorker stores batches until no queue is ready. It ends before close returns.
func (w *keyedQueues) runWorker() {
	w.mu.Lock()
	for len(w.ready) > 0 {
		n := w.ready[0]
		w.ready = w.ready[1:]
		late, batch, until := n.nextBatch(time.Now(), w.options.Timeout)
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
			delete(w.queues, n.key)
		}
	}
	w.running--
	w.idle.Broadcast()
	w.mu.Unlock()
}

// errQueuedTooLong is the cause if an append waited too long for a worker.
var errQueuedTooLong = errors.New("no worker was free in time")

// refuse fails appends that were never attempted.
func refuse(late []*timeline.AppendRequest) {
	for _, a := range late {
		reset(a)
		a.Err = errStore(errQueuedTooLong)
		a.Done(a)
	}
}

func reset(a *timeline.AppendRequest) {
	a.Seq, a.Counted, a.Duplicate, a.StoredPayload, a.Err = 0, 0, false, nil, nil
}

// nextBatch removes from the queue the appends that have waited longer than the timeout, and the next batch with its deadline. So every
// append is answered within twice the timeout.
func (n *keyQueue) nextBatch(now time.Time, patience time.Duration) (late, batch []*timeline.AppendRequest, until time.Time) {
	for len(late) < len(n.queue) && now.Sub(n.queue[len(late)].since) > patience {
		late = append(late, n.queue[len(late)].AppendRequest)
	}
	n.queue = n.queue[len(late):]
	size := 0
	for len(batch) < len(n.queue) && len(batch) < batchEntries {
		a := n.queue[len(batch)]
		size += len(a.Payload)
		if len(batch) > 0 && size > batchBytes {
			break
		}
		batch, until = append(batch, a.AppendRequest), a.since.Add(patience)
	}
	n.queue = n.queue[len(batch):]
	return late, batch, until
}

func (w *keyedQueues) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for w.running > 0 {
		w.idle.Wait()
	}
}

// commit stores a batch of one conversation, sets all results and completes the appends.
func (l *Log) commit(k timeline.Key, batch []*timeline.AppendRequest, until time.Time) {
	ctx, cancel := context.WithDeadline(l.ctx, until)
	defer cancel()
	for _, a := range batch {
		reset(a)
	}
	f := newBatchBuilder(l, k, batch)
	err := f.store(ctx)
	clearSeqs(f.unresolved)
	for _, a := range f.unresolved {
		a.Err = errStore(err)
	}
	f.completeFollowers()
	for _, a := range batch {
		a.Done(a)
	}
	f.finishIntent(ctx, err)
}
