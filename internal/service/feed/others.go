package feed

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// VisiblePosts returns those of some posts that a reader may see, as the reader sees them, as of a transaction.
func (s *Service) VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]*feedv1.Post, error) {
	found, err := s.visiblePosts(ctx, tx, reader, list)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ids := slices.Sorted(maps.Keys(found))
	posts := make([]*post, len(ids))
	for i, n := range ids {
		posts[i] = found[n]
	}
	views, err := s.views(ctx, tx, reader, posts)
	if err != nil {
		return nil, err
	}
	byID := make(map[uint64]*feedv1.Post, len(views))
	for _, v := range views {
		byID[v.Id] = v
	}
	return byID, nil
}

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

// Authors returns the authors of those of some posts that exist, whoever may see them.
func (s *Service) Authors(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]id.User, error) {
	authors := make(map[uint64]id.User, len(list))
	if len(list) == 0 {
		return authors, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE id IN (`+marks+`)`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		var author id.User
		err := rows.Scan(&n, &author)
		authors[n] = author
		return err
	})
	return authors, err
}

// PublicPosts returns those of some posts that are for everyone, and neither deleted nor hidden, and when they were created.
func (s *Service) PublicPosts(ctx context.Context, tx *sql.Tx, list []uint64) (createdMs map[uint64]int64, err error) {
	createdMs = make(map[uint64]int64, len(list))
	if len(list) == 0 {
		return createdMs, nil
	}
	marks, args := sqldb.Placeholders(2, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT id, created_ms FROM feed_posts WHERE audience = $1 AND NOT deleted AND NOT hidden AND id IN (`+marks+`)`,
		append([]any{int64(feedv1.Audience_AUDIENCE_EVERYONE)}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		var created int64
		err := rows.Scan(&n, &created)
		createdMs[n] = created
		return err
	})
	return createdMs, err
}

// addRepost counts a repost that was published (1) or deleted (-1), in the transaction of that. Each node has a row of its own, as for comments.
func (s *Service) addRepost(ctx context.Context, tx *sql.Tx, original uint64, add int) error {
	if original == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO feed_repost_counts AS c (post, bucket, n) VALUES ($1, $2, $3) ON CONFLICT (post, bucket) DO UPDATE SET n = c.n + excluded.n`,
		int64(original), s.bucket(), add)
	return err
}

// CountReposts returns how many reposts some posts have; those without one may be left out.
func (s *Service) CountReposts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]uint32, error) {
	counts := make(map[uint64]uint32, len(list))
	if len(list) == 0 {
		return counts, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT post, CAST(SUM(n) AS BIGINT) FROM feed_repost_counts WHERE post IN (`+marks+`) GROUP BY post`, args...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var post uint64
		var n int64
		err := rows.Scan(&post, &n)
		counts[post] = uint32(max(n, 0)) // it is below only if a row was changed by hand
		return err
	})
	return counts, err
}
