package outputlimit

import (
	"context"
	"slices"
	"strconv"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/notification/v1/notificationv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/search/v1/searchv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/video/v1/videov1connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// IsPage reports whether the answer of a call is a page of messages, posts or comments: up to a megabyte, and more while it is encoded, or is made of thousands of rows or of several reads.
// Few such calls of a user run at once.
func IsPage(call string) bool {
	switch call {
	case chatv1connect.ChatServiceHistoryProcedure, chatv1connect.ChatServiceSyncProcedure, chatv1connect.ChatServiceListConversationsProcedure,
		chatv1connect.ChatServiceGetMessagesProcedure, chatv1connect.ChatServiceListPinsProcedure, chatv1connect.ChatServiceListEditsProcedure,
		chatv1connect.ChatServiceListThreadsProcedure,
		feedv1connect.FeedServiceHomeTimelineProcedure, feedv1connect.FeedServiceListPostsProcedure, feedv1connect.FeedServiceListVersionsProcedure, feedv1connect.FeedServiceGetPostPageProcedure,
		commentv1connect.CommentServiceListCommentsProcedure, commentv1connect.CommentServiceListRepliesProcedure, commentv1connect.CommentServiceListTimedCommentsProcedure,
		engagementv1connect.EngagementServiceListLikesProcedure, engagementv1connect.EngagementServiceListFavouritesProcedure, engagementv1connect.EngagementServiceListViewsProcedure,
		engagementv1connect.EngagementServiceListHotPostsProcedure, rankingv1connect.RankingServiceForYouProcedure,
		notificationv1connect.NotificationServiceListNotificationsProcedure, notificationv1connect.NotificationServiceUnreadNotificationsProcedure,
		searchv1connect.SearchServiceSearchProcedure, videov1connect.VideoServiceListWatchedProcedure:
		return true
	}
	return false
}

const (
	// A byte of protobuf becomes at most six of JSON, as a control character does. The names and numbers of a message add to that.
	// so many more.
	jsonGrowth   = 6
	jsonOverhead = 1500
	// estimateBelow is the size from which a message is encoded to measure it.
	estimateBelow = 16 << 10
)

// jsonSize estimates the size of a message in JSON, never too low.
func jsonSize(m proto.Message) int {
	most := jsonGrowth*proto.Size(m) + jsonOverhead
	if most < estimateBelow {
		return most
	}
	b, err := protojson.Marshal(m)
	if err != nil {
		return most
	}
	return len(b)
}

type jsonKey struct{}

// WithJSON records in a context that the answer will be JSON.
func WithJSON(ctx context.Context) context.Context { return context.WithValue(ctx, jsonKey{}, true) }

// Size estimates the size of a message on the wire, in the encoding of the context, never too low.
func Size(ctx context.Context, m proto.Message) int {
	if ctx.Value(jsonKey{}) == nil {
		return proto.Size(m)
	}
	return jsonSize(m)
}

// TruncatePage shortens an answer to MaxPage bytes of JSON, and sets its field for more. At least one message remains.
func TruncatePage(request, answer proto.Message) {
	switch a := answer.(type) {
	case *chatv1.HistoryResponse:
		if q, ok := request.(*chatv1.HistoryRequest); ok {
			truncateHistory(a, q.After != 0 || q.TimeMs != 0)
		}
	case *chatv1.SyncResponse:
		TruncateSync(a)
	case *chatv1.GetMessagesResponse:
		if n := countFitting(a.Messages); n < len(a.Messages) {
			a.Messages, a.More = a.Messages[:n:n], true
		}
	case *chatv1.ListPinsResponse:
		if n := countFitting(a.Messages); n < len(a.Messages) {
			a.Messages, a.Next = a.Messages[:n:n], strconv.FormatUint(a.Messages[n].PinSeq, 10)
		}
	case *chatv1.ListEditsResponse:
		if n := countFitting(a.Versions); n < len(a.Versions) {
			a.Versions, a.Next = a.Versions[:n:n], strconv.FormatUint(a.Versions[n].EditSeq, 10)
		}
	case *feedv1.HomeTimelineResponse:
		if n := countFitting(a.Posts); n < len(a.Posts) {
			a.Posts, a.Next = a.Posts[:n:n], a.Posts[n-1].Id
		}
	case *feedv1.ListPostsResponse:
		if n := countFitting(a.Posts); n < len(a.Posts) {
			a.Posts, a.Next = a.Posts[:n:n], a.Posts[n-1].Id
		}
	case *feedv1.ListVersionsResponse:
		if n := countFitting(a.Versions); n < len(a.Versions) {
			a.Versions, a.Next = a.Versions[:n:n], a.Versions[n-1].Version
		}
	case *commentv1.ListCommentsResponse:
		if q, ok := request.(*commentv1.ListCommentsRequest); ok && q.Order == commentv1.CommentOrder_COMMENT_ORDER_LIKES {
			break // it is short enough
		}
		if n := countFitting(a.Comments); n < len(a.Comments) {
			a.Comments, a.Next = a.Comments[:n:n], strconv.FormatUint(a.Comments[n-1].Id, 10)
		}
	case *commentv1.ListRepliesResponse:
		if n := countFitting(a.Replies); n < len(a.Replies) {
			a.Replies, a.Next = a.Replies[:n:n], strconv.FormatUint(a.Replies[n-1].Id, 10)
		}
	}
}

// truncateHistory keeps the messages that come first in the direction of reading.
func truncateHistory(a *chatv1.HistoryResponse, forward bool) {
	if !forward {
		slices.Reverse(a.Messages)
		defer func() { slices.Reverse(a.Messages) }()
	}
	n := countFitting(a.Messages)
	if n == len(a.Messages) {
		return
	}
	last := a.Messages[n-1].Seq
	a.Messages, a.More = a.Messages[:n:n], true
	a.Unreadable = slices.DeleteFunc(a.Unreadable, func(seq uint64) bool { return forward == (seq > last) })
}

// TruncateSync keeps the first events of a page, and moves its next position after them.
func TruncateSync(a *chatv1.SyncResponse) {
	n := countFitting(a.Events)
	if n == len(a.Events) {
		return
	}
	last := a.Events[n-1]
	a.Events, a.More, a.Large = a.Events[:n:n], true, nil
	a.Next = &chatv1.Position{Epoch: last.Epoch, Seq: last.Seq}
}

// countFitting counts how many elements at the start of a list fit into a page.
func countFitting[M proto.Message](list []M) int {
	size := 0
	for n, m := range list {
		if size += jsonSize(m); size > MaxPage && n > 0 {
			return n
		}
	}
	return len(list)
}
