package pglog

import (
	"errors"
	"math/rand/v2"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Bounds of a batch, so that it holds its locks for a few milliseconds.
const (
	maxBatchAppends = 2048
	maxBatchBytes   = 4 << 20
)

const maxDuplicateBatches = 16

var errKind = errors.New("inboxes are posted to, not appended to")

// committer appends to the keys of its partitions.
type committer struct {
	log    *Log
	number int

	appends *timeline.GroupCommit[*commitBatch]

	// duplicates has batches with appends that were stored before. Another goroutine reads the stored entries. Beyond maxDuplicateBatches
	// such retries fail with ErrBusy, so that new appends never wait for them.
	duplicates chan *commitBatch

	// Only the commit goroutine uses this:
	writerSession
}

// commitBatch has the appends of one transaction, and the commits for the listener.
type commitBatch struct {
	appends    []*timeline.AppendRequest // in their order
	sent       []*timeline.AppendRequest // those that are sent; the others follow one of them
	followers  []follower
	duplicates []*timeline.AppendRequest        // those of sent that were stored before, whose entries must be read
	unfinished map[*timeline.AppendRequest]bool // known, and their followers
	commits    []timeline.Commit
}

// follower is an append with the token of an earlier append of the batch. It gets the result of that one.
type follower struct{ a, first *timeline.AppendRequest }

func newCommitter(l *Log, number int) *committer {
	c := &committer{log: l, number: number, duplicates: make(chan *commitBatch, maxDuplicateBatches)}
	c.lock = rand.Int64()
	c.appends = timeline.NewGroupCommit(timeline.GroupCommitConfig[*commitBatch]{
		QueueAppends: l.options.Queue, QueueBytes: l.options.QueueBytes, MaxDeferred: maxBatchAppends,
		Commit: func(pending []*timeline.AppendRequest) (*commitBatch, []*timeline.AppendRequest) {
			g, deferred := buildBatch(pending)
			c.commit(g)
			return g, deferred
		},
		Complete: c.complete,
	})
	return c
}

// Append queues entries.
func (l *Log) Append(entries ...*timeline.AppendRequest) {
	timeline.AppendToGroups(entries, func(k timeline.Key) *timeline.GroupCommit[*commitBatch] {
		return l.committers[k.Partition()%committers].appends
	})
}

// run commits appends until the log is closed.
func (c *committer) run() {
	defer close(c.duplicates)
	c.appends.Run()
	c.removeWriter()
}

// complete reports a batch. If some appends were stored before, retryLoop reports those.
func (c *committer) complete(g *commitBatch) {
	timeline.ReportBatch(g.appends, func(a *timeline.AppendRequest) bool { return g.unfinished[a] }, g.commits, c.log.options.Listener)
	if len(g.unfinished) == 0 {
		return
	}
	select {
	case c.duplicates <- g:
	default:
		g.completeUnfinished(timeline.ErrBusy)
	}
}

// completeDuplicates completes appends that were stored before.
func (c *committer) completeDuplicates() {
	for g := range c.duplicates {
		g.completeUnfinished(c.log.readStored(g.duplicates))
	}
}

// completeUnfinished completes the appends that waited for stored entries. An error applies to all duplicates.
func (g *commitBatch) completeUnfinished(err error) {
	if err != nil {
		for _, a := range g.duplicates {
			a.Seq, a.Counted, a.Duplicate, a.StoredPayload, a.Err = 0, 0, false, nil, err
		}
	}
	for _, f := range g.followers {
		if g.unfinished[f.a] {
			f.complete()
		}
	}
	for _, a := range g.appends {
		if g.unfinished[a] {
			a.Done(a)
		}
	}
}

// keyState is the state of a key while a batch is built.
type keyState struct {
	needsFanout   bool
	changesAccess bool // an append of the batch may change who may write
	deferred      bool
}

// buildBatch makes a batch of pending appends. It defers an append to the next batch if its outcome depends on another append of the batch, and
// with it all later appends to the conversation. A plain retry is not deferred: it follows the first append with its token.
func buildBatch(pending []*timeline.AppendRequest) (g *commitBatch, deferred []*timeline.AppendRequest) {
	g = &commitBatch{appends: make([]*timeline.AppendRequest, 0, min(len(pending), maxBatchAppends))}
	keys := make(map[timeline.Key]*keyState, min(len(pending), maxBatchAppends))
	tokens := make(map[timeline.TokenKey]*timeline.AppendRequest, min(len(pending), maxBatchAppends))
	size := 0
	for i, a := range pending {
		if len(g.sent) >= maxBatchAppends || len(g.sent) > 0 && size+len(a.Payload) > maxBatchBytes {
			deferred = append(deferred, pending[i:]...)
			break
		}
		k := keys[a.Key]
		if k == nil {
			k = &keyState{needsFanout: a.NeedsFanout}
			keys[a.Key] = k
		}
		var first *timeline.AppendRequest
		if !a.Token.IsZero() {
			first = tokens[tokenOf(a)]
		}
		follows := first != nil && (!first.CheckAccess || a.CheckAccess && a.ExpectedAccess == first.ExpectedAccess)
		k.deferred = k.deferred || !follows && (first != nil || a.NeedsFanout != k.needsFanout || a.CheckAccess && k.changesAccess)
		if k.deferred {
			deferred = append(deferred, a)
			continue
		}
		a.Seq, a.Counted, a.Duplicate, a.StoredPayload, a.Err = 0, 0, false, nil, nil
		g.appends = append(g.appends, a)
		switch {
		case a.Key.Kind == timeline.Inbox:
			a.Err = errKind
		case follows:
			g.followers = append(g.followers, follower{a, first})
		default:
			k.changesAccess = k.changesAccess || a.SetAccess
			if !a.Token.IsZero() {
				tokens[tokenOf(a)] = a
			}
			g.sent = append(g.sent, a)
			size += len(a.Payload)
		}
	}
	return g, deferred
}

func tokenOf(a *timeline.AppendRequest) timeline.TokenKey {
	return timeline.TokenKey{Key: a.Key, Token: a.Token.Identity()}
}

// fail completes the batch with an error.
func (g *commitBatch) fail(err error) {
	for _, a := range g.sent {
		a.Err = err
	}
	g.commits, g.duplicates = nil, nil
	g.completeFollowers()
}

// completeFollowers gives followers the results of their first append, and collects the appends whose stored entries must be read.
func (g *commitBatch) completeFollowers() {
	if len(g.duplicates) > 0 {
		g.unfinished = make(map[*timeline.AppendRequest]bool, len(g.duplicates))
	}
	for _, a := range g.duplicates {
		g.unfinished[a] = true
	}
	for _, f := range g.followers {
		if g.unfinished[f.first] {
			g.unfinished[f.a] = true
		} else {
			f.complete()
		}
	}
}

func (f follower) complete() {
	f.a.Err = f.first.Err
	if f.a.Err != nil {
		return
	}
	f.a.Seq, f.a.Counted, f.a.Duplicate, f.a.StoredPayload = f.first.Seq, f.first.Counted, true, f.first.Payload
	if f.first.Duplicate {
		f.a.StoredPayload = f.first.StoredPayload
	}
}
