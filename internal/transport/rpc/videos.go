package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/video/v1/videov1connect"
)

// Videos makes videos from uploads.
type Videos interface {
	CreateVideo(ctx context.Context, by id.User, r *videov1.CreateVideoRequest) (*videov1.Video, error)
	GetVideo(ctx context.Context, by id.User, r *videov1.GetVideoRequest) (*videov1.Video, error)
	ListVideos(ctx context.Context, by id.User, r *videov1.ListVideosRequest) (*videov1.ListVideosResponse, error)
	DeleteVideo(ctx context.Context, by id.User, video uint64) error
	RetryVideo(ctx context.Context, by id.User, r *videov1.RetryVideoRequest) (*videov1.Video, error)
	RequestRendition(ctx context.Context, by id.User, r *videov1.RequestRenditionRequest) (*videov1.Video, error)
	SetWatchPosition(ctx context.Context, by id.User, r *videov1.SetWatchPositionRequest) error
	ListWatched(ctx context.Context, by id.User, r *videov1.ListWatchedRequest) (*videov1.ListWatchedResponse, error)
	RemoveWatched(ctx context.Context, by id.User, video uint64) error
	ClearWatched(ctx context.Context, by id.User) error
	SetSubtitles(ctx context.Context, by id.User, r *videov1.SetSubtitlesRequest) (*videov1.Video, error)
	RemoveSubtitles(ctx context.Context, by id.User, r *videov1.RemoveSubtitlesRequest) (*videov1.Video, error)
}

func (s *Server) videos() []method {
	v := s.deps.Videos
	return []method{
		newMethod(s, videov1connect.VideoServiceCreateVideoProcedure, userAccess, byUser(v.CreateVideo)),
		newMethod(s, videov1connect.VideoServiceGetVideoProcedure, userAccess, byUser(v.GetVideo)),
		newMethod(s, videov1connect.VideoServiceListVideosProcedure, userAccess, byUser(v.ListVideos)),
		newMethod(s, videov1connect.VideoServiceDeleteVideoProcedure, userAccess, func(ctx context.Context, c id.Caller, r *videov1.DeleteVideoRequest) (*videov1.DeleteVideoResponse, error) {
			return &videov1.DeleteVideoResponse{}, v.DeleteVideo(ctx, c.User, r.Video)
		}),
		newMethod(s, videov1connect.VideoServiceRetryVideoProcedure, userAccess, byUser(v.RetryVideo)),
		newMethod(s, videov1connect.VideoServiceRequestRenditionProcedure, userAccess, byUser(v.RequestRendition)),
		newMethod(s, videov1connect.VideoServiceSetWatchPositionProcedure, userAccess, func(ctx context.Context, c id.Caller, r *videov1.SetWatchPositionRequest) (*videov1.SetWatchPositionResponse, error) {
			return &videov1.SetWatchPositionResponse{}, v.SetWatchPosition(ctx, c.User, r)
		}),
		newMethod(s, videov1connect.VideoServiceListWatchedProcedure, userAccess, withPosts(s, byUser(v.ListWatched), watchedPosts)),
		newMethod(s, videov1connect.VideoServiceRemoveWatchedProcedure, userAccess, func(ctx context.Context, c id.Caller, r *videov1.RemoveWatchedRequest) (*videov1.RemoveWatchedResponse, error) {
			return &videov1.RemoveWatchedResponse{}, v.RemoveWatched(ctx, c.User, r.Video)
		}),
		newMethod(s, videov1connect.VideoServiceClearWatchedProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *videov1.ClearWatchedRequest) (*videov1.ClearWatchedResponse, error) {
			return &videov1.ClearWatchedResponse{}, v.ClearWatched(ctx, c.User)
		}),
		newMethod(s, videov1connect.VideoServiceSetSubtitlesProcedure, userAccess, byUser(v.SetSubtitles)),
		newMethod(s, videov1connect.VideoServiceRemoveSubtitlesProcedure, userAccess, byUser(v.RemoveSubtitles)),
	}
}

// watchedPosts are the posts by which videos were watched.
func watchedPosts(r *videov1.ListWatchedResponse) (posts []*feedv1.Post) {
	for _, w := range r.Videos {
		if w.Post != nil {
			posts = append(posts, w.Post)
		}
	}
	return posts
}
