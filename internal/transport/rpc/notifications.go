package rpc

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
)

// Notifications has what others did that concerns users.
type Notifications interface {
	ListNotifications(ctx context.Context, reader id.User, r *notificationv1.ListNotificationsRequest) (*notificationv1.ListNotificationsResponse, error)
	UnreadNotifications(ctx context.Context, reader id.User) (*notificationv1.UnreadNotificationsResponse, error)
	ReadNotifications(ctx context.Context, by id.User, r *notificationv1.ReadNotificationsRequest) (*notificationv1.ReadNotificationsResponse, error)
	GetNotificationSettings(ctx context.Context, by id.User) (*notificationv1.NotificationSettings, error)
	SetNotificationSettings(ctx context.Context, by id.User, r *notificationv1.NotificationSettings) (*notificationv1.NotificationSettings, error)
	SubscribeToPosts(ctx context.Context, by, author id.User) (*notificationv1.PostSubscription, error)
	UnsubscribeFromPosts(ctx context.Context, by, author id.User) (*notificationv1.PostSubscription, error)
	GetPostSubscription(ctx context.Context, by, author id.User) (*notificationv1.PostSubscription, error)
}

func (s *Server) notifications() []method {
	n := s.deps.Notifications
	return []method{
		newMethod(s, notificationv1connect.NotificationServiceListNotificationsProcedure, userAccess, byUser(n.ListNotifications)),
		newMethod(s, notificationv1connect.NotificationServiceUnreadNotificationsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *notificationv1.UnreadNotificationsRequest) (*notificationv1.UnreadNotificationsResponse, error) {
			return n.UnreadNotifications(ctx, c.User)
		}),
		newMethod(s, notificationv1connect.NotificationServiceReadNotificationsProcedure, userAccess, byUser(n.ReadNotifications)),
		newMethod(s, notificationv1connect.NotificationServiceGetNotificationSettingsProcedure, userAccess, func(ctx context.Context, c id.Caller, _ *notificationv1.GetNotificationSettingsRequest) (*notificationv1.NotificationSettings, error) {
			return n.GetNotificationSettings(ctx, c.User)
		}),
		newMethod(s, notificationv1connect.NotificationServiceSetNotificationSettingsProcedure, userAccess, byUser(n.SetNotificationSettings)),
		newMethod(s, notificationv1connect.NotificationServiceSubscribeToPostsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *notificationv1.SubscribeToPostsRequest) (*notificationv1.PostSubscription, error) {
			return n.SubscribeToPosts(ctx, c.User, id.User(r.Author))
		}),
		newMethod(s, notificationv1connect.NotificationServiceUnsubscribeFromPostsProcedure, userAccess, func(ctx context.Context, c id.Caller, r *notificationv1.UnsubscribeFromPostsRequest) (*notificationv1.PostSubscription, error) {
			return n.UnsubscribeFromPosts(ctx, c.User, id.User(r.Author))
		}),
		newMethod(s, notificationv1connect.NotificationServiceGetPostSubscriptionProcedure, userAccess, func(ctx context.Context, c id.Caller, r *notificationv1.GetPostSubscriptionRequest) (*notificationv1.PostSubscription, error) {
			return n.GetPostSubscription(ctx, c.User, id.User(r.Author))
		}),
	}
}
