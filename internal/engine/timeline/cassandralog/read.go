package cassandralog

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// span of seqs to read, from and to included, at most limit of them; descending if back is set.
type span struct {
	from, to uint64
	limit    int
	back     bool
}

// rows reads a span of one segment. With parts, some entries may be incomplete.
func (l *Log) rows(ctx context.Context, k timeline.Key, segment uint64, s span, serial bool) (entries []timeline.Entry, parts bool, err error) {
	statement := selectEntries
	if s.back {
		statement = selectBack
	}
	var seq, prev int64
	var counted *int64
	var payload []byte
	it := l.query(ctx, statement, l.segmentArgs(k, segment, int64(s.from), int64(min(s.to, math.MaxInt64)), min(s.limit, math.MaxInt32))...).at(serial).Iter()
	for it.Scan(&seq, &counted, &prev, &payload) {
		e := timeline.Entry{Seq: uint64(seq), Prev: uint64(prev), Payload: payload}
		if counted == nil {
			parts = true
		} else {
			e.Counted = uint64(*counted)
		}
		entries = append(entries, e)
		payload, counted = nil, nil // they belong to the reader
	}
	return entries, parts, it.Close()
}

// read reads a complete span of one segment, and its state. A read at QUORUM may lack a batch that is not on all replicas yet, but have
// later ones. Such gaps are detected, and the span is read again serially.
func (l *Log) read(ctx context.Context, k timeline.Key, segment uint64, s span) (entries []timeline.Entry, at state, err error) {
	var parts bool
	err = parallel(2, func(i int) (err error) {
		if i == 0 {
			entries, parts, err = l.rows(ctx, k, segment, s, false)
		} else {
			at, err = l.readState(ctx, k, segment, false)
		}
		return err
	})
	if err == nil && (parts || !whole(k, entries, &at, s)) {
		if at, err = l.readState(ctx, k, segment, true); err == nil {
			entries, _, err = l.rows(ctx, k, segment, s, true)
		}
	}
	return entries, at, err
}

// whole reports whether entries are a complete span: all seqs of a conversation from the head to the tail, and the predecessor of each
// inbox entry.
func whole(k timeline.Key, entries []timeline.Entry, at *state, s span) bool {
	low, high := max(s.from, at.tail.FirstSeq, at.first), min(s.to, at.tail.Seq)
	if at.version == 0 || low > high {
		return true
	}
	n := len(entries)
	if n == 0 {
		return s.limit == 0 || k.Kind == timeline.Inbox && (s.to < at.tail.Seq || at.first > at.tail.Seq)
	}
	rising := entries
	if s.back {
		rising = slices.Clone(entries)
		slices.Reverse(rising)
	}
	if k.Kind == timeline.Inbox {
		for i := 1; i < n; i++ {
			if rising[i].Prev != rising[i-1].Seq {
				return false
			}
		}
		return rising[n-1].Seq == at.tail.Seq || s.to < at.tail.Seq || !s.back && n == s.limit || rising[n-1].Seq > at.tail.Seq
	}
	// Below the head there are only kept entries.
	i := 0
	for i < n && rising[i].Seq < low {
		i++
	}
	if i == n {
		return n == s.limit && !s.back
	}
	if (i > 0 || !s.back || n < s.limit) && rising[i].Seq != low {
		return false
	}
	for ; i < n-1; i++ {
		if rising[i+1].Seq != rising[i].Seq+1 {
			return false
		}
	}
	return rising[n-1].Seq >= high || !s.back && n == s.limit
}

// Read returns entries above after, ascending.
func (l *Log) Read(ctx context.Context, k timeline.Key, after uint64, limit int) ([]timeline.Entry, error) {
	if after >= math.MaxInt64 || limit <= 0 {
		return nil, ctx.Err()
	}
	firsts, err := l.firsts(ctx, k, false)
	if err != nil {
		return nil, err
	}
	var all []timeline.Entry
	for segment := segmentOf(firsts, after+1); ; segment++ {
		entries, at, err := l.read(ctx, k, segment, span{from: after + 1, to: math.MaxInt64, limit: limit - len(all)})
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if len(all) >= limit || !at.sealed {
			return all, nil
		}
		if int(segment)+1 >= len(firsts) {
			if firsts, err = l.firsts(ctx, k, true); err != nil || int(segment)+1 >= len(firsts) {
				return all, err
			}
		}
	}
}

