package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
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
	}
}
