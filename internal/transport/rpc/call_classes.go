package rpc

import (
	"net/http"
	"strings"

	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/bridge/v1/bridgev1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/event/v1/eventv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/gateway/v1/gatewayv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/presence/v1/presencev1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/push/v1/pushv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/transaction/v1/transactionv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/video/v1/videov1connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// serviceClasses has the class of workers of each service, for calls by users.
var serviceClasses = map[string]overload.Class{
	accountv1connect.AccountServiceName: overload.Chat, accountv1connect.GraphServiceName: overload.Chat, accountv1connect.AdminServiceName: overload.Server,
	chatv1connect.ChatServiceName: overload.Chat, chatv1connect.RoomServiceName: overload.Chat, chatv1connect.OrganizationServiceName: overload.Chat,
	chatv1connect.OfficialAccountServiceName: overload.Chat, chatv1connect.HelpDeskServiceName: overload.Chat, chatv1connect.MediaServiceName: overload.Media,
	presencev1connect.PresenceServiceName: overload.Chat, pushv1connect.PushServiceName: overload.Chat, pushv1connect.PushAdminServiceName: overload.Server,
	feedv1connect.FeedServiceName: overload.Feed, feedv1connect.FeedAdminServiceName: overload.Server, commentv1connect.CommentServiceName: overload.Feed,
	engagementv1connect.EngagementServiceName: overload.Feed, notificationv1connect.NotificationServiceName: overload.Feed,
	rankingv1connect.RankingServiceName: overload.Feed, rankingv1connect.RankingAdminServiceName: overload.Server,
	searchv1connect.SearchServiceName: overload.Search, videov1connect.VideoServiceName: overload.Media,
	bridgev1connect.BridgeLinkServiceName: overload.Chat, bridgev1connect.BridgeServiceName: overload.Server, bridgev1connect.BridgeAdminServiceName: overload.Server, eventv1connect.ServerEventServiceName: overload.Server, transactionv1connect.MessageTransactionServiceName: overload.Server, idv1connect.IDServiceName: overload.Server,
	chatv1connect.MessageTraceServiceName: overload.Server, operationv1connect.OperationServiceName: overload.Server, operationv1connect.InterchangeServiceName: overload.Server, gatewayv1connect.GatewayServiceName: overload.Login,
	moderationv1connect.ModerationServiceName: overload.Feed, moderationv1connect.ModerationAdminServiceName: overload.Server,
}

// readingPrefixes begin the names of calls that change nothing.
var readingPrefixes = []string{"Get", "List", "Count", "History", "Search", "Suggest", "HomeTimeline", "ForYou", "Unread", "Explain", "Preview", "Find", "Trace"}

// callPriorities has the calls whose priority does not follow from their names: others have High if they change something, and Normal if they read.
var callPriorities = map[string]overload.Priority{
	accountv1connect.AccountServiceLogoutProcedure:            overload.First,
	accountv1connect.AccountServiceChangePasswordProcedure:    overload.First,
	accountv1connect.AccountServiceConfirmIdentityProcedure:   overload.First,
	chatv1connect.ChatServiceSyncProcedure:                    overload.First,
	chatv1connect.ChatServiceMarkProcedure:                    overload.First,
	eventv1connect.ServerEventServiceConfirmEventsProcedure:   overload.First,
	accountv1connect.AccountServiceSearchUsersProcedure:       overload.Low,
	accountv1connect.GraphServiceSuggestFriendsProcedure:      overload.Low,
	engagementv1connect.EngagementServiceRecordViewsProcedure: overload.Low,
	videov1connect.VideoServiceSetWatchPositionProcedure:      overload.Low,
	chatv1connect.RoomServiceLikeRoomProcedure:                overload.Low,
	chatv1connect.ChatServiceListReadersProcedure:             overload.Low,
	chatv1connect.ChatServiceListDeliveriesProcedure:          overload.Low,
	chatv1connect.ChatServicePreviewLinkProcedure:             overload.Last,
	presencev1connect.PresenceServiceGetPresenceProcedure:     overload.Last,
	presencev1connect.PresenceServiceListDevicesProcedure:     overload.Last,
}

// callClasses has the calls whose class is not that of their service.
var callClasses = map[string]overload.Class{
	accountv1connect.AccountServiceRegisterProcedure:        overload.Password,
	accountv1connect.AccountServiceLoginProcedure:           overload.Password,
	accountv1connect.AccountServiceResetPasswordProcedure:   overload.Password,
	accountv1connect.AccountServiceChangePasswordProcedure:  overload.Password,
	accountv1connect.AccountServiceConfirmIdentityProcedure: overload.Password,
	accountv1connect.AccountServiceSearchUsersProcedure:     overload.Search,
	chatv1connect.ChatServicePreviewLinkProcedure:           overload.Search,
	chatv1connect.ChatServiceSendProcedure:                  overload.Message,
	chatv1connect.ChatServiceStartStreamedMessageProcedure:  overload.Message,
	chatv1connect.ChatServiceEndStreamedMessageProcedure:    overload.Message,
	chatv1connect.ChatServiceStopStreamedMessageProcedure:   overload.Message,
}

// callWork is the class of workers of a call, and its priority among them.
type callWork struct {
	class    overload.Class
	priority overload.Priority
	waits    bool // it waits for events, with a bound of its own, and takes no worker
}

// workOf returns the work of a call.
func workOf(name string, who access) callWork {
	service, call, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	w := callWork{class: serviceClasses[service], priority: overload.High, waits: name == eventv1connect.ServerEventServicePullEventsProcedure}
	for _, prefix := range readingPrefixes {
		if strings.HasPrefix(call, prefix) {
			w.priority = overload.Normal
		}
	}
	if p, ok := callPriorities[name]; ok {
		w.priority = p
	}
	if who == anonymousAccess {
		w.class, w.priority = overload.Login, overload.First
	}
	if class, ok := callClasses[name]; ok {
		w.class = class
	}
	return w
}

// byServer is the work of the same call for a business server.
func (w callWork) byServer() callWork {
	w.class, w.priority = overload.Server, max(w.priority, overload.Normal)
	return w
}

// hasAPIKey reports whether a request says that it comes with an API key. It is not verified yet.
func hasAPIKey(h http.Header) bool { return strings.HasPrefix(h.Get("Authorization"), "Bearer rk_") }

// crowdFields are the fields of a request that name its conversation and its organization; nil if there is none.
type crowdFields struct{ conversation, organization protoreflect.FieldDescriptor }

func crowdFieldsOf(d protoreflect.MessageDescriptor) crowdFields {
	field := func(name protoreflect.Name) protoreflect.FieldDescriptor {
		if f := d.Fields().ByName(name); f != nil && f.Kind() == protoreflect.Uint64Kind && !f.IsList() {
			return f
		}
		return nil
	}
	return crowdFields{field("conversation"), field("organization")}
}

// callerOf returns who has a share of the workers.
func callerOf(in *incoming, request proto.Message, named crowdFields) overload.Caller {
	c := overload.Caller{User: uint64(in.caller.User), Key: in.caller.Key, Network: in.network}
	if named.conversation != nil {
		c.Conversation = request.ProtoReflect().Get(named.conversation).Uint()
	}
	if named.organization != nil {
		c.Organization = request.ProtoReflect().Get(named.organization).Uint()
	}
	if in.caller.Server {
		c.User = 0
	}
	return c
}

// SocketWork returns the class of workers of a call on a socket, and its priority among them.
func (s *Server) SocketWork(name string) (overload.Class, overload.Priority) {
	m, ok := s.methods[name]
	if !ok {
		return overload.Chat, overload.Last
	}
	return m.work.class, m.work.priority
}
