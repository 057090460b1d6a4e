package detail

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
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
	if len(list) == 0 {
		return nil
	}
	ctx = sqldb.ShortReads(ctx)
	return s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		for some := range slices.Chunk(list, maxAtOnce) {
			if err := s.addToPosts(ctx, tx, reader, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddToPostAsOf is AddToPosts of a post, as of a transaction.
func (s *Service) AddToPostAsOf(ctx context.Context, tx *sql.Tx, reader id.User, p *feedv1.Post) error {
	list := []*feedv1.Post{p}
	if p.Reposted != nil {
		list = append(list, p.Reposted)
	}
	return s.addToPosts(ctx, tx, reader, list)
}

// AddToComments sets the likes of comments, and whether the reader likes them, as of a moment after the comments.
func (s *Service) AddToComments(ctx context.Context, reader id.User, comments []*commentv1.Comment) error {
	return addToComments(ctx, s.deps.Counters.Reads, reader, comments)
}

// AddToCommentsAsOf is AddToComments as of a transaction.
func (s *Service) AddToCommentsAsOf(ctx context.Context, tx *sql.Tx, reader id.User, comments []*commentv1.Comment) error {
	return addToComments(ctx, s.deps.Counters.In(tx), reader, comments)
}

func addToComments(ctx context.Context, counters counter.Reads, reader id.User, comments []*commentv1.Comment) error {
	for some := range slices.Chunk(comments, maxAtOnce) {
		ids := make([]uint64, len(some))
		for i, c := range some {
			ids[i] = c.Id
		}
		likes, err := counters.Figures(ctx, reader, ids, counter.Asked{Sets: [2]counter.Kind{counter.CommentLikes}})
		if err != nil {
			return err
		}
		for i, c := range some {
			if !c.Deleted {
				c.Likes, c.Liked = count(likes[i].Sizes[0]), likes[i].Member[0]
			}
		}
	}
	return nil
}

func (s *Service) addToPosts(ctx context.Context, tx *sql.Tx, reader id.User, list []*feedv1.Post) error {
	ids := make([]uint64, len(list))
	for i, p := range list {
		ids[i] = p.Id
	}
	figures, err := s.deps.Counters.In(tx).Figures(ctx, reader, ids, counter.Asked{Sets: [2]counter.Kind{counter.PostLikes, counter.PostFavourites}, Views: counter.PostViews})
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
		f := &figures[i]
		p.Likes, p.Favourites, p.Views, p.Liked, p.Favourited = count(f.Sizes[0]), count(f.Sizes[1]), count(f.Views), f.Member[0], f.Member[1]
		p.Comments, p.Reposts = comments[p.Id], reposts[p.Id]
	}
	return nil
}

func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
