package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/push/v1/pushv1connect"
)

// Pushes sends push notifications.
type Pushes interface {
	GetProviders() *pushv1.PushProviders
	Register(ctx context.Context, by id.Caller, r *pushv1.RegisterPushRequest) (*pushv1.PushSubscription, error)
	List(ctx context.Context, by id.Caller) (*pushv1.ListPushSubscriptionsResponse, error)
	Remove(ctx context.Context, by id.User, subscription uint64) error
	GetSettings(ctx context.Context, u id.User) (*pushv1.PushSettings, error)
	SetSettings(ctx context.Context, u id.User, set *pushv1.PushSettings) (*pushv1.PushSettings, error)
	ListAttempts(ctx context.Context, r *pushv1.ListPushAttemptsRequest) (*pushv1.ListPushAttemptsResponse, error)
}

func (s *Server) pushes() []method {
	p := s.deps.Pushes
	return []method{
		newMethod(s, pushv1connect.PushServiceGetPushProvidersProcedure, userAccess, func(context.Context, id.Caller, *pushv1.GetPushProvidersRequest) (*pushv1.PushProviders, error) {
			return p.GetProviders(), nil
		}),
		newMethod(s, pushv1connect.PushServiceRegisterPushProcedure, userAccess, p.Register),
		newMethod(s, pushv1connect.PushServiceListPushSubscriptionsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *pushv1.ListPushSubscriptionsRequest) (*pushv1.ListPushSubscriptionsResponse, error) {
			return p.List(ctx, c)
		}),
		newMethod(s, pushv1connect.PushServiceRemovePushSubscriptionProcedure, userAccess, func(ctx context.Context, c id.Caller, r *pushv1.RemovePushSubscriptionRequest) (*pushv1.RemovePushSubscriptionResponse, error) {
			return &pushv1.RemovePushSubscriptionResponse{}, p.Remove(ctx, c.User, r.Id)
		}),
		newMethod(s, pushv1connect.PushServiceGetPushSettingsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *pushv1.GetPushSettingsRequest) (*pushv1.PushSettings, error) {
			return p.GetSettings(ctx, c.User)
		}),
		newMethod(s, pushv1connect.PushServiceSetPushSettingsProcedure, userAccess, byUser(p.SetSettings)),
		newMethod(s, pushv1connect.PushAdminServiceListPushAttemptsProcedure, serverAccess, func(ctx context.Context, _ id.Caller, r *pushv1.ListPushAttemptsRequest) (*pushv1.ListPushAttemptsResponse, error) {
			return p.ListAttempts(ctx, r)
		}),
	}
}
