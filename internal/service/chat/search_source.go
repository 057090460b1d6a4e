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

// ConversationsOf returns at most limit conversations after one that a user is or was in, or has imported entries in, in the order of their ids.
func (s *Service) ConversationsOf(ctx context.Context, u id.User, after id.Conversation, limit int) ([]id.Conversation, error) {
	found, err := s.querySeqs(ctx, `SELECT conversation FROM (SELECT conversation FROM members WHERE member = $1 AND conversation > $2 ORDER BY conversation LIMIT $3) AS m
		UNION SELECT conversation FROM (SELECT conversation FROM imported_authors WHERE author = $1 AND conversation > $2 ORDER BY conversation LIMIT $3) AS a ORDER BY conversation LIMIT $3`, int64(u), int64(after), limit)
	list := make([]id.Conversation, len(found))
	for i, c := range found {
		list[i] = id.Conversation(c)
	}
	return list, err
}

// DirectWith returns the one-to-one conversation of two users, 0 if there is none.
func (s *Service) DirectWith(ctx context.Context, a, b id.User) (id.Conversation, error) {
	return s.findDirect(ctx, a, b)
}
