package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
)

// Feed has posts and timelines.
type Feed interface {
	Publish(ctx context.Context, by id.User, r *feedv1.PublishRequest) (*feedv1.Post, error)
	GetPost(ctx context.Context, reader id.User, post uint64) (*feedv1.Post, error)
	EditPost(ctx context.Context, by id.User, r *feedv1.EditPostRequest) (*feedv1.Post, error)
	DeletePost(ctx context.Context, by id.User, post uint64) error
	ListVersions(ctx context.Context, by id.User, r *feedv1.ListVersionsRequest) (*feedv1.ListVersionsResponse, error)
	ListPosts(ctx context.Context, reader id.User, r *feedv1.ListPostsRequest) (*feedv1.ListPostsResponse, error)
	GetFeedProfile(ctx context.Context, r *feedv1.GetFeedProfileRequest) (*feedv1.FeedProfile, error)
	HomeTimeline(ctx context.Context, reader id.User, r *feedv1.HomeTimelineRequest) (*feedv1.HomeTimelineResponse, error)
	HidePost(ctx context.Context, r *feedv1.HidePostRequest) error
	GetFeedAuthor(ctx context.Context, r *feedv1.GetFeedAuthorRequest) (*feedv1.FeedAuthor, error)
	SetFeedPlan(ctx context.Context, r *feedv1.SetFeedPlanRequest) (*feedv1.FeedPlan, error)
	GetFeedPlan(ctx context.Context) (*feedv1.GetFeedPlanResponse, error)
}

func (s *Server) feeds() []method {
	f := s.deps.Feed
	return []method{
		newMethod(s, feedv1connect.FeedServicePublishProcedure, userAccess, withPosts(s, byUser(f.Publish), onePost)),
		newMethod(s, feedv1connect.FeedServiceGetPostProcedure, userAccess, withPosts(s, func(ctx context.Context, c id.Caller, r *feedv1.GetPostRequest) (*feedv1.Post, error) {
			return f.GetPost(ctx, c.User, r.Post)
		}, onePost)),
		newMethod(s, feedv1connect.FeedServiceGetPostPageProcedure, userAccess, byUser(s.deps.Details.PostPage)),
		newMethod(s, feedv1connect.FeedServiceEditPostProcedure, userAccess, withPosts(s, byUser(f.EditPost), onePost)),
		newMethod(s, feedv1connect.FeedServiceDeletePostProcedure, userAccess, func(ctx context.Context, c id.Caller, r *feedv1.DeletePostRequest) (*feedv1.DeletePostResponse, error) {
			return &feedv1.DeletePostResponse{}, f.DeletePost(ctx, c.User, r.Post)
		}),
		newMethod(s, feedv1connect.FeedServiceListVersionsProcedure, userAccess, byUser(f.ListVersions)),
		newMethod(s, feedv1connect.FeedServiceListPostsProcedure, userAccess, withPosts(s, byUser(f.ListPosts), (*feedv1.ListPostsResponse).GetPosts)),
		newMethod(s, feedv1connect.FeedServiceGetFeedProfileProcedure, userAccess, func(ctx context.Context, _ id.Caller, r *feedv1.GetFeedProfileRequest) (*feedv1.FeedProfile, error) {
			return f.GetFeedProfile(ctx, r)
		}),
		newMethod(s, feedv1connect.FeedServiceHomeTimelineProcedure, userAccess, withPosts(s, byUser(f.HomeTimeline), (*feedv1.HomeTimelineResponse).GetPosts)),
		newMethod(s, feedv1connect.FeedAdminServiceHidePostProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *feedv1.HidePostRequest) (*feedv1.HidePostResponse, error) {
			return &feedv1.HidePostResponse{}, f.HidePost(ctx, r)
		}),
		newMethod(s, feedv1connect.FeedAdminServiceGetFeedAuthorProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *feedv1.GetFeedAuthorRequest) (*feedv1.FeedAuthor, error) {
			return f.GetFeedAuthor(ctx, r)
		}),
		newMethod(s, feedv1connect.FeedAdminServiceSetFeedPlanProcedure, serverAccess, s.setFeedPlan),
		newMethod(s, feedv1connect.FeedAdminServiceGetFeedPlanProcedure, serverAccess, func(ctx context.Context, _ id.Caller, _ *feedv1.GetFeedPlanRequest) (*feedv1.GetFeedPlanResponse, error) {
			return f.GetFeedPlan(ctx)
		}),
	}
}
