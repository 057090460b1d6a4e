package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Engagement has likes, favourites and views, and the posts that are popular.
type Engagement interface {
	Like(ctx context.Context, by id.User, r *engagementv1.LikeRequest) error
	Unlike(ctx context.Context, by id.User, r *engagementv1.UnlikeRequest) error
	ListLikers(ctx context.Context, reader id.User, r *engagementv1.ListLikersRequest) (*engagementv1.ListLikersResponse, error)
	ListLikes(ctx context.Context, reader id.User, r *engagementv1.ListLikesRequest) (*engagementv1.PostList, error)
	Favourite(ctx context.Context, by id.User, post uint64) error
	Unfavourite(ctx context.Context, by id.User, post uint64) error
	ListFavourites(ctx context.Context, reader id.User, r *engagementv1.ListFavouritesRequest) (*engagementv1.PostList, error)
	RecordViews(ctx context.Context, by id.User, r *engagementv1.RecordViewsRequest) error
	ListViews(ctx context.Context, reader id.User, r *engagementv1.ListViewsRequest) (*engagementv1.PostList, error)
	ClearViews(ctx context.Context, by id.User) error
	ListHotPosts(ctx context.Context, reader id.User, r *engagementv1.ListHotPostsRequest) (*engagementv1.ListHotPostsResponse, error)
}

// Details adds counts, and what the reader has done, to posts and comments.
type Details interface {
	AddToPosts(ctx context.Context, reader id.User, posts []*feedv1.Post) error
	AddToComments(ctx context.Context, reader id.User, comments []*commentv1.Comment) error
	PostPage(ctx context.Context, reader id.User, r *feedv1.GetPostPageRequest) (*feedv1.PostPage, error)
}

// call is what a method of users does.
type call[Req, Res any] func(ctx context.Context, c id.Caller, r *Req) (*Res, error)

// withPosts adds details to the posts of answers.
func withPosts[Req, Res any](s *Server, do call[Req, Res], posts func(*Res) []*feedv1.Post) call[Req, Res] {
	return func(ctx context.Context, c id.Caller, r *Req) (*Res, error) {
		res, err := do(ctx, c, r)
		if err == nil {
			err = s.deps.Details.AddToPosts(ctx, c.User, posts(res))
		}
		return res, err
	}
}

// withComments adds details to the comments of answers.
func withComments[Req, Res any](s *Server, do call[Req, Res], comments func(*Res) []*commentv1.Comment) call[Req, Res] {
	return func(ctx context.Context, c id.Caller, r *Req) (*Res, error) {
		res, err := do(ctx, c, r)
		if err == nil {
			err = s.deps.Details.AddToComments(ctx, c.User, comments(res))
		}
		return res, err
	}
}

func onePost(p *feedv1.Post) []*feedv1.Post { return []*feedv1.Post{p} }

func oneComment(c *commentv1.Comment) []*commentv1.Comment { return []*commentv1.Comment{c} }

func listedPosts(r *engagementv1.PostList) (posts []*feedv1.Post) {
	for _, p := range r.Posts {
		posts = append(posts, p.Post)
	}
	return posts
}

func hotPosts(r *engagementv1.ListHotPostsResponse) (posts []*feedv1.Post) {
	for _, p := range r.Posts {
		posts = append(posts, p.Post)
	}
	return posts
}

// done makes what a call does of a function that answers nothing.
func done[Req, Res any](do func(ctx context.Context, by id.User, r *Req) error) call[Req, Res] {
	return func(ctx context.Context, c id.Caller, r *Req) (*Res, error) { return new(Res), do(ctx, c.User, r) }
}

func (s *Server) engagements() []method {
	e := s.deps.Engagement
	return []method{
		newMethod(s, engagementv1connect.EngagementServiceLikeProcedure, userAccess, done[engagementv1.LikeRequest, engagementv1.LikeResponse](e.Like)),
		newMethod(s, engagementv1connect.EngagementServiceUnlikeProcedure, userAccess, done[engagementv1.UnlikeRequest, engagementv1.UnlikeResponse](e.Unlike)),
		newMethod(s, engagementv1connect.EngagementServiceListLikersProcedure, userAccess, byUser(e.ListLikers)),
		newMethod(s, engagementv1connect.EngagementServiceListLikesProcedure, userAccess, withPosts(s, byUser(e.ListLikes), listedPosts)),
		newMethod(s, engagementv1connect.EngagementServiceFavouriteProcedure, userAccess, func(ctx context.Context, c id.Caller, r *engagementv1.FavouriteRequest) (*engagementv1.FavouriteResponse, error) {
			return &engagementv1.FavouriteResponse{}, e.Favourite(ctx, c.User, r.Post)
		}),
		newMethod(s, engagementv1connect.EngagementServiceUnfavouriteProcedure, userAccess, func(ctx context.Context, c id.Caller, r *engagementv1.UnfavouriteRequest) (*engagementv1.UnfavouriteResponse, error) {
			return &engagementv1.UnfavouriteResponse{}, e.Unfavourite(ctx, c.User, r.Post)
		}),
		newMethod(s, engagementv1connect.EngagementServiceListFavouritesProcedure, userAccess, withPosts(s, byUser(e.ListFavourites), listedPosts)),
		newMethod(s, engagementv1connect.EngagementServiceRecordViewsProcedure, userAccess, done[engagementv1.RecordViewsRequest, engagementv1.RecordViewsResponse](e.RecordViews)),
		newMethod(s, engagementv1connect.EngagementServiceListViewsProcedure, userAccess, withPosts(s, byUser(e.ListViews), listedPosts)),
		newMethod(s, engagementv1connect.EngagementServiceClearViewsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *engagementv1.ClearViewsRequest) (*engagementv1.ClearViewsResponse, error) {
			return &engagementv1.ClearViewsResponse{}, e.ClearViews(ctx, c.User)
		}),
		newMethod(s, engagementv1connect.EngagementServiceListHotPostsProcedure, userAccess, withPosts(s, byUser(e.ListHotPosts), hotPosts)),
	}
}
