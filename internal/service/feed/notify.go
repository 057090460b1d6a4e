package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// notify tells those of some users for whom a new post is that it is in their home timelines. Nobody else learns of it. The users are the author, and others to
// whom the author's posts are shown.
func (s *Service) notify(ctx context.Context, p *post, users []id.User) error {
	if s.deps.Notify == nil || p.hidden || len(users) == 0 {
		return nil
	}
	if p.audience == feedv1.Audience_AUDIENCE_EVERYONE {
		return tell(s.deps.Notify, p.id, p.author, users)
	}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		users, err = s.readersAmong(ctx, tx, p, users)
		return err
	})
	if err != nil {
		return err
	}
	return tell(s.deps.Notify, p.id, p.author, users)
}

// tell sends the hint of a new post to some users.
func tell(notify func(users []id.User, frame []byte), n uint64, author id.User, users []id.User) error {
	if len(users) == 0 {
		return nil
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Posts: []*gatewayv1.PostHint{{Post: n, Author: uint64(author)}}})
	if err == nil {
		notify(users, frame)
	}
	return err
}
