package detail

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Counts returns a number for those of some posts that have one, as of a transaction.
type Counts func(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error)

// maxAtOnce bounds the subjects of one statement.
const maxAtOnce = 500

// AddToPosts sets the counts of posts, and of those that they show, and what the reader has done with them. They are as of one moment after the posts.
func (s *Service) AddToPosts(ctx context.Context, reader id.User, posts []*feedv1.Post) error {
	var list []*feedv1.Post
	for _, p := range posts {
		if p == nil {
			continue
		}
		if list = append(list, p); p.Reposted != nil {
			list = append(list, p.Reposted)
		}
	}
	return inChunks(ctx, s, list, func(tx *sql.Tx, some []*feedv1.Post) error { return s.addToPosts(ctx, tx, reader, some) })
}

// AddToComments sets the likes of comments, and whether the reader likes them.
func (s *Service) AddToComments(ctx context.Context, reader id.User, comments []*commentv1.Comment) error {
	return inChunks(ctx, s, comments, func(tx *sql.Tx, list []*commentv1.Comment) error {
		ids := make([]uint64, len(list))
		for i, c := range list {
			ids[i] = c.Id
		}
		counters := s.deps.Counters.In(tx)
		likes, err := counters.Counts(ctx, counter.CommentLikes, ids)
		if err != nil {
			return err
		}
		liked, err := counters.Contains(ctx, counter.CommentLikes, reader, ids)
		if err != nil {
			return err
		}
		for i, c := range list {
			if !c.Deleted {
				c.Likes, c.Liked = count(likes[i]), liked[i]
			}
		}
		return nil
	})
}

// inChunks calls do for chunks of a list, in one snapshot.
func inChunks[T any](ctx context.Context, s *Service, list []T, do func(tx *sql.Tx, some []T) error) error {
	if len(list) == 0 {
		return nil
	}
	return s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		for some := range slices.Chunk(list, maxAtOnce) {
			if err := do(tx, some); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) addToPosts(ctx context.Context, tx *sql.Tx, reader id.User, list []*feedv1.Post) error {
	ids := make([]uint64, len(list))
	for i, p := range list {
		ids[i] = p.Id
	}
	counters := s.deps.Counters.In(tx)
	likes, err := counters.Counts(ctx, counter.PostLikes, ids)
	if err != nil {
		return err
	}
	favourites, err := counters.Counts(ctx, counter.PostFavourites, ids)
	if err != nil {
		return err
	}
	liked, err := counters.Contains(ctx, counter.PostLikes, reader, ids)
	if err != nil {
		return err
	}
	favourited, err := counters.Contains(ctx, counter.PostFavourites, reader, ids)
	if err != nil {
		return err
	}
	views, err := counters.Views(ctx, counter.PostViews, ids)
	if err != nil {
		return err
	}
	comments, err := s.deps.Comments(ctx, tx, ids)
	if err != nil {
		return err
	}
	reposts, err := s.deps.Reposts(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i, p := range list {
		p.Likes, p.Favourites, p.Views, p.Liked, p.Favourited = count(likes[i]), count(favourites[i]), count(views[i]), liked[i], favourited[i]
		p.Comments, p.Reposts = comments[p.Id], reposts[p.Id]
	}
	return nil
}

func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
