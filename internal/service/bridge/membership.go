package bridge

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// MayOwn reports whether a user may own a group. The bot of a bridge and people of other systems may not: whoever runs the other system would decide about the group.
func (s *Service) MayOwn(ctx context.Context, u id.User) (bool, error) {
	var may bool
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM bridges WHERE bot = $1) AND NOT EXISTS (SELECT 1 FROM bridge_users WHERE member = $1)`, int64(u)).Scan(&may)
	return may, err
}

// membersOf returns which members of a group are the bot of a bridge, which comes first, or people of its other system. People of other systems need not be members to write; admins may have invited some.
func (s *Service) membersOf(ctx context.Context, b *bridgev1.Bridge, c id.Conversation) ([]id.User, error) {
	members, err := s.deps.Chat.GroupMembers(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []id.User
	if bot := id.User(b.Bot); slices.Contains(members, bot) {
		found = append(found, bot)
	}
	for some := range slices.Chunk(members, batch) {
		marks, args := sqldb.Placeholders(2, some, func(u id.User) int64 { return int64(u) })
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM bridge_users WHERE bridge = $1 AND member IN (`+marks+`)`, append([]any{b.Name}, args...)...)
		people, err := sqldb.Column[id.User](rows, err)
		if err != nil {
			return nil, err
		}
		found = append(found, people...)
	}
	return found, nil
}

// leave makes the bot of a bridge and the people of its other system leave a group, in their own names.
func (s *Service) leave(ctx context.Context, b *bridgev1.Bridge, c id.Conversation) error {
	users, err := s.membersOf(ctx, b, c)
	for i := 0; err == nil && i < len(users); i++ {
		err = s.deps.Chat.EndMembership(ctx, users[i], c)
	}
	if errs.Is(err, errs.NotFound) { // the group is gone
		err = nil
	}
	return err
}
