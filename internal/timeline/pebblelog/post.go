package pebblelog

import (
	"context"
	"errors"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/timeline"
)

func stripeOf(k timeline.Key) uint { return uint(k.Hash() % tailStripes) }

// Take has nothing to do: one process alone has the store open, so every partition is this log's.
func (l *Log) Take(ctx context.Context, _ uint16) error { return ctx.Err() }

// Post appends to derived timelines, without a sync.
func (l *Log) Post(ctx context.Context, posts []timeline.Post) error {
	if err := ctx.Err(); err != nil {
		return err
	}
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
	for h := held; h != 0; h &= h - 1 { // rising, so that two posts never wait for each other
		s := &l.stripes[bits.TrailingZeros64(h)]
		s.mu.Lock()
		shrink(s.tails, l.options.cachedKeys)
	}
	defer func() {
		for h := held; h != 0; h &= h - 1 {
			l.stripes[bits.TrailingZeros64(h)].mu.Unlock()
		}
	}()
	var r rows
	r.arena = make([]byte, 0, len(posts)*48)
	for i := range posts {
		p := &posts[i]
		tails := l.stripes[stripeOf(p.Key)].tails
		prev, ok := tails[p.Key.ID]
		if !ok {
			t, err := l.inboxTail(p.Key)
			if err != nil {
				l.forget(posts[:i])
				return err
			}
			prev = t.Seq
		}
		p.Prev = prev
		p.Seq = max(prev, uint64(l.epoch)<<32) + 1
		tails[p.Key.ID] = p.Seq
		r.arena = entryKey(r.arena, p.Key, p.Seq)
		r.key()
		r.arena = appendPost(r.arena, p.Seq, p.Prev, p.Payload)
		r.value()
	}
	r.sort()
	if err := r.commit(l.db, pebble.NoSync); err != nil {
		l.forget(posts)
		return err
	}
	l.loose.Store(true)
	return nil
}

// forget drops cached tails after a failure; the caller holds the stripes.
func (l *Log) forget(posts []timeline.Post) {
	for i := range posts {
		delete(l.stripes[stripeOf(posts[i].Key)].tails, posts[i].Key.ID)
	}
}

func (l *Log) inboxTail(k timeline.Key) (timeline.Tail, error) {
	var t timeline.Tail
	key, err := l.last(entryKey(nil, k, 0), after(k))
	if err != nil {
		return t, err
	}
	if key != nil {
		t.Seq = seqOf(key)
	}
	if t.Head, err = l.head(k); err != nil {
		return t, err
	}
	t.Seq = max(t.Seq, t.Head-min(t.Head, 1))
	return t, nil
}

// Trim drops a derived timeline's entries below head.
func (l *Log) Trim(_ context.Context, k timeline.Key, head uint64) error {
	if l.full.Load() {
		return timeline.ErrStorageFull
	}
	s := &l.stripes[stripeOf(k)]
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := l.head(k)
	if err != nil || head <= old {
		return err
	}
	b := l.db.NewBatch()
	defer b.Close()
	var r rows
	r.arena = timelineKey(r.arena, rowHead, k)
	r.key()
	r.arena = appendUvarint(r.arena, head)
	r.value()
	if err := errors.Join(b.DeleteRange(entryKey(nil, k, 0), entryKey(nil, k, head), nil), b.Set(r.arena[:r.at[0].value], r.arena[r.at[0].value:], nil)); err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}
