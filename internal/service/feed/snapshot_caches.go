package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	postCacheBytes    = 16 << 20 // bytes
	postOverheadBytes = 120
	countCacheBytes   = 4 << 20
)

// snapshotCaches keep rows of an embedded database. They are shared, and must not be changed.
type snapshotCaches struct {
	posts   *sqldb.SnapshotCache[uint64, *post]
	reposts *sqldb.SnapshotCache[uint64, uint32]
}

func (s *Service) openSnapshotCaches(ctx context.Context) (err error) {
	key := func(n uint64) []int64 { return []int64{int64(n)} }
	if s.cached.posts, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[uint64, *post]{Name: "posts", Tables: map[string][]string{"feed_posts": {"id"}},
		Key: key, Size: func(p *post) int { return postOverheadBytes + len(p.content) }, MaxBytes: postCacheBytes}); err != nil {
		return err
	}
	s.cached.reposts, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[uint64, uint32]{Name: "repost_counts", Tables: map[string][]string{"feed_repost_counts": {"post"}}, Key: key, MaxBytes: countCacheBytes})
	return err
}

// posts returns those of some posts that exist, as of a transaction. They must not be changed. The list is not empty.
func (s *Service) posts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]*post, error) {
	return s.cached.posts.Get(tx, list, func(missing []uint64) (map[uint64]*post, error) { return getPosts(ctx, tx, missing) })
}
