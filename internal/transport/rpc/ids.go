package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

// IDs generates ids for other systems.
type IDs interface {
	Next(ctx context.Context, r *idv1.NextRequest) (*idv1.NextResponse, error)
	Explain(ctx context.Context, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error)
	PutTag(ctx context.Context, t *idv1.Tag) (*idv1.Tag, error)
	GetTag(ctx context.Context, name string) (*idv1.Tag, error)
	ListTags(ctx context.Context, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error)
	DeleteTag(ctx context.Context, name string) (*idv1.DeleteTagResponse, error)
}

// Other systems depend on these ids: callers without an API key get none and consume none.
func (s *Server) ids() []method {
	i := s.deps.IDs
	return []method{
		newMethod(s, idv1connect.IDServiceNextProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.NextRequest) (*idv1.NextResponse, error) {
			return i.Next(ctx, r)
		}),
		newMethod(s, idv1connect.IDServiceExplainProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.ExplainRequest) (*idv1.ExplainResponse, error) {
			return i.Explain(ctx, r)
		}),
		newMethod(s, idv1connect.IDServicePingProcedure, serverAccess, func(context.Context, id.Caller, *idv1.PingRequest) (*idv1.PingResponse, error) {
			return &idv1.PingResponse{}, nil
		}),
		newMethod(s, idv1connect.IDServicePutTagProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.PutTagRequest) (*idv1.Tag, error) {
			return i.PutTag(ctx, r.Tag)
		}),
		newMethod(s, idv1connect.IDServiceGetTagProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.GetTagRequest) (*idv1.Tag, error) {
			return i.GetTag(ctx, r.Name)
		}),
		newMethod(s, idv1connect.IDServiceListTagsProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.ListTagsRequest) (*idv1.ListTagsResponse, error) {
			return i.ListTags(ctx, r)
		}),
		newMethod(s, idv1connect.IDServiceDeleteTagProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *idv1.DeleteTagRequest) (*idv1.DeleteTagResponse, error) {
			return i.DeleteTag(ctx, r.Name)
		}),
	}
}
