package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// known returns a user who exists, or NotFound.
func (s *Service) known(ctx context.Context, u uint64) (id.User, error) {
	err := s.deps.Graph.Exist(ctx, []id.User{id.User(u)})
	if errs.Is(err, errs.NotFound) {
		err = errs.New(errs.NotFound, "no_user", "there is no such user")
	}
	return id.User(u), err
}

// ListPosts returns a page of the posts of a user that the reader may see.
func (s *Service) ListPosts(ctx context.Context, reader id.User, r *feedv1.ListPostsRequest) (*feedv1.ListPostsResponse, error) {
	author, err := s.known(ctx, r.User)
	if err != nil {
		return nil, err
	}
	out := &feedv1.ListPostsResponse{}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		p := &page{service: s, tx: tx, reader: reader, limit: outputlimit.SmallPageSize(r.Limit)}
		source := func(ctx context.Context, before uint64, n int) ([]uint64, uint64, error) {
			refs, err := pullEach(ctx, tx, []id.User{author}, before, 0, n, withoutDeleted)
			return postsOf(refs), endOf(postsOf(refs), n, 0), err
		}
		out.Posts, out.Next, err = p.fill(ctx, startOf(r.Before), source)
		return err
	})
	return out, err
}

// GetFeedProfile returns the counts of a user's profile page.
func (s *Service) GetFeedProfile(ctx context.Context, r *feedv1.GetFeedProfileRequest) (out *feedv1.FeedProfile, err error) {
	u, err := s.known(ctx, r.User)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		a, err := getAuthor(ctx, tx, u)
		if err != nil {
			return err
		}
		followers, following, err := s.deps.Graph.FollowCounts(ctx, tx, u)
		out = &feedv1.FeedProfile{Posts: a.posts, Followers: uint32(followers), Following: uint32(following)}
		return err
	})
	return out, err
}
