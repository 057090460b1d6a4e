// Package memlog keeps timelines in memory. It is the model that tests compare the other engines with. It keeps every guarantee of the port
// except durability. All methods are safe for concurrent use.
package memlog

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Log is a timeline.Log in memory.
type Log struct {
	listener timeline.Listener
	terms    timeline.Terms

	mu          sync.Mutex // guards the fields below
	idle        sync.Cond  // on mu: storing has become false
	closed      bool
	queue       []*timeline.AppendRequest
	storing     bool // a goroutine stores the queue
	timelines   map[timeline.Key]*series
	tokens      map[timeline.TokenKey]uint64
	records     [timeline.Partitions][]timeline.FanoutRecord
	checkpoints [timeline.Partitions]uint64
}

type series struct {
	entries []timeline.Entry
	tail    timeline.Tail
	authors map[uint64]timeline.Entry
}

var _ timeline.Log = (*Log)(nil)

// New returns an empty log. The listener may be nil.
func New(listener timeline.Listener) *Log {
	l := &Log{listener: listener, timelines: map[timeline.Key]*series{}, tokens: map[timeline.TokenKey]uint64{}}
	l.idle.L = &l.mu
	return l
}

func (l *Log) timeline(k timeline.Key) *series {
	if l.timelines[k] == nil {
		l.timelines[k] = &series{authors: map[uint64]timeline.Entry{}}
	}
	return l.timelines[k]
}

// at returns the entry at a seq, or an empty one if it has expired.
func (n *series) at(seq uint64) timeline.Entry {
	i, found := slices.BinarySearchFunc(n.entries, seq, func(e timeline.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !found {
		return timeline.Entry{}
	}
	return n.entries[i]
}

// Append queues entries. Another goroutine calls Done, because callers may hold locks that their Done needs.
func (l *Log) Append(entries ...*timeline.AppendRequest) {
	l.mu.Lock()
	if !l.closed {
		l.queue = append(l.queue, entries...)
		if !l.storing {
			l.storing = true
			go l.run()
		}
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	for _, a := range entries {
		a.Err = timeline.ErrClosed
		a.Done(a)
	}
}

// run stores the queue, batch by batch, until it is empty.
func (l *Log) run() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.storing = false
			l.idle.Broadcast()
			l.mu.Unlock()
			return
		}
		batch := l.queue
		l.queue = nil
		commits := l.commit(batch)
		l.mu.Unlock()
		for _, a := range batch {
			a.Done(a)
		}
		if l.listener != nil {
			l.listener(commits)
		}
	}
}

// commit stores a batch and sets all results. The caller holds mu.
func (l *Log) commit(batch []*timeline.AppendRequest) (commits []timeline.Commit) {
	for _, a := range batch {
		a.Seq, a.Counted, a.Duplicate, a.StoredPayload, a.Err = 0, 0, false, nil, nil
		n := l.timeline(a.Key)
		at := timeline.TokenKey{Key: a.Key, Token: a.Token.Identity()}
		seq, known := l.tokens[at]
		switch {
		case known && !a.Token.IsZero():
			e := n.at(seq)
			a.Seq, a.Counted, a.Duplicate, a.StoredPayload = seq, e.Counted, true, e.Payload
		case a.CheckAccess && n.tail.Access != a.ExpectedAccess:
			a.Err = timeline.ErrStale
		default:
			commits = l.store(n, a, at, commits)
		}
	}
	return commits
}

func (l *Log) store(n *series, a *timeline.AppendRequest, at timeline.TokenKey, commits []timeline.Commit) []timeline.Commit {
	n.tail.Seq++
	if a.Counts {
		n.tail.Counted++
	}
	if a.SetAccess {
		n.tail.Access = n.tail.Seq
	}
	a.Seq, a.Counted = n.tail.Seq, n.tail.Counted
	e := timeline.Entry{Seq: a.Seq, Counted: a.Counted, Prev: a.Seq - 1, Payload: bytes.Clone(a.Payload)}
	n.entries = append(n.entries, e)
	if a.Author != 0 {
		n.authors[a.Author] = e
	}
	if !a.Token.IsZero() {
		l.tokens[at] = a.Seq
	}
	if !a.NeedsFanout {
		return commits
	}
	p := a.Key.Partition()
	i := slices.IndexFunc(commits, func(c timeline.Commit) bool { return c.Partition == p })
	if i < 0 {
		last := l.checkpoints[p]
		if r := l.records[p]; len(r) > 0 {
			last = max(last, r[len(r)-1].Seq)
		}
		i = len(commits)
		commits = append(commits, timeline.Commit{Partition: p, RecordSeq: last + 1})
		l.records[p] = append(l.records[p], timeline.FanoutRecord{Seq: last + 1})
	}
	commits[i].Entries = append(commits[i].Entries, timeline.CommittedEntry{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: e.Payload})
	r := &l.records[p][len(l.records[p])-1]
	if k := len(r.Refs) - 1; k >= 0 && r.Refs[k].Key == a.Key && r.Refs[k].To+1 == a.Seq {
		r.Refs[k].To++
	} else {
		r.Refs = append(r.Refs, timeline.Ref{Key: a.Key, From: a.Seq, To: a.Seq})
	}
	return commits
}

