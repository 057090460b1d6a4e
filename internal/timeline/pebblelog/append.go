package pebblelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/timeline"
)

// shard appends to the keys of its partitions.
type shard struct {
	log *Log

	mu     sync.Mutex // guards queue, size and closed
	more   sync.Cond  // queue or closed changed; on mu
	queue  []*timeline.Append
	size   int // bytes of payloads in queue
	closed bool

	// done has batches that are durable, for the completion goroutine: two may wait.
	done chan *group

	// pendingMu guards pending and pendingRecords: what the batch now in commit touches, as it was before. Readers make
	// their iterators under it.
	pendingMu      sync.RWMutex
	pending        map[timeline.Key]timeline.Tail
	pendingRecords map[uint16]uint64
	stored         chan struct{} // closed when that batch is synced; replaced under pendingMu

	// Of the commit goroutine alone:
	tails   map[timeline.Key]*timeline.Tail
	highest map[device]uint64
	rows    rows
}

type device struct{ sender, device uint64 }

// group is a batch on its way: all its appends, and what of them was stored.
type group struct {
	appends []*timeline.Append
	commits []timeline.Commit
}

func newShard(l *Log) *shard {
	s := &shard{
		log: l, done: make(chan *group, 2),
		pending: map[timeline.Key]timeline.Tail{}, pendingRecords: map[uint16]uint64{},
		tails: map[timeline.Key]*timeline.Tail{}, highest: map[device]uint64{},
	}
	s.more.L = &s.mu
	return s
}

func (l *Log) shardOf(k timeline.Key) *shard { return l.shards[k.Partition()%shards] }

// Append takes entries over.
func (l *Log) Append(entries ...*timeline.Append) {
	for i := 0; i < len(entries); {
		s := l.shardOf(entries[i].Key)
		n := i + 1
		for n < len(entries) && l.shardOf(entries[n].Key) == s {
			n++
		}
		s.add(entries[i:n])
		i = n
	}
}

func (s *shard) add(entries []*timeline.Append) {
	s.mu.Lock()
	err := timeline.ErrClosed
	if !s.closed && !s.log.options.ReadOnly {
		size := s.size
		for _, a := range entries {
			size += len(a.Payload)
		}
		if len(s.queue)+len(entries) <= s.log.options.Queue && (size <= s.log.options.QueueBytes || len(s.queue) == 0) {
			s.queue, s.size = append(s.queue, entries...), size
			s.more.Signal()
			s.mu.Unlock()
			return
		}
		err = timeline.ErrBusy
	}
	s.mu.Unlock()
	for _, a := range entries {
		a.Err = err
		a.Done(a)
	}
}

func (s *shard) close() {
	s.mu.Lock()
	s.closed = true
	s.more.Signal()
	s.mu.Unlock()
}

func (s *shard) commitLoop() {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.more.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		batch := s.queue
		s.queue, s.size = nil, 0
		s.mu.Unlock()
		s.done <- s.commit(batch)
	}
}

func (s *shard) completeLoop() {
	for g := range s.done {
		for i, a := range g.appends {
			if i == 1 {
				failpoint.Hit("timeline/mid-done")
			}
			a.Done(a)
		}
		failpoint.Hit("timeline/after-done-before-listener")
		if s.log.options.Listener != nil {
			s.log.options.Listener(g.commits)
		}
	}
}

// forming is a batch being built.
type forming struct {
	touched map[timeline.Key]timeline.Tail // tails before
	stored  []*timeline.Append
	authors map[authorOf]*timeline.Append // the latest of each
	tokens  map[string]*timeline.Append   // of stored; made at the first need
}

type authorOf struct {
	key    timeline.Key
	author uint64
}

// commit stores what can be stored of a batch, in one act, and sets every result.
func (s *shard) commit(batch []*timeline.Append) *group {
	g := &group{appends: batch}
	if s.log.broken.Load() {
		s.fail(batch, errBroken)
		return g
	}
	if s.log.full.Load() {
		s.fail(batch, timeline.ErrStorageFull)
		return g
	}
	shrink(s.tails, s.log.options.cachedKeys)
	shrink(s.highest, s.log.options.cachedKeys)
	f := &forming{touched: make(map[timeline.Key]timeline.Tail), authors: make(map[authorOf]*timeline.Append)}
	for _, a := range batch {
		a.Seq, a.Counted, a.Duplicate, a.Stored, a.Err = 0, 0, false, nil, nil
		if err := s.place(f, a); err != nil {
			a.Err = err
		}
	}
	if len(f.stored) == 0 {
		return g
	}
	g.commits = s.fill(f)
	failpoint.Hit("timeline/before-commit")
	if err := s.store(f, g.commits); err != nil {
		s.log.broke(err)
		s.fail(batch, errBroken)
		g.commits = nil
		return g
	}
	failpoint.Hit("timeline/after-sync-before-done")
	return g
}

