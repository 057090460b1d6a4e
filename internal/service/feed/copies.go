package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	postCopies   = 16 << 20 // bytes
	postCopyEach = 120
	countCopies  = 4 << 20
)

// copies of rows of an embedded database. They are shared, and must not be changed.
type copies struct {
	posts   *sqldb.Copies[uint64, *post]
	reposts *sqldb.Copies[uint64, uint32]
}

func (s *Service) openCopies(ctx context.Context) (err error) {
	key := func(n uint64) []int64 { return []int64{int64(n)} }
	if s.copies.posts, err = sqldb.NewCopies(ctx, s.deps.DB, sqldb.CopiesOf[uint64, *post]{Name: "posts", Tables: map[string][]string{"feed_posts": {"id"}},
		Key: key, Size: func(p *post) int { return postCopyEach + len(p.content) }, MaxBytes: postCopies}); err != nil {
		return err
	}
	s.copies.reposts, err = sqldb.NewCopies(ctx, s.deps.DB, sqldb.CopiesOf[uint64, uint32]{Name: "repost_counts", Tables: map[string][]string{"feed_repost_counts": {"post"}}, Key: key, MaxBytes: countCopies})
	return err
}

// posts returns those of some posts that exist, as of a transaction. They must not be changed. The list is not empty.
func (s *Service) posts(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]*post, error) {
	return s.copies.posts.Get(tx, list, func(missing []uint64) (map[uint64]*post, error) { return getPosts(ctx, tx, missing) })
}
