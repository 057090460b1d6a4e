package operation

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Videos tells what is made of them.
type Videos interface {
	Pipeline(ctx context.Context, video uint64) (*operationv1.VideoPipeline, error)
}

// GetVideoPipeline gives the graph of what is made of a video.
func (s *Service) GetVideoPipeline(ctx context.Context, _ id.Caller, r *operationv1.GetVideoPipelineRequest) (*operationv1.VideoPipeline, error) {
	return s.deps.Videos.Pipeline(ctx, r.Video)
}
