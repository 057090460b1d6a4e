package timeline_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// gatedGroup is a group commit whose test decides when each batch is committed.
type gatedGroup struct {
	*timeline.GroupCommit[[]*timeline.AppendRequest]
	commits chan []*timeline.AppendRequest // each batch, when its commit begins
	proceed chan []*timeline.AppendRequest // the appends that the commit defers; sending to it lets the commit return
	ended   chan struct{}
}

func newGatedGroup(t *testing.T, config timeline.GroupCommitConfig[[]*timeline.AppendRequest]) *gatedGroup {
	g := &gatedGroup{commits: make(chan []*timeline.AppendRequest), proceed: make(chan []*timeline.AppendRequest), ended: make(chan struct{})}
	config.Commit = func(pending []*timeline.AppendRequest) (batch, deferred []*timeline.AppendRequest) {
		g.commits <- slices.Clone(pending)
		deferred = <-g.proceed
		batch = slices.DeleteFunc(slices.Clone(pending), func(a *timeline.AppendRequest) bool { return slices.Contains(deferred, a) })
		return batch, deferred
	}
	config.Complete = func(batch []*timeline.AppendRequest) { timeline.ReportBatch(batch, nil, nil, nil) }
	g.GroupCommit = timeline.NewGroupCommit(config)
	go func() {
		defer close(g.ended)
		g.Run()
	}()
	t.Cleanup(func() { <-g.ended })
	return g
}

// results collects the appends whose Done was called, in that order.
type results struct {
	mu   sync.Mutex // guards seqs and errs
	seqs []uint64
	errs map[error]int
}

func (r *results) append(seq uint64, bytes int) *timeline.AppendRequest {
	return &timeline.AppendRequest{Seq: seq, Payload: make([]byte, bytes), Done: func(a *timeline.AppendRequest) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if a.Err == nil {
			r.seqs = append(r.seqs, a.Seq)
			return
		}
		if r.errs == nil {
			r.errs = map[error]int{}
		}
		r.errs[a.Err]++
	}}
}

func (r *results) check(t *testing.T, seqs []uint64, busy, closed int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.seqs, seqs) {
		t.Errorf("the completed appends are %v, want %v", r.seqs, seqs)
	}
	if r.errs[timeline.ErrBusy] != busy || r.errs[timeline.ErrClosed] != closed {
		t.Errorf("the errors are %v, want %d busy and %d closed", r.errs, busy, closed)
	}
}

func seqsOf(appends []*timeline.AppendRequest) (seqs []uint64) {
	for _, a := range appends {
		seqs = append(seqs, a.Seq)
	}
	return seqs
}

func TestGroupCommitBatchesWhatArrivesDuringACommit(t *testing.T) {
	t.Parallel()
	var r results
	g := newGatedGroup(t, timeline.GroupCommitConfig[[]*timeline.AppendRequest]{QueueAppends: 10, QueueBytes: 1000})
	g.Append([]*timeline.AppendRequest{r.append(1, 1)})
	if batch := <-g.commits; !slices.Equal(seqsOf(batch), []uint64{1}) {
		t.Errorf("the first batch has %v", seqsOf(batch))
	}
	for seq := uint64(2); seq <= 4; seq++ {
		g.Append([]*timeline.AppendRequest{r.append(seq, 1)})
	}
	g.Close()
	g.Append([]*timeline.AppendRequest{r.append(5, 1)})
	g.proceed <- nil
	if batch := <-g.commits; !slices.Equal(seqsOf(batch), []uint64{2, 3, 4}) {
		t.Errorf("the second batch has %v, want all appends that arrived during the first commit", seqsOf(batch))
	}
	g.proceed <- nil
	<-g.ended
	r.check(t, []uint64{1, 2, 3, 4}, 0, 1)
}

func TestGroupCommitBoundsItsQueue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config timeline.GroupCommitConfig[[]*timeline.AppendRequest]
		bytes  int
	}{
		"in appends": {timeline.GroupCommitConfig[[]*timeline.AppendRequest]{QueueAppends: 3, QueueBytes: 1 << 20}, 1},
		"in bytes":   {timeline.GroupCommitConfig[[]*timeline.AppendRequest]{QueueAppends: 1000, QueueBytes: 3500}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			var r results
			g := newGatedGroup(t, test.config)
			g.Append([]*timeline.AppendRequest{r.append(1, 100_000)}) // an empty queue takes a payload of any size
			<-g.commits
			for seq := uint64(2); seq <= 6; seq++ {
				g.Append([]*timeline.AppendRequest{r.append(seq, test.bytes)})
			}
			r.check(t, nil, 2, 0)
			g.proceed <- nil
			<-g.commits
			g.Append([]*timeline.AppendRequest{r.append(7, test.bytes)}) // the batch in commit has left the queue
			g.Close()
			g.proceed <- nil
			<-g.commits
			g.proceed <- nil
			<-g.ended
			r.check(t, []uint64{1, 2, 3, 4, 7}, 2, 0)
		})
	}
}

func TestGroupCommitPutsDeferredAppendsFirst(t *testing.T) {
	t.Parallel()
	var r results
	g := newGatedGroup(t, timeline.GroupCommitConfig[[]*timeline.AppendRequest]{QueueAppends: 10, QueueBytes: 1000, MaxDeferred: 2})
	g.Append([]*timeline.AppendRequest{r.append(1, 1), r.append(2, 1), r.append(3, 1)})
	first := <-g.commits
	g.Append([]*timeline.AppendRequest{r.append(4, 1)})
	g.Close()
	g.proceed <- first[1:]
	second := <-g.commits
	if !slices.Equal(seqsOf(second), []uint64{2, 3}) {
		t.Errorf("the batch after one that deferred MaxDeferred appends has %v, want only these", seqsOf(second))
	}
	g.proceed <- second[1:]
	if third := <-g.commits; !slices.Equal(seqsOf(third), []uint64{3, 4}) {
		t.Errorf("the third batch has %v, want the deferred append before the queued one", seqsOf(third))
	}
	g.proceed <- nil
	<-g.ended
	r.check(t, []uint64{1, 2, 3, 4}, 0, 0)
}
