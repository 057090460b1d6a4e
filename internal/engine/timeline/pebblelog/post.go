package pebblelog

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

func stripeOf(k timeline.Key) uint { return uint(k.Hash() % tailStripes) }

// Acquire only keeps terms from falling: a single process has the store open, so its log owns every partition.
func (l *Log) Acquire(ctx context.Context, partition uint16, term uint64) error {
	return l.terms.Acquire(ctx, partition, term)
}

// Post appends to derived timelines, without a sync.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.checkFreeThrottled()
	if l.full.Load() {
		return timeline.ErrStorageFull
	}
	if l.broken.Load() {
		return errBroken
	}
	if l.options.ReadOnly {
		return timeline.ErrClosed
	}
	var held uint64
	for i := range posts {
		held |= 1 << stripeOf(posts[i].Key)
	}
	for h := held; h != 0; h &= h - 1 { // in ascending order, so that two posts cannot deadlock
		s := &l.stripes[bits.TrailingZeros64(h)]
		s.mu.Lock()
		timeline.EvictHalf(s.ends, l.options.cachedInboxes/tailStripes)
		s.changes++
	}
	defer func() {
		for h := held; h != 0; h &= h - 1 {
			l.stripes[bits.TrailingZeros64(h)].mu.Unlock()
		}
	}()
	for i := range posts {
		p := &posts[i]
		cached := l.stripes[stripeOf(p.Key)].ends
		ends, ok := cached[p.Key.ID]
		if !ok {
			var err error
			if ends, err = l.storedEnds(p.Key); err != nil {
				l.dropCachedEnds(posts[:i])
				return err
			}
		}
		p.Prev = ends.last
		p.Seq = max(ends.last, uint64(l.epoch)<<32) + 1
		ends.last = p.Seq
		cached[p.Key.ID] = ends
	}
	if err := l.commitSynced(encodePosts(posts), pebble.NoSync); err != nil {
		l.dropCachedEnds(posts)
		return err
	}
	l.unsynced.Store(true)
	return nil
}

// Bounds of a row of an inbox. A reader of one entry decodes its whole row.
const (
	maxRunPosts = 64
	maxRunBytes = 4 << 10
)

// postOrder is the place of a post in the order of keys. Sorting these takes half of the time of sorting posts, which are larger.
type postOrder struct {
	id    uint64
	index uint32
	kind  timeline.Kind
}

// orderPosts returns posts in the order of their keys. Those of one key stay in the order in which they came, which is that of their seqs.
func orderPosts(posts []timeline.Post) []postOrder {
	order := make([]postOrder, len(posts))
	for i := range posts {
		order[i] = postOrder{id: posts[i].Key.ID, index: uint32(i), kind: posts[i].Key.Kind}
	}
	slices.SortFunc(order, func(a, b postOrder) int {
		switch {
		case a.kind != b.kind:
			return cmp.Compare(a.kind, b.kind)
		case a.id != b.id:
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(a.index, b.index)
	})
	return order
}

// encodePosts returns the rows of posts, in the order of their keys. The posts of one key must be in the order of their seqs. Entries of one
// inbox share a row: fewer rows cost less, from the memtable to the last compaction.
func encodePosts(posts []timeline.Post) *rowBuffer {
	r := &rowBuffer{arena: make([]byte, 0, len(posts)*32), rows: make([]row, 0, len(posts))}
	var run []timeline.Post
	for order := orderPosts(posts); len(order) > 0; order = order[len(run):] {
		run = append(run[:0], posts[order[0].index])
		first, size := &posts[order[0].index], len(run[0].Payload)
		for _, o := range order[1:min(len(order), maxRunPosts)] {
			p := &posts[o.index]
			if size += len(p.Payload); p.Key != first.Key || size > maxRunBytes {
				break
			}
			run = append(run, *p)
		}
		r.arena = entryKey(r.arena, first.Key, run[len(run)-1].Seq)
		r.endKey()
		if len(run) == 1 {
			r.arena = appendPost(r.arena, first.Seq, first.Prev, first.Payload)
		} else {
			r.arena = appendRun(r.arena, first.Seq, first.Prev, run)
		}
		r.endValue()
	}
	return r
}

// dropCachedEnds drops cached ends after a failure; the caller holds the stripes.
func (l *Log) dropCachedEnds(posts []timeline.Post) {
	for i := range posts {
		delete(l.stripes[stripeOf(posts[i].Key)].ends, posts[i].Key.ID)
	}
}

// inboxTail returns the tail of an inbox. It is read for each connection, so it is cached; but nobody waits for posts or trims under way.
func (l *Log) inboxTail(k timeline.Key) (timeline.Tail, error) {
	s := &l.stripes[stripeOf(k)]
	if !s.mu.TryLock() {
		ends, err := l.storedEnds(k)
		return timeline.Tail{Seq: ends.last, FirstSeq: ends.first}, err
	}
	ends, cached := s.ends[k.ID]
	changes := s.changes
	s.mu.Unlock()
	if !cached {
		var err error
		if ends, err = l.storedEnds(k); err != nil {
			return timeline.Tail{}, err
		}
		s.cacheEnds(k, ends, changes, l.options.cachedInboxes/tailStripes)
	}
	return timeline.Tail{Seq: ends.last, FirstSeq: ends.first}, nil
}

// cacheEnds caches ends that were read when the stripe had some number of changes, unless it has another one now.
func (s *stripe) cacheEnds(k timeline.Key, ends inboxEnds, changes uint64, limit int) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.changes == changes {
		timeline.EvictHalf(s.ends, limit)
		s.ends[k.ID] = ends
	}
}

