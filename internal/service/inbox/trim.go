package inbox

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// runTrim trims periodically until ctx ends.
func (s *Service) runTrim(ctx context.Context) {
	tick := time.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.trim(ctx); err != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("inboxes could not be trimmed", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// trim drops entries of all streams that are too old or too many. A stream that fails does not stop the others. If the store is
// unavailable, trim stops, so that the store is not flooded when it returns.
func (s *Service) trim(ctx context.Context) error {
	above := uint64(0)
	for {
		keys, err := s.deps.Log.Keys(ctx, timeline.Inbox, above, 1000)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			above = k.ID
			if s.deps.OwnsPartition != nil && !s.deps.OwnsPartition(k.Partition()) {
				continue
			}
			if err := s.trimStream(ctx, k); err != nil {
				if ctx.Err() != nil || errs.Is(err, errs.Unavailable) {
					return err
				}
				s.deps.Logger.Error("a user's stream could not be trimmed", "user", k.ID, "error", err)
			}
		}
	}
}

func (s *Service) trimStream(ctx context.Context, key timeline.Key) error {
	tail, err := s.deps.Log.Tail(ctx, key)
	if err != nil {
		return err
	}
	maxAge, maxEntries := s.config.MaxAge, s.config.MaxEntries
	switch {
	case key.IsEventStream():
		maxAge, maxEntries = s.config.EventsMaxAge, math.MaxInt
	case id.User(key.ID).IsCanary():
		maxEntries = canaryMaxEntries
	}
	head, err := s.firstSeqToKeep(ctx, key, tail, maxEntries)
	if err != nil {
		return err
	}
	head = max(head, tail.FirstSeq)
	cutoff := s.deps.Clock.Now().Add(-maxAge).UnixMilli()
	for at := head - min(head, 1); ; {
		entries, last, err := s.readForTrim(ctx, key, at)
		if err != nil {
			return err
		}
		fresh := false
		for i := range entries {
			ms, err := s.entryTime(ctx, &entries[i])
			if errors.Is(err, timeline.ErrCorrupt) { // it is trimmed together with later entries
				ms, err = 0, nil
			}
			if err != nil {
				return err
			}
			if fresh = ms >= cutoff; fresh {
				break
			}
			at = entries[i].Seq
			if ms != 0 { // events have no time: they are trimmed with the next old message
				head = at + 1
			}
		}
		if fresh || last {
			break
		}
	}
	if head <= tail.FirstSeq {
		return nil
	}
	return s.deps.Log.Trim(ctx, key, min(head, tail.Seq)) // keep the newest: a device needs the position of the tail
}

// canaryMaxEntries of the stream of a delivery canary, which nobody reads again: those of three hours.
const canaryMaxEntries = 1000

// Bounds of what trimming skips: corrupt entries in a row, of which an engine may store a few dozen in one row, and epochs.
const (
	maxCorruptRun    = 1 << 12
	maxCorruptEpochs = 16
)

// readForTrim returns entries of a stream above a seq, and whether no others follow. It skips corrupt entries, which are trimmed together with
// later ones: otherwise a stream with one at its beginning would never be trimmed by age.
func (s *Service) readForTrim(ctx context.Context, key timeline.Key, above uint64) (entries []timeline.Entry, last bool, err error) {
	entries, err = s.deps.Log.Read(ctx, key, above, readBatch)
	if !errors.Is(err, timeline.ErrCorrupt) {
		return entries, len(entries) < readBatch, err
	}
	from := above
	for range maxCorruptEpochs {
		for skip := uint64(0); skip <= maxCorruptRun; skip = max(1, 2*skip) {
			if entries, err = s.deps.Log.Read(ctx, key, from+skip, 1); !errors.Is(err, timeline.ErrCorrupt) {
				return entries, len(entries) == 0, err
			}
		}
		from = (from>>32 + 1) << 32 // the beginning of the next epoch
	}
	return nil, true, err
}

// firstSeqToKeep returns the first seq of a stream's newest keep entries, 0 if it has no more. Positions count the entries of an epoch,
// and the first entry of an epoch names the last of the one before.
func (s *Service) firstSeqToKeep(ctx context.Context, key timeline.Key, tail timeline.Tail, keep int) (uint64, error) {
	left := uint64(keep)
	for last := tail.Seq; last != 0 && last >= tail.FirstSeq; {
		epoch, n := last>>32, last&(1<<32-1)
		if n > left {
			if head := last - left + 1; head > max(tail.FirstSeq, 1) {
				return head, nil
			}
			return 0, nil
		}
		left -= n
		first, err := s.deps.Log.Read(ctx, key, epoch<<32, 1)
		if errors.Is(err, timeline.ErrCorrupt) || err == nil && len(first) == 0 { // trimmed once enough entries follow it
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		last = first[0].Prev
	}
	return 0, nil
}

// entryTime returns the time of a stream entry's message, 0 for an event. For an expired message it may be too late.
func (s *Service) entryTime(ctx context.Context, e *timeline.Entry) (int64, error) {
	c, seq, _, err := message.DecodeInbox(e.Payload)
	if err != nil || seq == 0 {
		return 0, err
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: seq, To: seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) == 0 {
		if err := s.checkExpired(ctx, c, seq); err != nil {
			return 0, err
		}
		// The next entry is an upper bound of its time. Without one the time is unknown.
		if entries, err = s.deps.Log.Read(ctx, conversationKey(c), seq, 1); err != nil || len(entries) == 0 {
			return 0, err
		}
	}
	var m message.Entry
	if err := m.Decode(entries[0].Payload); err != nil {
		return 0, err
	}
	return m.ID.Ms(), nil
}
