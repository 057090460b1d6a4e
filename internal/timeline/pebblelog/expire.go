package pebblelog

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Expire drops a conversation's entries below head but for those kept, without a sync: what a power cut brings back expires
// again. The head is in the same batch, so an entry that is gone is always below it. On a full disk it goes on while half of
// the reserve is free: it gives space back.
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
	s := &l.stripes[stripeOf(k)] // two of one conversation do not meet
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := l.head(k)
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
		return b.DeleteRange(entryKey(nil, k, from), entryKey(nil, k, to), nil)
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
	if err := errors.Join(drop(head), b.Set(timelineKey(nil, rowHead, k), appendUvarint(nil, head), nil)); err != nil {
		return err
	}
	l.loose.Store(true)
	return b.Commit(pebble.NoSync)
}

// free bytes of the disk; 0 where nobody knows.
func (l *Log) free() uint64 {
	free, err := l.options.Free()
	if err != nil {
		return 0
	}
	return free
}

// giveBack has what was expired on a full disk leave it: Pebble drops whole tables once the removal is in a table itself, and
// as nothing is written, it would not be for long. done is closed when it is; nil where there is nothing to do, or not the room.
func (l *Log) giveBack() (done <-chan struct{}) {
	if !l.full.Load() || !l.loose.Load() || l.free() < leastFree+l.db.Metrics().WAL.Size {
		return nil
	}
	l.loose.Store(false)
	done, err := l.db.AsyncFlush()
	if err != nil {
		l.options.Logger.Warn("what has expired could not be tidied away", "error", err)
	}
	return done
}
