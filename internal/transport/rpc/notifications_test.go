package rpc_test

import (
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
	"google.golang.org/protobuf/proto"
)

const notifications = "/rialto.notification.v1.NotificationService/"

func ofNotifications() map[string]row {
	return map[string]row{
		notifications + "ListNotifications":       own(func(subject) proto.Message { return &notificationv1.ListNotificationsRequest{} }),
		notifications + "UnreadNotifications":     own(func(subject) proto.Message { return &notificationv1.UnreadNotificationsRequest{} }),
		notifications + "ReadNotifications":       own(func(subject) proto.Message { return &notificationv1.ReadNotificationsRequest{Position: 1} }),
		notifications + "GetNotificationSettings": own(func(subject) proto.Message { return &notificationv1.GetNotificationSettingsRequest{} }),
		notifications + "SetNotificationSettings": own(func(subject) proto.Message { return &notificationv1.NotificationSettings{} }),
		notifications + "SubscribeToPosts":        own(func(o subject) proto.Message { return &notificationv1.SubscribeToPostsRequest{Author: o.other} }),
		notifications + "UnsubscribeFromPosts":    own(func(o subject) proto.Message { return &notificationv1.UnsubscribeFromPostsRequest{Author: o.other} }),
		notifications + "GetPostSubscription":     own(func(o subject) proto.Message { return &notificationv1.GetPostSubscriptionRequest{Author: o.other} }),
	}
}
