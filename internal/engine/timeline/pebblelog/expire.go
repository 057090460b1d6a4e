package pebblelog

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Expire removes a conversation's entries below a seq, except for kept ones, without a sync: entries that reappear after a power cut expire
// again. The new first seq is in the same batch, so every removed entry is below it. On a full disk Expire works while half of the
// reserve is free, since it frees space.
func (l *Log) Expire(ctx context.Context, k timeline.Key, head uint64, keep []uint64) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.options.ReadOnly:
		return timeline.ErrClosed
	case l.broken.Load():
		return errBroken
	case l.full.Load() && l.free() < l.options.Reserve/2:
		return timeline.ErrStorageFull
	}
	tail, err := l.durableTail(k)
	if err != nil {
		return err
	}
	head = min(head, tail.Seq+1)
	s := &l.stripes[stripeOf(k)] // serializes calls for one conversation
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := l.firstSeq(k)
	if err != nil || head <= max(old, 1) {
		return err
	}
	b := l.db.NewBatch()
	defer b.Close()
	from := old
	drop := func(to uint64) error {
		if from >= to {
			return nil
		}
		return deleteEntries(b, k, from, to)
	}
	for _, seq := range keep {
		if seq < from || seq >= head {
			continue
		}
		if err := drop(seq); err != nil {
			return err
		}
		from = seq + 1
	}
	if err := errors.Join(drop(head), b.Set(timelineKey(nil, rowFirstSeq, k), appendUvarint(nil, head), nil)); err != nil {
		return err
	}
	l.unsynced.Store(true)
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	l.feeds.expired(k, head)
	return nil
}

// fewEntries are deleted one by one.
const fewEntries = 16

// deleteEntries deletes the entries of a conversation from one to before another. Each new iterator reads the range deletions of all timelines that were not flushed yet, which costs
// more than a few single ones: thousands of readers whose windows are built would make each other's pages slow.
func deleteEntries(b *pebble.Batch, k timeline.Key, from, to uint64) error {
	if to-from > fewEntries {
		return b.DeleteRange(entryKey(nil, k, from), entryKey(nil, k, to), nil)
	}
	for seq := from; seq < to; seq++ {
		if err := b.Delete(entryKey(nil, k, seq), nil); err != nil {
			return err
		}
	}
	return nil
}

// free returns the free bytes of the disk, or 0 if unknown.
func (l *Log) free() uint64 {
	free, err := l.options.Free()
	if err != nil {
		return 0
	}
	return free
}

// flushExpired frees the space of expired entries on a full disk. Pebble drops whole tables only after it has flushed the range deletion, and
// without writes that would take long. done is closed after the flush. It is nil if there is nothing to flush, or no space for it.
func (l *Log) flushExpired() (done <-chan struct{}) {
	if !l.full.Load() || !l.unsynced.Load() || l.free() < minFree+l.db.Metrics().WAL.Size {
		return nil
	}
	l.unsynced.Store(false)
	done, err := l.db.AsyncFlush()
	if err != nil {
		l.options.Logger.Warn("expired entries could not be flushed", "error", err)
	}
	return done
}