// storedEnds reads the ends of an inbox.
func (l *Log) storedEnds(k timeline.Key) (ends inboxEnds, err error) {
	key, err := l.last(entryKey(nil, k, 0), entriesEnd(k))
	if err != nil {
		return ends, err
	}
	if key != nil {
		ends.last = seqOf(key)
	}
	if ends.first, err = l.firstSeq(k); err != nil {
		return ends, err
	}
	ends.last = max(ends.last, ends.first-min(ends.first, 1))
	return ends, nil
}

// Trim removes a derived timeline's entries below a seq. A row that has entries on both sides is written anew.
func (l *Log) Trim(_ context.Context, k timeline.Key, head uint64) error {
	if l.full.Load() {
		return timeline.ErrStorageFull
	}
	s := &l.stripes[stripeOf(k)]
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := l.firstSeq(k)
	if err != nil || head <= old {
		return err
	}
	s.changes++
	delete(s.ends, k.ID)
	b := l.db.NewBatch()
	defer b.Close()
	var r rowBuffer
	r.arena = timelineKey(r.arena, rowFirstSeq, k)
	r.endKey()
	r.arena = appendUvarint(r.arena, head)
	r.endValue()
	err = errors.Join(b.DeleteRange(entryKey(nil, k, 0), entryKey(nil, k, head), nil), b.Set(r.arena[:r.rows[0].value], r.arena[r.rows[0].value:], nil), l.trimRun(b, k, head))
	if err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

// withoutCorruption drops an error of a corrupt block, which an iterator's Close repeats.
func withoutCorruption(err error) error {
	if pebble.IsCorruptionError(err) {
		return nil
	}
	return err
}

// trimRun removes the entries below head from the first row that is left. A corrupt row stays as it is, so that it does not keep the rows
// below head for ever: nobody can read its entries, and a later trim removes it.
func (l *Log) trimRun(b *pebble.Batch, k timeline.Key, head uint64) (err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(nil, k, head), UpperBound: entriesEnd(k)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, withoutCorruption(it.Close())) }()
	var row []timeline.Entry
	if it.First() {
		var kept arena
		row, err = appendRow(nil, it, &kept)
	} else {
		err = corruption(it.Error())
	}
	switch {
	case errors.Is(err, timeline.ErrCorrupt):
		return nil
	case err != nil || len(row) == 0 || row[0].Seq >= head:
		return err
	}
	var posts []timeline.Post
	for _, e := range row {
		if e.Seq >= head {
			posts = append(posts, timeline.Post{Key: k, Payload: e.Payload, Seq: e.Seq, Prev: e.Prev})
		}
	}
	r := encodePosts(posts)
	return b.Set(r.arena[r.rows[0].key:r.rows[0].value], r.arena[r.rows[0].value:r.rows[0].end], nil)
}
