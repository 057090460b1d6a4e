package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// addRepost counts a repost that was published (1), deleted (-1), or that only its author sees (0), in the transaction of that. Each node has a row of its own, as for comments.
func (s *Service) addRepost(ctx context.Context, tx *sql.Tx, original uint64, add int) error {
	if original == 0 || add == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO feed_repost_counts AS c (post, bucket, n) VALUES ($1, $2, $3) ON CONFLICT (post, bucket) DO UPDATE SET n = c.n + excluded.n`,
		int64(original), s.bucket(), add)
	return err
}

// CountReposts returns how many reposts some posts have; those without one may be left out.
func (s *Service) CountReposts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]uint32, error) {
	if len(list) == 0 {
		return map[uint64]uint32{}, nil
	}
	return s.cached.reposts.Get(tx, list, func(missing []uint64) (map[uint64]uint32, error) { return countReposts(ctx, tx, missing) })
}

func countReposts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]uint32, error) {
	counts := make(map[uint64]uint32, len(list))
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

// CountReposters returns how many users have reposted some posts; those without a repost may be left out. It reads as many entries of an index as there are reposts.
func (s *Service) CountReposters(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]uint32, error) {
	if len(list) == 0 {
		return map[uint64]uint32{}, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT repost_of, count(DISTINCT author) FROM feed_posts WHERE repost_of > 0 AND NOT deleted AND audience <> 15 AND repost_of IN (`+marks+`) GROUP BY repost_of`, args...)
	return sqldb.Pairs[uint64, uint32](rows, err)
}
