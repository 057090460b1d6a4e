package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// OfficialAccounts are official accounts.
type OfficialAccounts interface {
	Put(ctx context.Context, r *accountv1.PutOfficialAccountRequest) (*accountv1.PutOfficialAccountResponse, error)
	Get(ctx context.Context, by id.User, r *chatv1.GetOfficialAccountRequest) (*chatv1.OfficialAccount, error)
	List(ctx context.Context, by id.User) (*chatv1.ListOfficialAccountsResponse, error)
	Update(ctx context.Context, by id.User, r *chatv1.UpdateOfficialAccountRequest) (*chatv1.OfficialAccount, error)
	SetOperator(ctx context.Context, by id.User, r *chatv1.SetOfficialOperatorRequest) (*chatv1.OfficialAccount, error)
	Tap(ctx context.Context, u id.User, r *chatv1.TapOfficialMenuRequest) (*chatv1.TapOfficialMenuResponse, error)
	SetLabel(ctx context.Context, by id.User, r *chatv1.SetFollowerLabelRequest) error
	ReplaceLabel(ctx context.Context, by id.User, r *chatv1.ReplaceFollowerLabelRequest) (*chatv1.OfficialAccount, error)
	ListFollowers(ctx context.Context, by id.User, r *chatv1.ListOfficialFollowersRequest) (*chatv1.ListOfficialFollowersResponse, error)
	CreateBroadcast(ctx context.Context, by id.User, r *chatv1.CreateBroadcastRequest) (*chatv1.Broadcast, error)
	GetBroadcast(ctx context.Context, by id.User, broadcast uint64) (*chatv1.Broadcast, error)
	ListBroadcasts(ctx context.Context, by id.User, r *chatv1.ListBroadcastsRequest) (*chatv1.ListBroadcastsResponse, error)
	ChangeBroadcast(ctx context.Context, by id.User, r *chatv1.ChangeBroadcastRequest) (*chatv1.Broadcast, error)
}

func (s *Server) officials() []method {
	o := s.deps.Officials
	return []method{
		newMethod(s, chatv1connect.OfficialAccountServiceGetOfficialAccountProcedure, userAccess, byUser(o.Get)),
		newMethod(s, chatv1connect.OfficialAccountServiceListOfficialAccountsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *chatv1.ListOfficialAccountsRequest) (*chatv1.ListOfficialAccountsResponse, error) {
			return o.List(ctx, c.User)
		}),
		newMethod(s, chatv1connect.OfficialAccountServiceUpdateOfficialAccountProcedure, userAccess, byUser(o.Update)),
		newMethod(s, chatv1connect.OfficialAccountServiceSetOfficialOperatorProcedure, userAccess, byUser(o.SetOperator)),
		newMethod(s, chatv1connect.OfficialAccountServiceTapOfficialMenuProcedure, userAccess, byUser(o.Tap)),
		newMethod(s, chatv1connect.OfficialAccountServiceSetFollowerLabelProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.SetFollowerLabelRequest) (*chatv1.SetFollowerLabelResponse, error) {
			return &chatv1.SetFollowerLabelResponse{}, o.SetLabel(ctx, c.User, r)
		}),
		newMethod(s, chatv1connect.OfficialAccountServiceReplaceFollowerLabelProcedure, userAccess, byUser(o.ReplaceLabel)),
		newMethod(s, chatv1connect.OfficialAccountServiceListOfficialFollowersProcedure, userAccess, byUser(o.ListFollowers)),
		newMethod(s, chatv1connect.OfficialAccountServiceCreateBroadcastProcedure, userAccess, byUser(o.CreateBroadcast)),
		newMethod(s, chatv1connect.OfficialAccountServiceGetBroadcastProcedure, userAccess, func(ctx context.Context, c id.Caller, r *chatv1.GetBroadcastRequest) (*chatv1.Broadcast, error) {
			return o.GetBroadcast(ctx, c.User, r.Broadcast)
		}),
		newMethod(s, chatv1connect.OfficialAccountServiceListBroadcastsProcedure, userAccess, byUser(o.ListBroadcasts)),
		newMethod(s, chatv1connect.OfficialAccountServiceChangeBroadcastProcedure, userAccess, byUser(o.ChangeBroadcast)),
	}
}
