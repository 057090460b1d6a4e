package pebblelog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// committer appends to conversations, in batches.
type committer struct {
	log     *Log
	appends *timeline.GroupCommit[*commitBatch]

	// pendingMu guards pending and pendingRecords: the state of everything that the batch in commit touches, before the batch.
	// Readers create their iterators under it.
	pendingMu      sync.RWMutex
	pending        map[timeline.Key]timeline.Tail
	pendingRecords map[uint16]uint64
	stored         chan struct{} // closed when that batch is synced; pendingMu guards the channel

	highest highestCounters

	// Only the commit goroutine uses these:
	tails map[timeline.Key]*timeline.Tail
	rows  rowBuffer
}

type device struct{ sender, device uint64 }

// commitBatch has the appends that are committed together, and their commits for the listener.
type commitBatch struct {
	appends []*timeline.AppendRequest
	commits []timeline.Commit
}

func newCommitter(l *Log) *committer {
	s := &committer{
		log:     l,
		pending: map[timeline.Key]timeline.Tail{}, pendingRecords: map[uint16]uint64{},
		tails: map[timeline.Key]*timeline.Tail{}, highest: highestCounters{cached: map[device]uint64{}, limit: l.options.cachedKeys},
	}
	s.appends = timeline.NewGroupCommit(timeline.GroupCommitConfig[*commitBatch]{
		QueueAppends: l.options.Queue, QueueBytes: l.options.QueueBytes,
		Commit: func(pending []*timeline.AppendRequest) (*commitBatch, []*timeline.AppendRequest) {
			return s.commit(pending), nil
		},
		Complete: func(b *commitBatch) { timeline.ReportBatch(b.appends, nil, b.commits, l.options.Listener) },
	})
	if l.options.ReadOnly {
		s.appends.Close()
	}
	return s
}

// Append queues entries.
func (l *Log) Append(entries ...*timeline.AppendRequest) {
	if len(entries) > 0 {
		l.committer.appends.Append(entries)
	}
}

// batchBuilder collects the appends of a batch that are stored.
type batchBuilder struct {
	touched map[timeline.Key]timeline.Tail // tails before
	stored  []*timeline.AppendRequest
	feeds   bool                                           // some of stored are of feeds
	authors map[timeline.AuthorKey]*timeline.AppendRequest // the latest of each
	tokens  map[string]*timeline.AppendRequest             // of stored; made at the first need
}

// commit stores a batch atomically, except for appends that fail, and sets all results.
func (s *committer) commit(batch []*timeline.AppendRequest) *commitBatch {
	g := &commitBatch{appends: batch}
	if s.log.broken.Load() {
		s.fail(batch, errBroken)
		return g
	}
	s.log.checkFreeThrottled()
	if s.log.full.Load() {
		s.fail(batch, timeline.ErrStorageFull)
		return g
	}
	// Only between batches: what a batch has changed and not stored yet is only in the caches.
	timeline.EvictHalf(s.tails, s.log.options.cachedKeys)
	s.highest.evict()
	f := &batchBuilder{touched: make(map[timeline.Key]timeline.Tail), authors: make(map[timeline.AuthorKey]*timeline.AppendRequest)}
	for _, a := range batch {
		a.Seq, a.Counted, a.Duplicate, a.StoredPayload, a.Err = 0, 0, false, nil, nil
		if err := s.assign(f, a); err != nil {
			a.Err = err
		}
	}
	if len(f.stored) == 0 {
		return g
	}
	g.commits = s.encode(f)
	failpoint.Hit("timeline/before-commit")
	if err := s.store(f, g.commits); err != nil {
		s.log.markBroken(err)
		s.fail(batch, errBroken)
		g.commits = nil
		return g
	}
	failpoint.Hit("timeline/after-sync-before-done")
	return g
}

func (s *committer) fail(batch []*timeline.AppendRequest, err error) {
	for _, a := range batch {
		if a.Err == nil {
			a.Err = err
		}
	}
}