func (l *Log) filter(k timeline.Key, keep func(timeline.Entry) bool) []timeline.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []timeline.Entry
	if n := l.timelines[k]; n != nil {
		for _, e := range n.entries {
			if keep(e) {
				e.Payload = bytes.Clone(e.Payload)
				found = append(found, e)
			}
		}
	}
	return found
}

// Read returns entries above a seq.
func (l *Log) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	e := l.filter(k, func(e timeline.Entry) bool { return e.Seq > after })
	return e[:min(len(e), limit)], ctx.Err()
}

// ReadBackward returns entries below a seq.
func (l *Log) ReadBackward(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	e := l.filter(k, func(e timeline.Entry) bool { return before == 0 || e.Seq < before })
	slices.Reverse(e)
	return e[:min(len(e), limit)], ctx.Err()
}

// Get returns the entries of refs.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	var all []timeline.Entry
	for _, r := range refs {
		all = append(all, l.filter(r.Key, func(e timeline.Entry) bool { return e.Seq >= r.From && e.Seq <= r.To })...)
	}
	return all, ctx.Err()
}

// GetLimited is Get with a limit on the payloads.
func (l *Log) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	all, err := l.Get(ctx, refs)
	for i := range all {
		if bytes -= len(all[i].Payload); bytes < 0 && len(all) > 1 {
			return nil, timeline.ErrTooLarge
		}
	}
	return all, err
}

// Tail of a timeline.
func (l *Log) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.timelines[k]; n != nil {
		return n.tail, ctx.Err()
	}
	return timeline.Tail{}, ctx.Err()
}

// Tails of timelines.
func (l *Log) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tails := make([]timeline.Tail, len(keys))
	for i, k := range keys {
		if n := l.timelines[k]; n != nil {
			tails[i] = n.tail
		}
	}
	return tails, ctx.Err()
}

// LatestByAuthor returns an author's latest entry.
func (l *Log) LatestByAuthor(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.timelines[k]; n != nil {
		return n.authors[author].Seq, n.authors[author].Counted, ctx.Err()
	}
	return 0, 0, ctx.Err()
}

// HighestCounter of a device.
func (l *Log) HighestCounter(ctx context.Context, sender, device uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	highest := uint64(0)
	for t := range l.tokens {
		if t.Token.Sender == sender && t.Token.Device == device {
			highest = max(highest, t.Token.Counter)
		}
	}
	return highest, ctx.Err()
}

// Epoch is always 1.
func (l *Log) Epoch() uint32 { return 1 }

// RestoredEpoch is 0: the log begins empty.
func (l *Log) RestoredEpoch() uint32 { return 0 }

// Acquire only keeps terms from falling: every partition is this log's.
func (l *Log) Acquire(ctx context.Context, partition uint16, term uint64) error {
	return l.terms.Acquire(ctx, partition, term)
}

// Post appends to derived timelines.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range posts {
		p := &posts[i]
		n := l.timeline(p.Key)
		p.Prev = n.tail.Seq
		p.Seq = max(p.Prev, 1<<32) + 1
		n.tail.Seq = p.Seq
		n.entries = append(n.entries, timeline.Entry{Seq: p.Seq, Prev: p.Prev, Payload: bytes.Clone(p.Payload)})
	}
	return nil
}

// Trim removes entries below a seq.
func (l *Log) Trim(ctx context.Context, k timeline.Key, head uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.timeline(k)
	n.tail.FirstSeq = max(n.tail.FirstSeq, head)
	n.entries = slices.DeleteFunc(n.entries, func(e timeline.Entry) bool { return e.Seq < head })
	return ctx.Err()
}

// Expire removes a conversation's entries below a seq, except for kept ones.
func (l *Log) Expire(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.timeline(k)
	old := n.tail.FirstSeq
	if head = min(head, n.tail.Seq+1); head <= max(old, 1) {
		return ctx.Err()
	}
	n.tail.FirstSeq = head
	n.entries = slices.DeleteFunc(n.entries, func(e timeline.Entry) bool {
		_, kept := slices.BinarySearch(keep, e.Seq)
		return e.Seq >= old && e.Seq < head && !kept
	})
	return ctx.Err()
}

// Replace changes the payloads of entries.
func (l *Log) Replace(ctx context.Context, k timeline.Key, entries []timeline.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.timeline(k)
	for _, e := range entries {
		if i, found := slices.BinarySearchFunc(n.entries, e.Seq, func(e timeline.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) }); found {
			n.entries[i].Payload = bytes.Clone(e.Payload)
		}
	}
	return ctx.Err()
}

// FanoutRecords of a partition.
func (l *Log) FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.FanoutRecord, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []timeline.FanoutRecord
	for _, r := range l.records[partition] {
		if r.Seq > after && len(found) < limit {
			r.Refs = slices.Clone(r.Refs)
			found = append(found, r)
		}
	}
	return found, ctx.Err()
}

// Checkpoint of a partition.
func (l *Log) Checkpoint(ctx context.Context, partition uint16) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkpoints[partition], ctx.Err()
}

// PutCheckpoint moves a checkpoint.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkpoints[partition] = record
	return ctx.Err()
}

// Keys of a kind with entries.
func (l *Log) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []timeline.Key
	for k, n := range l.timelines {
		if k.Kind == kind && k.ID > above && len(n.entries) > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b timeline.Key) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return keys[:min(len(keys), limit)], ctx.Err()
}

// Close refuses further appends and waits for the queued ones.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for l.storing {
		l.idle.Wait()
	}
	return nil
}
