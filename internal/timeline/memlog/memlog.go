// Package memlog keeps timelines in memory: the model that the other engines are compared with. It keeps every promise of the
// port but durability. All methods may be called from many goroutines.
package memlog

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/timeline"
)

// Log is a timeline.Log in memory.
type Log struct {
	listener timeline.Listener

	mu      sync.Mutex // guards all below
	idle    sync.Cond  // storing ended; on mu
	closed  bool
	queue   []*timeline.Append
	storing bool // a goroutine works the queue; it ends with it
	lines   map[timeline.Key]*line
	tokens  map[tokenIn]uint64
	records [timeline.Partitions][]timeline.Record
	saved   [timeline.Partitions]uint64
}

type line struct {
	entries []timeline.Entry
	tail    timeline.Tail
	authors map[uint64]timeline.Entry
}

type tokenIn struct {
	key   timeline.Key
	token timeline.Token
}

var _ timeline.Log = (*Log)(nil)

// New gives an empty log. The listener may be nil.
func New(listener timeline.Listener) *Log {
	l := &Log{listener: listener, lines: map[timeline.Key]*line{}, tokens: map[tokenIn]uint64{}}
	l.idle.L = &l.mu
	return l
}

func (l *Log) line(k timeline.Key) *line {
	if l.lines[k] == nil {
		l.lines[k] = &line{authors: map[uint64]timeline.Entry{}}
	}
	return l.lines[k]
}