// assign assigns a seq to an append, or returns why it must not be stored.
func (s *committer) assign(f *batchBuilder, a *timeline.AppendRequest) error {
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
	if a.CheckAccess && tail.Access != a.ExpectedAccess {
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
	f.feeds = f.feeds || a.Key.Kind == timeline.Feed
	if a.Author != 0 {
		f.authors[timeline.AuthorKey{Key: a.Key, Author: a.Author}] = a
	}
	if a.Token.Counter != 0 {
		s.highest.raise(device{a.Token.Sender, a.Token.Device}, a.Token.Counter)
	}
	if f.tokens != nil && !a.Token.IsZero() {
		f.tokens[string(tokenKey(nil, &a.Token, a.Key))] = a
	}
	return nil
}

func (s *committer) tail(k timeline.Key) (*timeline.Tail, error) {
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

// findToken sets the results of the stored entry if the token is known.
func (s *committer) findToken(f *batchBuilder, a *timeline.AppendRequest) (bool, error) {
	if a.Token.Counter != 0 {
		highest, err := s.log.highestCounter(device{a.Token.Sender, a.Token.Device}, true)
		if err != nil {
			return false, err
		}
		// A counter above the highest is new: no lookup is needed.
		if a.Token.Counter > highest {
			return false, nil
		}
	}
	if f.tokens == nil {
		f.tokens = make(map[string]*timeline.AppendRequest)
		for _, o := range f.stored {
			if !o.Token.IsZero() {
				f.tokens[string(tokenKey(nil, &o.Token, o.Key))] = o
			}
		}
	}
	key := tokenKey(nil, &a.Token, a.Key)
	if first := f.tokens[string(key)]; first != nil {
		a.Seq, a.Counted, a.Duplicate, a.StoredPayload = first.Seq, first.Counted, true, first.Payload
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
		if head, err := s.log.firstSeq(a.Key); err != nil || seq >= head {
			return false, errors.Join(err, timeline.ErrCorrupt)
		}
		a.Seq, a.Duplicate = seq, true
		return true, nil
	}
	e, err := decodeEntry(seq, value)
	if err != nil {
		return false, err
	}
	a.Seq, a.Counted, a.Duplicate, a.StoredPayload = seq, e.Counted, true, e.Payload
	return true, nil
}

// encode writes the rows of a batch to the row buffer and returns its fan-out records.
func (s *committer) encode(f *batchBuilder) []timeline.Commit {
	r := &s.rows
	r.reset()
	var commits []timeline.Commit
	var index [timeline.Partitions]int // into commits, plus 1
	for _, a := range f.stored {
		r.arena = entryKey(r.arena, a.Key, a.Seq)
		r.endKey()
		r.arena = appendEntry(r.arena, a.Counted, a.Payload)
		r.endValue()
		if !a.Token.IsZero() {
			r.arena = tokenKey(r.arena, &a.Token, a.Key)
			r.endKey()
			r.arena = binary.AppendUvarint(r.arena, a.Seq)
			r.endValue()
		}
		if !a.NeedsFanout {
			continue
		}
		p := a.Key.Partition()
		if index[p] == 0 {
			commits = append(commits, timeline.Commit{Partition: p, RecordSeq: s.log.records[p].next})
			s.log.records[p].next++
			index[p] = len(commits)
		}
		c := &commits[index[p]-1]
		c.Entries = append(c.Entries, timeline.CommittedEntry{Key: a.Key, Seq: a.Seq, Counted: a.Counted, Payload: a.Payload})
	}
	for at, a := range f.authors {
		r.arena = authorKey(r.arena, at.Key, at.Author)
		r.endKey()
		r.arena = binary.AppendUvarint(binary.AppendUvarint(r.arena, a.Seq), a.Counted)
		r.endValue()
	}
	for k := range f.touched {
		r.arena = timelineKey(r.arena, rowTail, k)
		r.endKey()
		r.arena = appendTail(r.arena, s.tails[k])
		r.endValue()
	}
	for i := range commits {
		c := &commits[i]
		r.arena = recordKey(r.arena, c.Partition, c.RecordSeq)
		r.endKey()
		r.arena = appendRuns(r.arena, c.Entries)
		r.endValue()
	}
	r.sort()
	return commits
}

// appendRuns writes entries as refs, in their order. It joins adjacent entries.
func appendRuns(b []byte, entries []timeline.CommittedEntry) []byte {
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

// store commits the rows with one sync. Readers do not see them until it returns.
func (s *committer) store(f *batchBuilder, commits []timeline.Commit) error {
	s.pendingMu.Lock()
	s.pending, s.stored = f.touched, make(chan struct{})
	for _, c := range commits {
		s.pendingRecords[c.Partition] = c.RecordSeq - 1
	}
	s.pendingMu.Unlock()

	if err := s.log.commitSynced(&s.rows, s.log.write); err != nil {
		return err // Pebble shows the batch, which may not be on the disk: it stays hidden from readers until the process ends
	}
	s.pendingMu.Lock()
	if f.feeds {
		s.log.feeds.appended(f.touched, s.tails)
	}
	s.pending = nil
	close(s.stored)
	clear(s.pendingRecords)
	s.pendingMu.Unlock()
	return nil
}

// errBroken: a commit failed, and it is unknown whether it is on the disk.
var errBroken = &errs.Error{Kind: errs.Unavailable, Reason: "storage", Message: "the server's disk failed; try again", Retry: 1e9}

// markBroken ends the log after a failed commit. Pebble already shows the batch that it could not sync, so a retry would be answered as if
// it were stored. The log accepts nothing until it is opened again from the disk.
func (l *Log) markBroken(err error) {
	if !l.broken.Swap(true) {
		pebbleLogger{l.options.Logger, l.options.Fatal}.Fatalf("commit: %v", err)
	}
}

// rowBuffer has the keys and values of a batch in one arena, to be sorted: sorted keys cost the memtable a third less.
type rowBuffer struct {
	arena    []byte
	rows     []row
	rowStart int
}

// row is a key and its value in the arena. prefix is the start of the key, as numbers that compare like it.
type row struct {
	prefix          [2]uint64
	key, value, end uint32
}

func (r *rowBuffer) reset() {
	if cap(r.arena) > 16<<20 {
		r.arena = nil
	}
	r.arena, r.rows, r.rowStart = r.arena[:0], r.rows[:0], 0
}

func (r *rowBuffer) endKey() {
	w := row{key: uint32(r.rowStart), value: uint32(len(r.arena))}
	var start [16]byte
	copy(start[:], r.arena[r.rowStart:])
	w.prefix = [2]uint64{binary.BigEndian.Uint64(start[:]), binary.BigEndian.Uint64(start[8:])}
	r.rows = append(r.rows, w)
}

func (r *rowBuffer) endValue() {
	r.rows[len(r.rows)-1].end = uint32(len(r.arena))
	r.rowStart = len(r.arena)
}

func (r *rowBuffer) sort() {
	slices.SortFunc(r.rows, func(a, b row) int {
		switch {
		case a.prefix[0] != b.prefix[0]:
			return cmp.Compare(a.prefix[0], b.prefix[0])
		case a.prefix[1] != b.prefix[1]:
			return cmp.Compare(a.prefix[1], b.prefix[1])
		}
		return bytes.Compare(r.arena[a.key:a.value], r.arena[b.key:b.value])
	})
}

// set adds a row. Keys must be ascending, or sort must be called.
func (r *rowBuffer) set(key string, value []byte) {
	r.arena = append(r.arena, key...)
	r.endKey()
	r.arena = append(r.arena, value...)
	r.endValue()
}

// commit writes the rows as one batch and returns the position of its end. current is the number of the write-ahead log in use. The
// position has that number as it was after the batch was written and before it was synced.
func (r *rowBuffer) commit(db *pebble.DB, write *pebble.WriteOptions, current *atomic.Uint64) (WALPosition, error) {
	b := db.NewBatchWithSize(len(r.arena) + 16*len(r.rows) + 64)
	for _, row := range r.rows {
		if err := b.Set(r.arena[row.key:row.value], r.arena[row.value:row.end], nil); err != nil {
			return WALPosition{}, errors.Join(err, b.Close())
		}
	}
	if !write.Sync {
		return WALPosition{}, errors.Join(db.Apply(b, write), b.Close())
	}
	if err := db.ApplyNoSyncWait(b, write); err != nil {
		return WALPosition{}, errors.Join(err, b.Close())
	}
	to := WALPosition{current.Load(), uint64(b.SeqNum()) + uint64(b.Count())}
	failpoint.Hit("timeline/after-commit-before-sync")
	return to, errors.Join(b.SyncWait(), b.Close())
}