func (s *shard) fail(batch []*timeline.Append, err error) {
	for _, a := range batch {
		if a.Err == nil {
			a.Err = err
		}
	}
}

// place gives an append its number, or says why not.
func (s *shard) place(f *forming, a *timeline.Append) error {
	tail, err := s.tail(a.Key)
	if err != nil {
		return err
	}
	if !a.Token.IsZero() {
		found, err := s.findToken(f, a)
		if err != nil || found {
			return err
		}
	}
	if a.CheckAccess && tail.Access != a.IfAccess {
		return timeline.ErrStale
	}
	if _, ok := f.touched[a.Key]; !ok {
		f.touched[a.Key] = *tail
	}
	tail.Seq++
	if a.Counts {
		tail.Counted++
	}
	if a.SetAccess {
		tail.Access = tail.Seq
	}
	a.Seq, a.Counted = tail.Seq, tail.Counted
	f.stored = append(f.stored, a)
	if a.Author != 0 {
		f.authors[authorOf{a.Key, a.Author}] = a
	}
	if a.Token.Counter != 0 {
		d := device{a.Token.Sender, a.Token.Device}
		s.highest[d] = max(s.highest[d], a.Token.Counter)
	}
	if f.tokens != nil && !a.Token.IsZero() {
		f.tokens[string(tokenKey(nil, &a.Token, a.Key))] = a
	}
	return nil
}

func (s *shard) tail(k timeline.Key) (*timeline.Tail, error) {
	if t := s.tails[k]; t != nil {
		return t, nil
	}
	t, err := s.log.storedTail(k)
	if err != nil {
		return nil, err
	}
	s.tails[k] = &t
	return &t, nil
}

// shrink drops half of a cache with most keys; what is dropped is read again. It is for the time between batches: what a batch
// has changed and not stored yet is in the cache only.
func shrink[K comparable, V any](m map[K]V, most int) {
	if len(m) < most {
		return
	}
	for k := range m {
		if delete(m, k); len(m) <= most/2 {
			return
		}
	}
}

// findToken sets the first time's results where the token is known.
func (s *shard) findToken(f *forming, a *timeline.Append) (bool, error) {
	if a.Token.Counter != 0 {
		d := device{a.Token.Sender, a.Token.Device}
		highest, ok := s.highest[d]
		if !ok {
			var err error
			if highest, err = s.log.highestCounter(d); err != nil {
				return false, err
			}
			s.highest[d] = highest
		}
		// A counter above all that this shard's keys have seen of the device is new without a look-up.
		if a.Token.Counter > highest {
			return false, nil
		}
	}
	if f.tokens == nil {
		f.tokens = make(map[string]*timeline.Append)
		for _, o := range f.stored {
			if !o.Token.IsZero() {
				f.tokens[string(tokenKey(nil, &o.Token, o.Key))] = o
			}
		}
	}
	key := tokenKey(nil, &a.Token, a.Key)
	if first := f.tokens[string(key)]; first != nil {
		a.Seq, a.Counted, a.Duplicate, a.Stored = first.Seq, first.Counted, true, first.Payload
		return true, nil
	}
	seq, err := s.log.getUvarint(key)
	if err != nil || seq == 0 {
		return false, err
	}
	value, ok, err := s.log.get(nil, entryKey(nil, a.Key, seq))
	if err != nil {
		return false, err
	}
	if !ok {
		if head, err := s.log.head(a.Key); err != nil || seq >= head {
			return false, errors.Join(err, timeline.ErrDamaged)
		}
		a.Seq, a.Duplicate = seq, true
		return true, nil
	}
	e, err := decodeEntry(seq, value)
	if err != nil {
		return false, err
	}
	a.Seq, a.Counted, a.Duplicate, a.Stored = seq, e.Counted, true, e.Payload
	return true, nil
}

