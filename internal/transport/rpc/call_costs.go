package rpc

import (
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"google.golang.org/protobuf/proto"
)

// maxCosts is how many routes may count one request, beside the route of all calls.
const maxCosts = 2

// cost is how much of a route a request takes.
type cost struct {
	route           ratelimit.Route
	n               int
	countsIfRefused bool
}

// costs returns what a request takes, beside one call. The test's table has a decision for each call; add one for a new call.
func costs(request proto.Message, size int) []cost {
	switch r := request.(type) {
	case *chatv1.SendRequest, *chatv1.SendRoomMessageRequest, *chatv1.ScheduleMessageRequest, *chatv1.UpdateScheduledRequest, *chatv1.StartStreamedMessageRequest, *chatv1.WriteStreamedMessagesRequest, *chatv1.EndStreamedMessageRequest, *feedv1.PublishRequest, *feedv1.EditPostRequest,
		*commentv1.CreateCommentRequest, *commentv1.EditCommentRequest:
		return []cost{{ratelimit.Send, ratelimit.Messages(1, size), true}}
	case *accountv1.SearchUsersRequest, *searchv1.SearchRequest:
		return []cost{{ratelimit.Search, 1, true}}
	case *rankingv1.ForYouRequest: // the first page reads as much as a search; the next ones read what they show
		if r.Page == "" {
			return []cost{{ratelimit.Search, 1, true}}
		}
		return nil
	case *accountv1.RequestFriendRequest:
		return []cost{{ratelimit.Friend, 1, true}}
	case *chatv1.CreateUploadRequest, *chatv1.CreateMultipartUploadRequest, *videov1.CreateVideoRequest, *videov1.RetryVideoRequest, *videov1.RequestRenditionRequest, *videov1.SetSubtitlesRequest:
		return []cost{{ratelimit.Upload, 1, false}}
	case *chatv1.CreateJoinLinkRequest:
		return []cost{{ratelimit.Link, 1, false}}
	case *chatv1.OpenTicketRequest, *chatv1.TakeTicketRequest, *chatv1.TransferTicketRequest, *chatv1.ResolveTicketRequest, *chatv1.ReopenTicketRequest, *chatv1.RateTicketRequest:
		return []cost{{ratelimit.Ticket, 1, true}}
	case *chatv1.PreviewLinkRequest: // a refused one may have cost as much
		return []cost{{ratelimit.Preview, 1, true}}
	case *chatv1.CreateRoomRequest:
		return []cost{{ratelimit.Group, 1, false}}
	case *chatv1.CreateGroupRequest:
		return []cost{{ratelimit.Group, 1, false}, {ratelimit.Invite, len(r.Members), false}}
	case *chatv1.CreateOrganizationGroupRequest:
		return []cost{{ratelimit.Group, 1, false}, {ratelimit.Invite, len(r.Members), false}}
	}
	if c := membershipCosts(request); c != nil || !reachesMembers(request) {
		return c
	}
	return []cost{{ratelimit.Send, 1, false}}
}

// membershipCosts returns what a request takes that brings users into groups and organizations.
func membershipCosts(request proto.Message) []cost {
	accepted := func(route ratelimit.Route, accept bool) []cost {
		if !accept {
			return nil // declining notifies two users only
		}
		return []cost{{route, 1, false}}
	}
	switch r := request.(type) {
	case *chatv1.JoinRequest, *chatv1.PreviewJoinLinkRequest: // so that the preview cannot be used to guess links
		return []cost{{ratelimit.Join, 1, true}}
	case *chatv1.AnswerInvitationRequest:
		return accepted(ratelimit.Join, r.Accept)
	case *chatv1.AnswerOrganizationInvitationRequest:
		return accepted(ratelimit.Join, r.Accept)
	case *chatv1.AnswerJoinRequestRequest:
		return accepted(ratelimit.Invite, r.Accept)
	case *bridgev1.LinkBridgeRequest: // its bot becomes a member
		return []cost{{ratelimit.Bridge, 1, true}, {ratelimit.Invite, 1, false}}
	case *chatv1.InviteRequest:
		return []cost{{ratelimit.Invite, len(r.Users), false}}
	case *chatv1.InviteToOrganizationRequest:
		return []cost{{ratelimit.Invite, len(r.Users), false}}
	case *chatv1.PutOrganizationMembersRequest: // most are members already: settle charges the others
		return []cost{{ratelimit.Invite, 1, false}}
	case *chatv1.ImportOrganizationMembersRequest: // as above
		if !r.DryRun {
			return []cost{{ratelimit.Invite, 1, false}}
		}
	}
	return nil
}

// reachesMembers reports whether a request stores an entry for all members of a conversation or all friends, or is pushed to all viewers of a
// room: that costs as much as a message.
func reachesMembers(request proto.Message) bool {
	switch request.(type) {
	case *chatv1.OpenDirectRequest, *chatv1.StartThreadRequest, *chatv1.StopStreamedMessageRequest, *chatv1.TapOfficialMenuRequest, *accountv1.UpdateProfileRequest,
		*chatv1.RemoveRequest, *chatv1.BanRequest, *chatv1.UnbanRequest, *chatv1.LeaveRequest, *chatv1.SetRoleRequest, *chatv1.TransferRequest,
		*chatv1.MuteMembersRequest, *chatv1.UpdateGroupRequest, *chatv1.SetRetentionRequest, *chatv1.DissolveRequest,
		*chatv1.UpdateRoomRequest, *chatv1.CloseRoomRequest, *chatv1.SetRoomModeratorRequest, *chatv1.KickFromRoomRequest, *chatv1.MuteInRoomRequest, *bridgev1.UnlinkBridgeRequest:
		return true
	}
	return false
}

// addedMembers returns how many users a request added to an organization, and whether it is such a request. A dry run has no cost to settle.
func addedMembers(request, answer proto.Message) (n int, counts bool) {
	switch r := answer.(type) {
	case *chatv1.PutOrganizationMembersResponse:
		return int(r.Added), true
	case *chatv1.ImportOrganizationMembersResponse:
		if q, ok := request.(*chatv1.ImportOrganizationMembersRequest); ok && r.Wrong > 0 && !q.Partial {
			return 0, true // it is not applied
		}
		return int(r.Added), true
	}
	return 0, false
}
