package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
)

// Search finds what users may read.
type Search interface {
	Search(ctx context.Context, reader id.User, r *searchv1.SearchRequest) (*searchv1.SearchResponse, error)
}

func (s *Server) searches() []method {
	return []method{
		newMethod(s, searchv1connect.SearchServiceSearchProcedure, userAccess, func(ctx context.Context, c id.Caller, r *searchv1.SearchRequest) (*searchv1.SearchResponse, error) {
			if r.Explain && !c.Server {
				return nil, errs.New(errs.Denied, "no_key", "explain needs an API key")
			}
			return s.deps.Search.Search(ctx, c.User, r)
		}),
	}
}
