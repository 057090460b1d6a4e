package pebblelog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/timeline"
)

// open makes an iterator over [lower, upper) that shows nothing of k above its durable tail, limit.
func (l *Log) open(k timeline.Key, lower, upper []byte) (it *pebble.Iterator, limit uint64, err error) {
	limit = math.MaxUint64
	if k.Kind == timeline.Conversation {
		s := l.shardOf(k)
		s.pendingMu.RLock()
		defer s.pendingMu.RUnlock()
		if t, ok := s.pending[k]; ok {
			limit = t.Seq
		}
	}
	it, err = l.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	return it, limit, err
}

func after(k timeline.Key) []byte {
	return timelineKey(nil, rowEntry, timeline.Key{Kind: k.Kind, ID: k.ID + 1})
}

func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[10:]) }

// arena holds the bytes of entries that are read together. What has been given stays as it is.
type arena struct {
	free []byte
	next int // size of the next piece
}

const (
	firstPiece = 4 << 10
	mostPiece  = 256 << 10
)

func (a *arena) copy(b []byte) []byte {
	if len(b) > len(a.free) {
		a.next = min(max(2*a.next, firstPiece), mostPiece)
		a.free = make([]byte, max(a.next, len(b)))
	}
	n := copy(a.free, b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// entryOf copies the entry under the iterator.
func entryOf(it *pebble.Iterator, a *arena) (timeline.Entry, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return timeline.Entry{}, damage(err)
	}
	seq := seqOf(it.Key())
	e, err := decodeEntry(seq, a.copy(value))
	if err != nil {
		return e, fmt.Errorf("entry %d of %c%d: %w", seq, it.Key()[1], binary.BigEndian.Uint64(it.Key()[2:]), err)
	}
	return e, nil
}

// damage tells a block that is damaged from other failures.
func damage(err error) error {
	if pebble.IsCorruptionError(err) {
		return errors.Join(timeline.ErrDamaged, err)
	}
	return err
}

// Read gives entries above after, rising.
func (l *Log) Read(ctx context.Context, k timeline.Key, above uint64, limit int) ([]timeline.Entry, error) {
	if above == math.MaxUint64 {
		return nil, ctx.Err()
	}
	it, top, err := l.open(k, entryKey(nil, k, above+1), after(k))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var entries []timeline.Entry
	var kept arena
	for ok := it.First(); ok && len(entries) < limit; ok = it.Next() {
		if seqOf(it.Key()) > top {
			break
		}
		e, err := entryOf(it, &kept)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
		if len(entries)%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return entries, damage(it.Error())
}

// ReadBack gives entries below before, falling.
func (l *Log) ReadBack(ctx context.Context, k timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	upper := after(k)
	if before != 0 {
		upper = entryKey(nil, k, before)
	}
	it, top, err := l.open(k, entryKey(nil, k, 0), upper)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var entries []timeline.Entry
	var kept arena
	for ok := it.Last(); ok && len(entries) < limit; ok = it.Prev() {
		if seqOf(it.Key()) > top {
			continue
		}
		e, err := entryOf(it, &kept)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
		if len(entries)%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return entries, damage(it.Error())
}

// Get gives the entries of refs, in the order of refs.
func (l *Log) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	return l.GetMost(ctx, refs, math.MaxInt)
}

// GetMost is Get within a bound. It reads in the order of the keys, with one iterator.
func (l *Log) GetMost(ctx context.Context, refs []timeline.Ref, bytes int) ([]timeline.Entry, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	type want struct {
		ref   timeline.Ref
		first int // place of its first entry in found
	}
	wants := make([]want, 0, len(refs))
	total := 0
	for _, s := range l.shards {
		s.pendingMu.RLock()
	}
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: []byte{rowEntry}, UpperBound: []byte{rowEntry + 1}})
	for _, r := range refs {
		if t, ok := l.shardOf(r.Key).pending[r.Key]; ok && r.Key.Kind == timeline.Conversation {
			r.To = min(r.To, t.Seq)
		}
		if r.From > r.To {
			continue
		}
		wants = append(wants, want{r, total})
		total += int(r.To - r.From + 1)
	}
	for _, s := range l.shards {
		s.pendingMu.RUnlock()
	}
	if err != nil {
		return nil, err
	}
	defer it.Close()
	slices.SortFunc(wants, func(a, b want) int {
		if a.ref.Key != b.ref.Key {
			if a.ref.Key.Kind != b.ref.Key.Kind {
				return int(a.ref.Key.Kind) - int(b.ref.Key.Kind)
			}
			if a.ref.Key.ID < b.ref.Key.ID {
				return -1
			}
			return 1
		}
		if a.ref.From < b.ref.From {
			return -1
		}
		return 1
	})
	found := make([]timeline.Entry, total)
	var kept arena
	var key []byte
	got := 0
	for n, w := range wants {
		for i := range w.ref.To - w.ref.From + 1 {
			seq := w.ref.From + i
			key = entryKey(key[:0], w.ref.Key, seq)
			at := it.Valid() && string(it.Key()) == string(key)
			if !at && it.Valid() {
				at = it.Next() && string(it.Key()) == string(key)
			}
			if !at && !(it.SeekGE(key) && string(it.Key()) == string(key)) {
				continue
			}
			e, err := entryOf(it, &kept)
			if err != nil {
				return nil, err
			}
			got++
			if bytes -= len(e.Payload); bytes < 0 && got > 1 {
				return nil, timeline.ErrTooMuch
			}
			found[w.first+int(i)] = e
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return slices.DeleteFunc(found, func(e timeline.Entry) bool { return e.Seq == 0 }), damage(it.Error())
}

// Tail of a timeline.
func (l *Log) Tail(_ context.Context, k timeline.Key) (timeline.Tail, error) {
	if k.Kind == timeline.Inbox {
		return l.inboxTail(k)
	}
	t, err := l.durableTail(k)
	if err == nil {
		t.Head, err = l.head(k)
	}
	return t, err
}

// Tails of timelines.
func (l *Log) Tails(ctx context.Context, keys []timeline.Key) (tails []timeline.Tail, err error) {
	tails = make([]timeline.Tail, len(keys))
	for i, k := range keys {
		if tails[i], err = l.Tail(ctx, k); err != nil {
			return nil, err
		}
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return tails, nil
}

// durableTail of a conversation, without its head.
func (l *Log) durableTail(k timeline.Key) (timeline.Tail, error) {
	s := l.shardOf(k)
	s.pendingMu.RLock()
	defer s.pendingMu.RUnlock()
	if t, ok := s.pending[k]; ok {
		return t, nil
	}
	return l.storedTail(k)
}

// head of a timeline, 0 where nothing was trimmed or expired.
func (l *Log) head(k timeline.Key) (uint64, error) { return l.getUvarint(timelineKey(nil, rowHead, k)) }

func (l *Log) storedTail(k timeline.Key) (timeline.Tail, error) {
	var t timeline.Tail
	v, ok, err := l.get(nil, timelineKey(nil, rowTail, k))
	if err != nil || !ok {
		return t, err
	}
	return t, uvarints(v, &t.Seq, &t.Counted, &t.Access)
}

// LastBy gives an author's latest entry. Where that is in the batch now in commit, it waits for its sync.
func (l *Log) LastBy(ctx context.Context, k timeline.Key, author uint64) (seq, counted uint64, err error) {
	s := l.shardOf(k)
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

// TokenSeq gives the seq that is stored for a token in a key, 0 for none. It is for looking at a store that nobody writes.
func (l *Log) TokenSeq(_ context.Context, k timeline.Key, t *timeline.Token) (uint64, error) {
	return l.getUvarint(tokenKey(nil, t, k))
}

// HighestCounter of a device. It may count what is not synced yet: a number that is left out does no harm.
func (l *Log) HighestCounter(_ context.Context, sender, dev uint64) (uint64, error) {
	return l.highestCounter(device{sender, dev})
}

func (l *Log) highestCounter(d device) (uint64, error) {
	lower := tokenKey(nil, &timeline.Token{Sender: d.sender, Device: d.device, Counter: 1}, timeline.Key{})
	upper := append(slices.Clone(lower[:17]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	key, err := l.last(lower, upper)
	if err != nil || key == nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(key[17:]), nil
}

// Keys gives keys of a kind, rising.
func (l *Log) Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error) {
	row := byte(rowEntry)
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
	return keys, it.Error()
}
