package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// AddTrace adds to the trace of the entry at seq what is known of its conversation, and whether the message was edited or recalled. It checks no
// permission. Without a seq it only checks that the conversation exists.
func (s *Service) AddTrace(ctx context.Context, c id.Conversation, seq uint64, trace *chatv1.MessageTrace) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil || seq == 0 {
		return err
	}
	trace.Kind, trace.Large = st.kind, st.large != 0 && seq > st.large
	key := messageKey{c, seq}
	states, err := s.messageStates(ctx, []messageKey{key})
	if err != nil {
		return err
	}
	m := states[key]
	for _, change := range []struct {
		seq  uint64
		kind chatv1.TraceStepKind
		by   id.User
	}{{m.editSeq, chatv1.TraceStepKind_TRACE_STEP_KIND_EDITED, 0}, {m.recallSeq, chatv1.TraceStepKind_TRACE_STEP_KIND_RECALLED, m.recalledBy}} {
		if change.seq == 0 {
			continue
		}
		ms, err := s.entryMs(ctx, c, change.seq)
		if err != nil {
			return err
		}
		trace.Steps = append(trace.Steps, &chatv1.TraceStep{Kind: change.kind, TimeUs: ms * 1000, User: uint64(change.by)})
	}
	return nil
}

// entryMs is the time of an entry; 0 if it has expired.
func (s *Service) entryMs(ctx context.Context, c id.Conversation, seq uint64) (int64, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(c), From: seq, To: seq}})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return message.StoredMs(entries[0].Payload), nil
}
