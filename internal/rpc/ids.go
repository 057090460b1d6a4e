package rpc

import (
	"context"

	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	"github.com/rialto-im/rialto/gen/rialto/id/v1/idv1connect"
	"github.com/rialto-im/rialto/internal/id"
)

// IDs makes ids for other systems.
type IDs interface {
	Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error)
	Explain(ctx context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error)
	PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error)
	GetTag(ctx context.Context, name string) (*idv1.Tag, error)
	ListTags(ctx context.Context, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error)
	DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error)
}

// ids are numbers on which others build: who has no API key gets none, and uses none up.
func (s *Server) ids() []method {
	i := s.deps.IDs
	return []method{
		call(s, idv1connect.IDServiceNextProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.NextRequest) (*idv1.NextResponse, error) {
			return i.Next(ctx, r)
		}),
		call(s, idv1connect.IDServiceExplainProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
			return i.Explain(ctx, r)
		}),
		call(s, idv1connect.IDServicePingProcedure, servers, func(context.Context, id.Caller, *idv1.PingRequest) (*idv1.PingResponse, error) {
			return &idv1.PingResponse{}, nil
		}),
		call(s, idv1connect.IDServicePutTagProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.PutTagRequest) (*idv1.Tag, error) {
			return i.PutTag(ctx, r.Tag)
		}),
		call(s, idv1connect.IDServiceGetTagProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.GetTagRequest) (*idv1.Tag, error) {
			return i.GetTag(ctx, r.Name)
		}),
		call(s, idv1connect.IDServiceListTagsProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error) {
			return i.ListTags(ctx, r)
		}),
		call(s, idv1connect.IDServiceDeleteTagProcedure, servers, func(ctx context.Context, _ id.Caller, r *idv1.DeleteTagRequest) (*idv1.DeleteTagResponse, error) {
			return i.DeleteTag(ctx, r.Name)
		}),
	}
}
