package feed

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
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

// readersAmong returns those of some users who may see a post, as of a transaction.
func (s *Service) readersAmong(ctx context.Context, tx *sql.Tx, p *post, users []id.User) ([]id.User, error) {
	friends, blocked, err := s.deps.Graph.FriendsAndBlocks(ctx, tx, p.author, users)
	if err != nil {
		return nil, err
	}
	names := map[id.User]bool{}
	if p.audience == feedv1.Audience_AUDIENCE_CHOSEN || p.audience == feedv1.Audience_AUDIENCE_EXCEPT {
		marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT member FROM feed_audiences WHERE post = $1 AND member IN (`+marks+`)`, append([]any{int64(p.id)}, args...)...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var u id.User
			err := rows.Scan(&u)
			names[u] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(users, func(u id.User) bool { return u != p.author && (blocked[u] || !isFor(p, friends[u], names[u])) }), nil
}