// fill makes the rows of a batch, and its records.
func (s *shard) fill(f *forming) []timeline.Commit {
	r := &s.rows
	r.reset()
	var commits []timeline.Commit
	var index [timeline.Partitions]int // into commits, plus 1
	for _, a := range f.stored {
		r.arena = entryKey(r.arena, a.Key, a.Seq)
		r.key()
		r.arena = appendEntry(r.arena, a.Counted, a.Payload)
		r.value()
		if !a.Token.IsZero() {
			r.arena = tokenKey(r.arena, &a.Token, a.Key)
			r.key()
			r.arena = binary.AppendUvarint(r.arena, a.Seq)
			r.value()
		}
		if !a.Carry {
			continue
		}
		p := a.Key.Partition()
		if index[p] == 0 {
			commits = append(commits, timeline.Commit{Partition: p, Record: s.log.records[p].next})
			s.log.records[p].next++
			index[p] = len(commits)
		}
		c := &commits[index[p]-1]
		c.Entries = append(c.Entries, timeline.Committed{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
	}
	for at, a := range f.authors {
		r.arena = authorKey(r.arena, at.key, at.author)
		r.key()
		r.arena = binary.AppendUvarint(binary.AppendUvarint(r.arena, a.Seq), a.Counted)
		r.value()
	}
	for k := range f.touched {
		r.arena = timelineKey(r.arena, rowTail, k)
		r.key()
		r.arena = appendTail(r.arena, s.tails[k])
		r.value()
	}
	for i := range commits {
		c := &commits[i]
		r.arena = recordKey(r.arena, c.Partition, c.Record)
		r.key()
		r.arena = appendRuns(r.arena, c.Entries)
		r.value()
	}
	r.sort()
	return commits
}

// appendRuns writes entries as refs, in their order, joining neighbours.
func appendRuns(b []byte, entries []timeline.Committed) []byte {
	var run timeline.Ref
	for _, e := range entries {
		if run.Key == e.Key && run.To+1 == e.Seq {
			run.To++
			continue
		}
		if run.To != 0 {
			b = appendRef(b, run)
		}
		run = timeline.Ref{Key: e.Key, From: e.Seq, To: e.Seq}
	}
	return appendRef(b, run)
}

// store commits the rows with one sync. Readers are kept behind it until it returns.
func (s *shard) store(f *forming, commits []timeline.Commit) error {
	s.pendingMu.Lock()
	s.pending, s.stored = f.touched, make(chan struct{})
	for _, c := range commits {
		s.pendingRecords[c.Partition] = c.Record - 1
	}
	s.pendingMu.Unlock()

	if err := s.rows.commit(s.log.db, s.log.write); err != nil {
		return err // Pebble shows the batch, which may not be on the disk: readers stay behind it until the process ends
	}
	s.pendingMu.Lock()
	s.pending = nil
	close(s.stored)
	clear(s.pendingRecords)
	s.pendingMu.Unlock()
	return nil
}

// errBroken: a commit failed, and whether it is on the disk nobody knows.
var errBroken = &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server's disk failed; try again", Retry: 1e9}

// broke ends the log after a failed commit. Pebble already shows what it could not sync, so a retry would be answered from
// memory as if it were stored: nothing may be taken any more until the log is opened again, from what the disk has.
func (l *Log) broke(err error) {
	if !l.broken.Swap(true) {
		pebbleLogger{l.options.Logger, l.options.Fatal}.Fatalf("commit: %v", err)
	}
}

// rows are keys and values in one arena, to be sorted and put into a batch: sorted keys cost the memtable a third less.
type rows struct {
	arena []byte
	at    []row
	start int
}

type row struct{ key, value, end int }

func (r *rows) reset() {
	if cap(r.arena) > 16<<20 {
		r.arena = nil
	}
	r.arena, r.at, r.start = r.arena[:0], r.at[:0], 0
}

func (r *rows) key()   { r.at = append(r.at, row{key: r.start, value: len(r.arena)}) }
func (r *rows) value() { r.at[len(r.at)-1].end = len(r.arena); r.start = len(r.arena) }

func (r *rows) sort() {
	slices.SortFunc(r.at, func(a, b row) int { return bytes.Compare(r.arena[a.key:a.value], r.arena[b.key:b.value]) })
}

func (r *rows) commit(db *pebble.DB, write *pebble.WriteOptions) error {
	b := db.NewBatchWithSize(len(r.arena) + 16*len(r.at) + 64)
	for _, row := range r.at {
		if err := b.Set(r.arena[row.key:row.value], r.arena[row.value:row.end], nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if !write.Sync {
		return errors.Join(db.Apply(b, write), b.Close())
	}
	if err := db.ApplyNoSyncWait(b, write); err != nil {
		return errors.Join(err, b.Close())
	}
	failpoint.Hit("timeline/after-commit-before-sync")
	return errors.Join(b.SyncWait(), b.Close())
}
