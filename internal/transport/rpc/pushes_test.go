package rpc_test

import (
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"google.golang.org/protobuf/proto"
)

const (
	pushCalls  = "/rialto.push.v1.PushService/"
	pushAdmins = "/rialto.push.v1.PushAdminService/"
)

func ofPushes() map[string]row {
	return map[string]row{
		pushCalls + "GetPushProviders": own(func(subject) proto.Message { return &pushv1.GetPushProvidersRequest{} }),
		pushCalls + "RegisterPush": {request: func(subject) proto.Message { return &pushv1.RegisterPushRequest{} },
			owner: "no_push_provider", member: "no_push_provider", former: "no_push_provider", outsider: "no_push_provider", server: "no_session"},
		pushCalls + "ListPushSubscriptions":  own(func(subject) proto.Message { return &pushv1.ListPushSubscriptionsRequest{} }),
		pushCalls + "RemovePushSubscription": own(func(subject) proto.Message { return &pushv1.RemovePushSubscriptionRequest{Id: 1} }),
		pushCalls + "GetPushSettings":        own(func(subject) proto.Message { return &pushv1.GetPushSettingsRequest{} }),
		pushCalls + "SetPushSettings":        own(func(subject) proto.Message { return &pushv1.PushSettings{} }),
		pushAdmins + "ListPushAttempts":      own(func(o subject) proto.Message { return &pushv1.ListPushAttemptsRequest{User: o.other} }),
	}
}
