package chat

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Summary returns what a search index has of a conversation: its kind, title and parent, and whether it is dissolved. It checks no permission.
func (s *Service) Summary(ctx context.Context, c id.Conversation) (*chatv1.Conversation, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	v := st.snapshot()
	v.Parent = uint64(st.parentID)
	return v, nil
}

// DirectWith returns the one-to-one conversation of two users, 0 if there is none.
func (s *Service) DirectWith(ctx context.Context, a, b id.User) (id.Conversation, error) {
	return s.findDirect(ctx, a, b)
}
