package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// ToIndex returns those of some posts that are neither deleted nor hidden, and not for their authors only, whoever else may see them, with the users whom their audiences name, as of a transaction. The
// list is not empty.
func (s *Service) ToIndex(ctx context.Context, tx *sql.Tx, list []uint64) ([]*feedv1.Post, error) {
	posts, err := getPosts(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	var out []*feedv1.Post
	for _, n := range list {
		p := posts[n]
		if p == nil || p.deleted || p.hidden || p.audience == onlyAuthor {
			continue
		}
		v, err := p.view(p.author)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// PostsAfter returns the ids of at most limit posts above one, ascending, those that are deleted or hidden among them.
func (s *Service) PostsAfter(ctx context.Context, after uint64, limit int) ([]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM feed_posts WHERE id > $1 ORDER BY id LIMIT $2`, int64(after), limit)
	return sqldb.Column[uint64](rows, err)
}

// NewestPosts returns the ids of at most limit posts, the newest first, those that are deleted or hidden among them.
func (s *Service) NewestPosts(ctx context.Context, limit int) ([]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM feed_posts ORDER BY id DESC LIMIT $1`, limit)
	return sqldb.Column[uint64](rows, err)
}
