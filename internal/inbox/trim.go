package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// trimAll trims again and again, until ctx ends.
func (s *Service) trimAll(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
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

// trim goes over all streams and drops what is too old or too much. A stream that cannot be trimmed does not keep the others; a store
// that is away keeps them all: to ask it for each would have it answer nothing else when it comes back.
func (s *Service) trim(ctx context.Context) error {
	above := uint64(0)
	for {
		keys, err := s.deps.Log.Keys(ctx, timeline.Inbox, above, 1000)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			above = k.ID
			if s.deps.Mine != nil && !s.deps.Mine(k.Partition()) {
				continue
			}
			if err := s.trimOne(ctx, k); err != nil {
				if ctx.Err() != nil || errs.Is(err, errs.Unavailable) {
					return err
				}
				s.deps.Logger.Error("a user's stream was not trimmed", "user", k.ID, "error", err)
			}
		}
	}
}

func (s *Service) trimOne(ctx context.Context, key timeline.Key) error {
	tail, err := s.deps.Log.Tail(ctx, key)
	if err != nil {
		return err
	}
	head, err := s.headFor(ctx, key, tail, s.config.KeepEntries)
	if err != nil {
		return err
	}
	head = max(head, tail.Head)
	cutoff := s.deps.Clock.Now().Add(-s.config.KeepFor).UnixMilli()
	for at := head - min(head, 1); ; {
		entries, err := s.deps.Log.Read(ctx, key, at, atOnce)
		if err != nil {
			return err
		}
		fresh := false
		for i := range entries {
			ms, err := s.timeOf(ctx, &entries[i])
			if errors.Is(err, timeline.ErrDamaged) { // it goes with what is before and behind it
				ms, err = 0, nil
			}
			if err != nil {
				return err
			}
			if fresh = ms >= cutoff; fresh {
				break
			}
			at = entries[i].Seq
			if ms != 0 { // events have no time: those before an old message go with it
				head = at + 1
			}
		}
		if fresh || len(entries) < atOnce {
			break
		}
	}
	if head <= tail.Head {
		return nil
	}
	return s.deps.Log.Trim(ctx, key, min(head, tail.Seq)) // the newest stays: it tells a device where the stream is
}

// headFor gives the head that leaves a stream with the newest keep entries, 0 where it has no more. Positions count the entries
// of an epoch, and the first of an epoch names the last of the one before.
func (s *Service) headFor(ctx context.Context, key timeline.Key, tail timeline.Tail, keep int) (uint64, error) {
	left := uint64(keep)
	for last := tail.Seq; last != 0 && last >= tail.Head; {
		epoch, n := last>>32, last&(1<<32-1)
		if n > left {
			if head := last - left + 1; head > max(tail.Head, 1) {
				return head, nil
			}
			return 0, nil
		}
		left -= n
		first, err := s.deps.Log.Read(ctx, key, epoch<<32, 1)
		if err != nil || len(first) == 0 {
			return 0, err
		}
		last = first[0].Prev
	}
	return 0, nil
}

// timeOf an inbox entry's message, 0 of an event. Of a message that expired it may be too late.
func (s *Service) timeOf(ctx context.Context, e *timeline.Entry) (int64, error) {
	c, seq, _, err := message.DecodeInbox(e.Payload)
	if err != nil || seq == 0 {
		return 0, err
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(c), From: seq, To: seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) == 0 {
		if err := s.expired(ctx, c, seq); err != nil {
			return 0, err
		}
		// It is older than what came after it. Where nothing did, nobody knows.
		if entries, err = s.deps.Log.Read(ctx, logOf(c), seq, 1); err != nil || len(entries) == 0 {
			return 0, err
		}
	}
	var m message.Entry
	if err := m.Decode(entries[0].Payload); err != nil {
		return 0, err
	}
	return m.ID.Ms(), nil
}
