package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Indexed is what a search index has of a post.
type Indexed struct {
	ID        uint64
	Author    id.User
	Content   *feedv1.PostContent // with the users whom the audience names
	CreatedMs int64
}

// ToIndex returns those of some posts that are neither deleted nor hidden, whoever may see them, as of a transaction. The list is not empty.
func (s *Service) ToIndex(ctx context.Context, tx *sql.Tx, list []uint64) ([]Indexed, error) {
	posts, err := getPosts(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	var out []Indexed
	for _, n := range list {
		p := posts[n]
		if p == nil || p.deleted || p.hidden {
			continue
		}
		content, err := contentOf(p.content)
		if err != nil {
			return nil, err
		}
		out = append(out, Indexed{ID: n, Author: p.author, Content: content, CreatedMs: p.created})
	}
	return out, nil
}

// PostsAfter returns the ids of at most limit posts above one, ascending, those that are deleted or hidden among them.
func (s *Service) PostsAfter(ctx context.Context, after uint64, limit int) (list []uint64, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM feed_posts WHERE id > $1 ORDER BY id LIMIT $2`, int64(after), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		err := rows.Scan(&n)
		list = append(list, n)
		return err
	})
	return list, err
}
