package feed

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// ReadersAmong returns those of some users who may see a post, as of a transaction; none if there is no such post.
func (s *Service) ReadersAmong(ctx context.Context, tx *sql.Tx, n uint64, users []id.User) ([]id.User, error) {
	p, err := getPost(ctx, tx, n)
	if errs.Is(err, errs.NotFound) || err == nil && (p.deleted || p.hidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.readersAmong(ctx, tx, p, users)
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
