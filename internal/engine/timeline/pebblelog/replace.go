package pebblelog

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Replace changes the payloads of a conversation's entries, with a sync. The old bytes leave the disk with the next compaction of their range. On a full
// disk it works while half of the reserve is free, since payloads become shorter.
func (l *Log) Replace(ctx context.Context, k timeline.Key, entries []timeline.Entry) error {
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
	s := &l.stripes[stripeOf(k)] // an expiry of the same entries waits, or has deleted them before
	s.mu.Lock()
	defer s.mu.Unlock()
	b := l.db.NewBatch()
	defer b.Close()
	for i := range entries {
		if entries[i].Seq > tail.Seq {
			continue
		}
		if err := l.replaceEntry(b, k, &entries[i]); err != nil {
			return err
		}
	}
	if b.Empty() {
		return nil
	}
	return b.Commit(pebble.Sync)
}

// replaceEntry adds the new row of an entry to a batch, if the entry is stored.
func (l *Log) replaceEntry(b *pebble.Batch, k timeline.Key, e *timeline.Entry) error {
	key := entryKey(nil, k, e.Seq)
	value, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return corruption(err)
	}
	old, err := decodeEntry(e.Seq, value)
	if err = errors.Join(err, closer.Close()); err != nil {
		return err
	}
	return b.Set(key, appendEntry(nil, old.Counted, e.Payload), nil)
}
