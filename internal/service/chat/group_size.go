package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// resizeGroup makes a group large or small if its size crossed the bound.
func (s *Service) resizeGroup(ctx context.Context, c id.Conversation) error {
	_, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		switch n := len(st.activeMembers); {
		case st.kind == thread: // always in the inboxes of its followers, who are few
		case st.large == 0 && (st.channel || n > s.config.LargeGroupAbove):
			return &chatv1.Control{Action: chatv1.Control_ACTION_LARGE}, nil
		case st.large != 0 && !st.channel && n < s.config.LargeGroupAbove*9/10:
			return &chatv1.Control{Action: chatv1.Control_ACTION_SMALL}, nil
		}
		return nil, nil
	})
	return err
}

// resizeGroupAfter resizes a group after a change at seq, 0 for none. If that fails, the change is kept, and the next change tries again.
func (s *Service) resizeGroupAfter(ctx context.Context, c id.Conversation, seq uint64) {
	if seq == 0 {
		return
	}
	if err := s.resizeGroup(ctx, c); err != nil {
		s.deps.Logger.Warn("a group was not resized; its next change tries again", "conversation", c, "error", err)
	}
}
