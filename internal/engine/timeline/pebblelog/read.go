package pebblelog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// newIter returns an iterator over [lower, upper), and the durable tail of k as the limit up to which the caller may read.
func (l *Log) newIter(k timeline.Key, lower, upper []byte) (it *pebble.Iterator, limit uint64, err error) {
	limit = math.MaxUint64
	if k.Kind != timeline.Inbox {
		s := l.committer
		s.pendingMu.RLock()
		defer s.pendingMu.RUnlock()
		if t, ok := s.pending[k]; ok {
			limit = t.Seq
		}
	}
	it, err = l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	return it, limit, err
}

func entriesEnd(k timeline.Key) []byte {
	return timelineKey(nil, rowEntry, timeline.Key{Kind: k.Kind, ID: k.ID + 1})
}

func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[10:]) }

// arena allocates the payloads of entries that are read together.
type arena struct {
	free []byte
	next int // size of the next chunk
}

const (
	minChunk = 4 << 10
	maxChunk = 256 << 10
)

func (a *arena) copy(b []byte) []byte {
	if len(b) > len(a.free) {
		a.next = min(max(2*a.next, minChunk), maxChunk)
		a.free = make([]byte, max(a.next, len(b)))
	}
	n := copy(a.free, b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// appendRow copies the entries of the row under the iterator.
func appendRow(entries []timeline.Entry, it *pebble.Iterator, a *arena) ([]timeline.Entry, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return entries, corruption(err)
	}
	seq := seqOf(it.Key())
	entries, err = decodeEntries(entries, seq, a.copy(value))
	if err != nil {
		return entries, fmt.Errorf("entry %d of %c%d: %w", seq, it.Key()[1], binary.BigEndian.Uint64(it.Key()[2:]), err)
	}
	return entries, nil
}

// corruption adds timeline.ErrCorrupt to errors of corrupt blocks.
func corruption(err error) error {
	if pebble.IsCorruptionError(err) {
		return errors.Join(timeline.ErrCorrupt, err)
	}
	return err
}

// Read returns entries above a seq, in ascending order.
func (l *Log) Read(ctx context.Context, k timeline.Key, above uint64, limit int) ([]timeline.Entry, error) {
	if above == math.MaxUint64 {
		return nil, ctx.Err()
	}
	it, top, err := l.newIter(k, entryKey(nil, k, above+1), entriesEnd(k))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var entries []timeline.Entry
	var kept arena
	for ok, rows := it.First(), 1; ok && len(entries) < limit; ok, rows = it.Next(), rows+1 {
		if seqOf(it.Key()) > top {
			break
		}
		if entries, err = appendRow(entries, it, &kept); err != nil {
			return nil, err
		}
		if rows == 1 { // the first row may begin earlier
			entries = slices.DeleteFunc(entries, func(e timeline.Entry) bool { return e.Seq <= above })
		}
		if rows%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return entries[:min(len(entries), max(limit, 0))], corruption(it.Error())
}

// ReadBackward returns entries below a seq, in descending order.
func (l *Log) ReadBackward(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	upper := entriesEnd(k)
	if before == 0 {
		before = math.MaxUint64
	} else if k.Kind != timeline.Inbox {
		upper = entryKey(nil, k, before)
	}
	it, top, err := l.newIter(k, entryKey(nil, k, 0), upper)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	// The row of an inbox at or above before may begin below it.
	ok := k.Kind == timeline.Inbox && before != math.MaxUint64 && it.SeekGE(entryKey(nil, k, before)) || it.Last()
	var entries, row []timeline.Entry
	var kept arena
	for rows := 1; ok && len(entries) < limit; ok, rows = it.Prev(), rows+1 {
		if seqOf(it.Key()) > top {
			continue
		}
		if row, err = appendRow(row[:0], it, &kept); err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(row) {
			if e.Seq < before && len(entries) < limit {
				entries = append(entries, e)
			}
		}
		if rows%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return entries, corruption(it.Error())
}

// Get returns the entries of refs, in the order of refs.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return l.GetLimited(ctx, refs, math.MaxInt)
}

// GetLimited is Get with a limit on the payloads. It reads in the order of the keys, with one iterator.
func (l *Log) GetLimited(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	it, ranges, total, err := l.openRanges(refs)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	slices.SortFunc(ranges, func(a, b getRange) int {
		return cmp.Or(cmp.Compare(a.ref.Key.Kind, b.ref.Key.Kind), cmp.Compare(a.ref.Key.ID, b.ref.Key.ID), cmp.Compare(a.ref.From, b.ref.From))
	})
	found := make([]timeline.Entry, total)
	var kept arena
	var key []byte
	var row []timeline.Entry
	got := 0
	for n, r := range ranges {
		for seq := r.ref.From; seq <= r.ref.To && seq != 0; seq++ {
			key = entryKey(key[:0], r.ref.Key, seq)
			if !seekForward(it, key) {
				if it.Error() != nil { // the next seek would clear it
					return nil, corruption(it.Error())
				}
				continue
			}
			if row, err = appendRow(row[:0], it, &kept); err != nil {
				return nil, err
			}
			for _, e := range row {
				if e.Seq < seq || e.Seq > r.ref.To {
					continue
				}
				got++
				if bytes -= len(e.Payload); bytes < 0 && got > 1 {
					return nil, timeline.ErrTooLarge
				}
				found[r.first+int(e.Seq-r.ref.From)], seq = e, e.Seq
			}
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return slices.DeleteFunc(found, func(e timeline.Entry) bool { return e.Seq == 0 }), corruption(it.Error())
}

// getRange is a ref without entries that are not durable yet. first is the index of its first entry in the result.
type getRange struct {
	ref   timeline.Ref
	first int
}

// openRanges returns an iterator over entries and, as of the same moment, the durable part of refs. total is the number of their seqs.
func (l *Log) openRanges(refs []timeline.Ref) (it *pebble.Iterator, ranges []getRange, total int, err error) {
	l.committer.pendingMu.RLock()
	defer l.committer.pendingMu.RUnlock()
	ranges = make([]getRange, 0, len(refs))
	for _, r := range refs {
		if t, ok := l.committer.pending[r.Key]; ok && r.Key.Kind != timeline.Inbox {
			r.To = min(r.To, t.Seq)
		}
		if r.From > r.To {
			continue
		}
		ranges = append(ranges, getRange{r, total})
		total += int(r.To - r.From + 1)
	}
	it, err = l.db.NewIter(&pebble.IterOptions{LowerBound: []byte{rowEntry}, UpperBound: []byte{rowEntry + 1}})
	return it, ranges, total, err
}

// seekForward moves the iterator to the row that would have an entry, and returns whether there is one: for an inbox the first at or above its
// key, which may be of a later entry. Adjacent rows cost a step, not a seek.
func seekForward(it *pebble.Iterator, key []byte) bool {
	at := func() bool { return bytes.Equal(it.Key(), key) }
	if it.Valid() && (at() || it.Next() && at()) {
		return true
	}
	return it.SeekGE(key) && (at() || timeline.Kind(key[1]) == timeline.Inbox && bytes.Equal(it.Key()[:10], key[:10]))
}

// Tail of a timeline.
func (l *Log) Tail(_ context.Context, k timeline.Key) (timeline.Tail, error) {
	if k.Kind == timeline.Inbox {
		return l.inboxTail(k)
	}
	t, err := l.durableTail(k)
	if err == nil {
		t.FirstSeq, err = l.firstSeq(k)
	}
	return t, err
}

// durableTail returns the tail of a conversation, without FirstSeq.
func (l *Log) durableTail(k timeline.Key) (timeline.Tail, error) {
	s := l.committer
	s.pendingMu.RLock()
	defer s.pendingMu.RUnlock()
	if t, ok := s.pending[k]; ok {
		return t, nil
	}
	return l.storedTail(k)
}

// firstSeq of a timeline, 0 where nothing was trimmed or expired.
func (l *Log) firstSeq(k timeline.Key) (uint64, error) {
	return l.getUvarint(timelineKey(nil, rowFirstSeq, k))
}

func (l *Log) storedTail(k timeline.Key) (timeline.Tail, error) {
	var t timeline.Tail
	v, ok, err := l.get(nil, timelineKey(nil, rowTail, k))
	if err != nil || !ok {
		return t, err
	}
	return t, uvarints(v, &t.Seq, &t.Counted, &t.Access)
}

// LatestByAuthor returns an author's latest entry. If that is in the batch in commit, it waits for the sync.
func (l *Log) LatestByAuthor(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	s := l.committer
	s.pendingMu.RLock()
	tail, touched := s.pending[k]
	stored := s.stored
	v, ok, err := l.get(nil, authorKey(nil, k, author))
	s.pendingMu.RUnlock()
	if err == nil && ok {
		err = uvarints(v, &seq, &counted)
	}
	if err != nil {
		return 0, 0, err
	}
	if touched && seq > tail.Seq {
		select {
		case <-stored:
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	return seq, counted, nil
}

// TokenSeq returns the seq that is stored for a token in a key, or 0. Nobody may write the store meanwhile.
func (l *Log) TokenSeq(_ context.Context, k timeline.Key, t *timeline.Token) (uint64, error) {
	return l.getUvarint(tokenKey(nil, t, k))
}

// HighestCounter returns the highest counter of a device. It may include unsynced entries: a skipped number does no harm.
func (l *Log) HighestCounter(_ context.Context, sender, dev uint64) (uint64, error) {
	return l.highestCounter(device{sender, dev}, false)
}

// Keys returns keys of a kind, in ascending order.
func (l *Log) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	return l.keysOf(ctx, rowEntry, kind, above, limit)
}

// keysOf returns keys that have rows of a letter.
func (l *Log) keysOf(ctx context.Context, row byte, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: []byte{row, byte(kind)}, UpperBound: []byte{row, byte(kind) + 1}})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var keys []timeline.Key
	for len(keys) < limit && above != math.MaxUint64 && it.SeekGE(timelineKey(nil, row, timeline.Key{Kind: kind, ID: above + 1})) {
		above = binary.BigEndian.Uint64(it.Key()[2:])
		keys = append(keys, timeline.Key{Kind: kind, ID: above})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return keys, corruption(it.Error())
}

// TailKeys returns conversations as Keys does, but from their tails: it finds conversations whose entries are corrupt.
func (l *Log) TailKeys(ctx context.Context, above uint64, limit int) ([]timeline.Key, error) {
	return l.keysOf(ctx, rowTail, timeline.Conversation, above, limit)
}