// ReadBackward returns entries below before, descending.
func (l *Log) ReadBackward(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	if before == 1 || limit <= 0 {
		return nil, ctx.Err()
	}
	to := min(before-1, math.MaxInt64) // 0 becomes the maximum
	newest, err := l.newestSegment(ctx, k)
	if err != nil || newest.version == 0 {
		return nil, err
	}
	firsts, err := l.firsts(ctx, k, false)
	if err != nil {
		return nil, err
	}
	var all []timeline.Entry
	for segment := int64(min(segmentOf(firsts, to), newest.segment)); segment >= 0 && len(all) < limit; segment-- {
		entries, _, err := l.read(ctx, k, uint64(segment), span{from: 0, to: to, limit: limit - len(all), back: true})
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// Get returns the entries of refs, in the order of refs.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return l.GetLimited(ctx, refs, math.MaxInt)
}

// GetLimited is Get with a limit on the bytes.
func (l *Log) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	var all []timeline.Entry
	for group := range slices.Chunk(refs, maxParallel) {
		found := make([][]timeline.Entry, len(group))
		err := parallel(len(group), func(i int) (err error) {
			found[i], err = l.get(ctx, group[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, entries := range found {
			for i := range entries {
				bytes -= len(entries[i].Payload)
			}
			all = append(all, entries...)
		}
		if bytes < 0 && len(all) > 1 {
			return nil, timeline.ErrTooLarge
		}
	}
	return all, nil
}

// get reads one ref, which may span several segments.
func (l *Log) get(ctx context.Context, r timeline.Ref) ([]timeline.Entry, error) {
	firsts, err := l.firsts(ctx, r.Key, false)
	if err != nil {
		return nil, err
	}
	var all []timeline.Entry
	for segment := segmentOf(firsts, r.From); ; segment++ {
		entries, at, err := l.read(ctx, r.Key, segment, span{from: r.From, to: r.To, limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		if !at.sealed || at.tail.Seq >= r.To {
			return all, nil
		}
		if int(segment)+1 >= len(firsts) {
			if firsts, err = l.firsts(ctx, r.Key, true); err != nil || int(segment)+1 >= len(firsts) {
				return all, err
			}
		}
	}
}

// Tail of a timeline.
func (l *Log) Tail(ctx context.Context, k timeline.Key) (timeline.Tail, error) {
	s, err := l.newestSegment(ctx, k)
	return s.tail, err
}

// Tails returns the tails of timelines. Each is in a different partition, so each needs a query.
func (l *Log) Tails(ctx context.Context, keys []timeline.Key) ([]timeline.Tail, error) {
	tails := make([]timeline.Tail, len(keys))
	var failed atomic.Bool
	err := parallel(len(keys), func(i int) (err error) {
		if failed.Load() { // skip the others
			return nil
		}
		if tails[i], err = l.Tail(ctx, keys[i]); err != nil {
			failed.Store(true)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return tails, nil
}

// knownBuckets is the number of partitions of the list of timelines.
const knownBuckets = 16

func (l *Log) registerKey(ctx context.Context, k timeline.Key) error {
	return l.query(ctx, insertKnown, l.options.Store, int8(k.Kind), int16(k.Hash()%knownBuckets), int64(k.ID)).Exec()
}

// Keys returns keys of a kind, ascending. A key is listed shortly before it has its first entry.
func (l *Log) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	if above >= math.MaxInt64 {
		return nil, ctx.Err()
	}
	found := make([][]timeline.Key, knownBuckets)
	err := parallel(knownBuckets, func(i int) error {
		var n int64
		it := l.query(ctx, selectKnown, l.options.Store, int8(kind), int16(i), int64(above), min(limit, math.MaxInt32)).Iter()
		for it.Scan(&n) {
			found[i] = append(found[i], timeline.Key{Kind: kind, ID: uint64(n)})
		}
		return it.Close()
	})
	keys := slices.Concat(found...)
	slices.SortFunc(keys, func(a, b timeline.Key) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return keys[:min(len(keys), limit)], err
}