// at gives the entry at a seq; one that expired is empty.
func (n *line) at(seq uint64) timeline.Entry {
	i, found := slices.BinarySearchFunc(n.entries, seq, func(e timeline.Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !found {
		return timeline.Entry{}
	}
	return n.entries[i]
}

// Append takes entries over. Done is called from another goroutine, as the port says: callers may hold locks that their Done takes.
func (l *Log) Append(entries ...*timeline.Append) {
	l.mu.Lock()
	if !l.closed {
		l.queue = append(l.queue, entries...)
		if !l.storing {
			l.storing = true
			go l.work()
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

// work stores what waits, batch by batch, until nothing does.
func (l *Log) work() {
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

// commit stores a batch, and sets every result. The caller holds mu.
func (l *Log) commit(batch []*timeline.Append) (commits []timeline.Commit) {
	for _, a := range batch {
		a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, nil
		n := l.line(a.Key)
		at := tokenIn{a.Key, a.Token}
		if a.Token.Counter != 0 {
			at.token.Sum = [16]byte{}
		} else {
			at.token.Sender, at.token.Device = 0, 0
		}
		seq, known := l.tokens[at]
		switch {
		case known && !a.Token.IsZero():
			e := n.at(seq)
			a.Seq, a.Counted, a.Duplicate, a.Stored = seq, e.Counted, true, e.Payload
		case a.CheckAccess && n.tail.Access != a.IfAccess:
			a.Err = timeline.ErrStale
		default:
			commits = l.store(n, a, at, commits)
		}
	}
	return commits
}

func (l *Log) store(n *line, a *timeline.Append, at tokenIn, commits []timeline.Commit) []timeline.Commit {
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
	if !a.Carry {
		return commits
	}
	p := a.Key.Partition()
	i := slices.IndexFunc(commits, func(c timeline.Commit) bool { return c.Partition == p })
	if i < 0 {
		last := l.saved[p]
		if r := l.records[p]; len(r) > 0 {
			last = max(last, r[len(r)-1].Seq)
		}
		i = len(commits)
		commits = append(commits, timeline.Commit{Partition: p, Record: last + 1})
		l.records[p] = append(l.records[p], timeline.Record{Seq: last + 1})
	}
	commits[i].Entries = append(commits[i].Entries, timeline.Committed{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: e.Payload})
	r := &l.records[p][len(l.records[p])-1]
	if k := len(r.Refs) - 1; k >= 0 && r.Refs[k].Key == a.Key && r.Refs[k].To+1 == a.Seq {
		r.Refs[k].To++
	} else {
		r.Refs = append(r.Refs, timeline.Ref{Key: a.Key, From: a.Seq, To: a.Seq})
	}
	return commits
}

func (l *Log) find(k timeline.Key, keep func(timeline.Entry) bool) []timeline.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []timeline.Entry
	if n := l.lines[k]; n != nil {
		for _, e := range n.entries {
			if keep(e) {
				e.Payload = bytes.Clone(e.Payload)
				found = append(found, e)
			}
		}
	}
	return found
}

// Read gives entries above after.
func (l *Log) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	e := l.find(k, func(e timeline.Entry) bool { return e.Seq > after })
	return e[:min(len(e), limit)], ctx.Err()
}

// ReadBack gives entries below before.
func (l *Log) ReadBack(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	e := l.find(k, func(e timeline.Entry) bool { return before == 0 || e.Seq < before })
	slices.Reverse(e)
	return e[:min(len(e), limit)], ctx.Err()
}

// Get gives the entries of refs.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	var all []timeline.Entry
	for _, r := range refs {
		all = append(all, l.find(r.Key, func(e timeline.Entry) bool { return e.Seq >= r.From && e.Seq <= r.To })...)
	}
	return all, ctx.Err()
}

// GetMost is Get within a bound.
func (l *Log) GetMost(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	all, err := l.Get(ctx, refs)
	for i := range all {
		if bytes -= len(all[i].Payload); bytes < 0 && len(all) > 1 {
			return nil, timeline.ErrTooMuch
		}
	}
	return all, err
}

// Tail of a timeline.
func (l *Log) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.lines[k]; n != nil {
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
		if n := l.lines[k]; n != nil {
			tails[i] = n.tail
		}
	}
	return tails, ctx.Err()
}

// LastBy gives an author's latest entry.
func (l *Log) LastBy(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.lines[k]; n != nil {
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
		if t.token.Sender == sender && t.token.Device == device {
			highest = max(highest, t.token.Counter)
		}
	}
	return highest, ctx.Err()
}

// Epoch is always 1.
func (l *Log) Epoch() uint32 { return 1 }

// Take has nothing to do: every partition is this log's.
func (l *Log) Take(ctx context.Context, _ uint16) error { return ctx.Err() }

// Post appends to derived timelines.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range posts {
		p := &posts[i]
		n := l.line(p.Key)
		p.Prev = n.tail.Seq
		p.Seq = max(p.Prev, 1<<32) + 1
		n.tail.Seq = p.Seq
		n.entries = append(n.entries, timeline.Entry{Seq: p.Seq, Prev: p.Prev, Payload: bytes.Clone(p.Payload)})
	}
	return nil
}

// Trim drops entries below head.
func (l *Log) Trim(ctx context.Context, k timeline.Key, head uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.line(k)
	n.tail.Head = max(n.tail.Head, head)
	n.entries = slices.DeleteFunc(n.entries, func(e timeline.Entry) bool { return e.Seq < head })
	return ctx.Err()
}

// Expire drops a conversation's entries below head but for those kept.
func (l *Log) Expire(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.line(k)
	old := n.tail.Head
	if head = min(head, n.tail.Seq+1); head <= max(old, 1) {
		return ctx.Err()
	}
	n.tail.Head = head
	n.entries = slices.DeleteFunc(n.entries, func(e timeline.Entry) bool {
		_, kept := slices.BinarySearch(keep, e.Seq)
		return e.Seq >= old && e.Seq < head && !kept
	})
	return ctx.Err()
}

// Records of a partition.
func (l *Log) Records(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []timeline.Record
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
	return l.saved[partition], ctx.Err()
}

// PutCheckpoint moves a checkpoint.
func (l *Log) PutCheckpoint(ctx context.Context, partition uint16, record uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saved[partition] = record
	return ctx.Err()
}

// Keys of a kind with entries.
func (l *Log) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []timeline.Key
	for k, n := range l.lines {
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

// Close refuses what comes after, and waits for what was taken over.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for l.storing {
		l.idle.Wait()
	}
	return nil
}
