package timeline

import (
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/tracing"
)

// GroupCommit collects appends of all callers and commits them in batches: while one batch is being committed, the next one collects in
// the queue. Another goroutine completes a batch, so that callers' Done runs beside the next commit. B is the engine's batch.
type GroupCommit[B any] struct {
	config GroupCommitConfig[B]

	mu      sync.Mutex       // guards pending, bytes and closed
	changed sync.Cond        // on mu: pending or closed changed
	pending []*AppendRequest // in the order of their arrival
	bytes   int              // of the payloads in pending
	closed  bool
}

// GroupCommitConfig sets the bounds of a GroupCommit's queue and the engine's part of the work.
type GroupCommitConfig[B any] struct {
	// QueueAppends and QueueBytes bound the pending appends and their payloads. Beyond them appends fail with ErrBusy.
	QueueAppends, QueueBytes int
	// Commit makes a batch of pending appends durable and sets their results. It returns the appends that must wait for the next batch.
	// One goroutine calls it.
	Commit func(pending []*AppendRequest) (batch B, deferred []*AppendRequest)
	// MaxDeferred stops the intake: with that many deferred appends the next batch takes none from the queue.
	MaxDeferred int
	// Complete reports the results of a committed batch. Another goroutine calls it, once for each batch, in their order.
	Complete func(batch B)
}

// committedBatches is the number of batches that may wait for their completion.
const committedBatches = 2

// NewGroupCommit returns an open queue. Call Run to commit what arrives.
func NewGroupCommit[B any](config GroupCommitConfig[B]) *GroupCommit[B] {
	g := &GroupCommit[B]{config: config}
	g.changed.L = &g.mu
	return g
}

// Append queues appends, all or none. It calls Done of appends that it refuses.
func (g *GroupCommit[B]) Append(appends []*AppendRequest) {
	err := g.enqueue(appends)
	if err == nil {
		return
	}
	for _, a := range appends {
		a.Err = err
		a.Done(a)
	}
}

func (g *GroupCommit[B]) enqueue(appends []*AppendRequest) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	bytes := g.bytes
	for _, a := range appends {
		bytes += len(a.Payload)
	}
	// An empty queue accepts any payload, or a large one could never be appended.
	if len(g.pending)+len(appends) > g.config.QueueAppends || bytes > g.config.QueueBytes && len(g.pending) > 0 {
		return ErrBusy
	}
	g.pending, g.bytes = append(g.pending, appends...), bytes
	g.changed.Signal()
	return nil
}

// Close refuses further appends. Run returns after it has completed the queued ones.
func (g *GroupCommit[B]) Close() {
	g.mu.Lock()
	g.closed = true
	g.changed.Signal()
	g.mu.Unlock()
}

// Run commits and completes batches until the queue is closed and empty. Call it once.
func (g *GroupCommit[B]) Run() {
	committed := make(chan B, committedBatches)
	var completion sync.WaitGroup
	completion.Go(func() {
		for batch := range committed {
			g.config.Complete(batch)
		}
	})
	var deferred []*AppendRequest
	for {
		pending, ok := g.next(deferred)
		if !ok {
			break
		}
		var batch B
		began := time.Now()
		batch, deferred = g.config.Commit(pending)
		trace(began, pending, deferred)
		committed <- batch
	}
	close(committed)
	completion.Wait()
}

// trace records the batch if it has an append that is traced.
func trace(began time.Time, pending, deferred []*AppendRequest) {
	var members []*tracing.Member
	for _, a := range pending {
		if a.Traced != nil && !slices.Contains(deferred, a) {
			members = append(members, a.Traced)
		}
	}
	tracing.RecordBatch("timeline.commit", began, members, len(pending)-len(deferred))
}

// next returns the deferred appends and behind them the queued ones. It waits if there are neither, and is false after Close.
func (g *GroupCommit[B]) next(deferred []*AppendRequest) (pending []*AppendRequest, ok bool) {
	if len(deferred) > 0 && len(deferred) >= g.config.MaxDeferred {
		return deferred, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(deferred)+len(g.pending) == 0 && !g.closed {
		g.changed.Wait()
	}
	if len(deferred) == 0 {
		pending = g.pending
	} else {
		pending = append(deferred, g.pending...)
	}
	g.pending, g.bytes = nil, 0
	return pending, len(pending) > 0
}

// AppendToGroups queues appends at the groups of their keys. Neighbours of one group are queued together.
func AppendToGroups[B any](appends []*AppendRequest, groupOf func(Key) *GroupCommit[B]) {
	for i := 0; i < len(appends); {
		g := groupOf(appends[i].Key)
		n := i + 1
		for n < len(appends) && groupOf(appends[n].Key) == g {
			n++
		}
		g.Append(appends[i:n])
		i = n
	}
}

// ReportBatch calls Done of a batch's appends in their order, except where skip is true, and then the listener. skip and listener may be nil.
func ReportBatch(appends []*AppendRequest, skip func(*AppendRequest) bool, commits []Commit, listener Listener) {
	for i, a := range appends {
		if i == 1 {
			failpoint.Hit("timeline/mid-done")
		}
		if skip == nil || !skip(a) {
			a.Done(a)
		}
	}
	failpoint.Hit("timeline/after-done-before-listener")
	if listener != nil {
		listener(commits)
	}
}
