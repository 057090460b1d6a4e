package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
)

// Privacy exports and erases the data of users.
type Privacy interface {
	RequestExport(ctx context.Context, c id.Caller) (*accountv1.Export, error)
	GetExport(ctx context.Context, c id.Caller) (*accountv1.Export, error)
	RequestErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error)
	CancelErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error)
	GetErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error)
	EraseUser(ctx context.Context, c id.Caller, r *accountv1.EraseUserRequest) (*accountv1.Erasure, error)
	GetUserErasure(ctx context.Context, r *accountv1.GetUserErasureRequest) (*accountv1.Erasure, error)
}

func (s *Server) privacy() []method {
	p := s.deps.Privacy
	return []method{
		newMethod(s, accountv1connect.AccountServiceRequestExportProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.RequestExportRequest) (*accountv1.Export, error) {
			return p.RequestExport(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceGetExportProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.GetExportRequest) (*accountv1.Export, error) {
			return p.GetExport(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceRequestErasureProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.RequestErasureRequest) (*accountv1.Erasure, error) {
			return p.RequestErasure(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceCancelErasureProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.CancelErasureRequest) (*accountv1.Erasure, error) {
			return p.CancelErasure(ctx, c)
		}),
		newMethod(s, accountv1connect.AccountServiceGetErasureProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *accountv1.GetErasureRequest) (*accountv1.Erasure, error) {
			return p.GetErasure(ctx, c)
		}),
		newMethod(s, accountv1connect.AdminServiceEraseUserProcedure, serverAccess, p.EraseUser),
		newMethod(s, accountv1connect.AdminServiceGetUserErasureProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *accountv1.GetUserErasureRequest) (*accountv1.Erasure, error) {
			return p.GetUserErasure(ctx, r)
		}),
	}
}
