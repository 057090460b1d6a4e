package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// This file has the operations on conversations that only official accounts use (docs/decisions/0087-official-accounts.md): their channel, and contents that are sent later.

// CheckContent returns why a user can send a content to nobody. It returns the form that is stored.
func (s *Service) CheckContent(u id.User, content []byte) ([]byte, error) {
	d := &message.Draft{Sender: u, ClientMsgID: "check", Content: content}
	err := s.validate(d)
	return d.Content, err
}

// FollowersAfter returns members and followers of a channel with higher ids than a user, ascending, at most limit.
func (s *Service) FollowersAfter(ctx context.Context, c id.Conversation, after id.User, limit int) ([]id.User, error) {
	users, _, err := s.channelAudiencePage(ctx, c, after, limit)
	return users, err
}

// FollowersAmong returns those of some users who are members or followers of a channel, in no order.
func (s *Service) FollowersAmong(ctx context.Context, c id.Conversation, users []id.User) (list []id.User, err error) {
	if len(users) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	seqs, err := s.querySeqs(ctx, `SELECT member FROM members WHERE conversation = $1 AND leave_seq = 0 AND member IN (`+marks+`)`, append([]any{int64(c)}, args...)...)
	for _, u := range seqs {
		list = append(list, id.User(u))
	}
	return list, err
}

// Channel returns what only the row of a channel has. There is none for another conversation.
func (s *Service) Channel(ctx context.Context, c id.Conversation) (i ChannelInfo, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT followers, coalesce(handle, '') FROM conversations WHERE id = $1 AND channel`, int64(c)).Scan(&i.Followers, &i.Handle)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoConversation
	}
	return i, err
}

// ChannelByHandle returns the channel with a handle.
func (s *Service) ChannelByHandle(ctx context.Context, handle string) (id.Conversation, error) {
	return s.conversationByHandle(ctx, handle)
}
