package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// notify tells those of some users who may see a new post that it is in their home timelines. Nobody else learns of it.
func (s *Service) notify(ctx context.Context, p *post, users []id.User) error {
	if s.deps.Notify == nil || p.hidden || len(users) == 0 {
		return nil
	}
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		users, err = s.readersAmong(ctx, tx, p, users)
		return err
	})
	if err != nil || len(users) == 0 {
		return err
	}
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Posts: []*gatewayv1.PostHint{{Post: p.id, Author: uint64(p.author)}}})
	if err == nil {
		s.deps.Notify(users, frame)
	}
	return err
}
