package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// trim goes over all streams and drops what is too old or too much.
func (s *Service) trim(ctx context.Context) error {
	above := uint64(0)
	for {
		keys, err := s.deps.Log.Keys(ctx, timeline.Inbox, above, 1000)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			if err := s.trimOne(ctx, k); err != nil {
				return err
			}
			above = k.ID
		}
	}
}

func (s *Service) trimOne(ctx context.Context, key timeline.Key) error {
	tail, err := s.deps.Log.Tail(ctx, key)
	if err != nil {
		return err
	}
	head := tail.Head
	// Within an epoch positions count entries.
	if n := tail.Seq & (1<<32 - 1); n > uint64(s.config.KeepEntries) {
		head = max(head, tail.Seq-uint64(s.config.KeepEntries))
	}
	cutoff := s.deps.Clock.Now().Add(-s.config.KeepFor).UnixMilli()
	for {
		entries, err := s.deps.Log.Read(ctx, key, head-min(head, 1), 500)
		if err != nil {
			return err
		}
		old := 0
		for i := range entries {
			ms, err := s.timeOf(ctx, &entries[i])
			if err != nil {
				return err
			}
			if ms >= cutoff {
				break
			}
			if ms != 0 { // events between old messages go with them
				old, head = i+1, entries[i].Seq+1
			}
		}
		if old < len(entries) || len(entries) == 0 {
			break
		}
	}
	if head <= tail.Head || head > tail.Seq {
		return nil
	}
	return s.deps.Log.Trim(ctx, key, head)
}

// timeOf an inbox entry's message, 0 of an event.
func (s *Service) timeOf(ctx context.Context, e *timeline.Entry) (int64, error) {
	c, seq, _, err := message.DecodeInbox(e.Payload)
	if err != nil || seq == 0 {
		return 0, err
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, From: seq, To: seq}})
	if err != nil {
		return 0, err
	}
	if len(entries) != 1 {
		return 0, errDamaged
	}
	var m message.Entry
	if err := m.Decode(entries[0].Payload); err != nil {
		return 0, err
	}
	return m.ID.Ms(), nil
}
