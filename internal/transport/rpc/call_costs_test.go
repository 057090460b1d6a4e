package rpc_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reasons why the limit of all calls is enough for a call.
const (
	reads    = "none: it reads, and a page is bounded"
	ownState = "none: it changes the user's own rows, and tells the user's own devices"
	oneOther = "none: it changes a row of two users, and tells both"
	fewRows  = "none: it changes rows, and pushes nothing"
	limited  = "none: it has a limit of its own"
)

// decisions has an entry for each call of users: what a request takes beside one call, if it names three users or members, accepts, and has a
// size of 2 KiB. A plus means that a refused request takes it too. Add an entry for each new call: if a call stores an entry for others, or pushes to
// them, it takes at least what a message does.
func decisions() map[string]string {
	all := map[string]string{}
	for service, calls := range map[string]map[string]string{
		accounts:  {"Logout": ownState, "ListSessions": reads, "RevokeSession": ownState, "ChangePassword": limited, "GetSecurity": reads, "ConfirmIdentity": limited, "StartTotp": ownState, "ConfirmTotp": ownState, "RemoveTotp": ownState, "CreateRecoveryCodes": ownState, "SetContact": limited, "VerifyContact": limited, "RemoveContact": ownState, "ListPasskeys": reads, "StartPasskey": ownState, "AddPasskey": ownState, "RenamePasskey": ownState, "RemovePasskey": ownState, "CreateTicket": limited, "GetUsers": reads, "SearchUsers": "search 1+", "UpdateProfile": "send 1", "GetSettings": reads, "UpdateSettings": ownState, "RequestExport": limited, "GetExport": reads, "RequestErasure": ownState, "CancelErasure": ownState, "GetErasure": reads},
		graphs:    {"RequestFriend": "friend 1+", "AnswerFriend": oneOther, "RemarkFriend": ownState, "DeleteFriend": oneOther, "Block": oneOther, "Unblock": oneOther, "Follow": oneOther, "Unfollow": oneOther, "Mute": ownState, "Unmute": ownState, "ListRelations": reads, "SuggestFriends": reads},
		medias:    {"CreateUpload": "upload 1", "CompleteUpload": "none: CreateUpload counts it", "GetDownload": reads, "CreateMultipartUpload": "upload 1", "GetMultipartUpload": reads, "SignParts": reads, "CreateUploadCredentials": reads, "ListUnfinishedUploads": reads, "AbortUpload": ownState},
		presences: {"ListDevices": reads, "GetPresence": reads},
		linkCalls: {"ListBridges": reads, "LinkBridge": "bridge 1+, invite 1", "UnlinkBridge": "send 1", "ListBridgeLinks": reads},
		roomCalls: {"CreateRoom": "group 1", "GetRoom": reads, "ListRooms": reads, "UpdateRoom": "send 1", "CloseRoom": "send 1", "SetRoomModerator": "send 1", "KickFromRoom": "send 1", "MuteInRoom": "send 1", "ListRoomRestrictions": reads, "SendRoomMessage": "send 2+", "LikeRoom": "none: likes are added up"},
		orgCalls: {"CreateOrganization": "none: only servers may", "GetOrganization": reads, "ListOrganizations": reads, "UpdateOrganization": fewRows, "PutDepartments": fewRows, "RemoveDepartments": fewRows, "ListDepartments": reads,
			"PutOrganizationMembers": "invite 1", "RemoveOrganizationMembers": fewRows, "InviteToOrganization": "invite 3", "ListOrganizationInvitations": reads, "AnswerOrganizationInvitation": "join 1", "CancelOrganizationInvitation": oneOther, "TransferOrganization": fewRows,
			"ListOrganizationMembers": reads, "CreateOrganizationGroup": "group 1, invite 3", "ImportOrganizationMembers": "invite 1"},
		officials: {"GetOfficialAccount": reads, "ListOfficialAccounts": reads, "UpdateOfficialAccount": fewRows, "SetOfficialOperator": fewRows, "TapOfficialMenu": "send 1", "SetFollowerLabel": fewRows, "ReplaceFollowerLabel": fewRows, "ListOfficialFollowers": reads,
			"CreateBroadcast": limited, "GetBroadcast": reads, "ListBroadcasts": reads, "ChangeBroadcast": limited},
		comments:     {"CreateComment": "send 2+", "GetComment": reads, "EditComment": "send 2+", "DeleteComment": fewRows, "ListComments": reads, "ListReplies": reads, "CountComments": reads, "ListTimedComments": reads},
		engages:      {"Like": fewRows, "Unlike": fewRows, "ListLikers": reads, "ListLikes": reads, "Favourite": ownState, "Unfavourite": ownState, "ListFavourites": reads, "RecordViews": ownState, "ListViews": reads, "ClearViews": ownState, "ListHotPosts": reads},
		searches:     {"Search": "search 1+"},
		moderations:  {"ReportContent": limited, "ListMyReports": reads, "ListMyDecisions": reads, "AcknowledgeDecision": fewRows, "AppealDecision": fewRows},
		rankingCalls: {"ForYou": "search 1+", "ShowLess": ownState, "ShowAgain": ownState, "ListShownLess": reads, "RecordClicks": ownState},
		notifications: {"ListNotifications": reads, "UnreadNotifications": reads, "ReadNotifications": ownState, "GetNotificationSettings": reads, "SetNotificationSettings": ownState,
			"SubscribeToPosts": ownState, "UnsubscribeFromPosts": ownState, "GetPostSubscription": reads},
		pushCalls: {"GetPushProviders": reads, "RegisterPush": ownState, "ListPushSubscriptions": reads, "RemovePushSubscription": ownState, "GetPushSettings": reads, "SetPushSettings": ownState},
		feeds:     {"Publish": "send 2+", "GetPost": reads, "GetPostPage": reads, "EditPost": "send 2+", "DeletePost": fewRows, "ListVersions": reads, "ListPosts": reads, "GetFeedProfile": reads, "HomeTimeline": reads},
		videos: {"CreateVideo": "upload 1", "GetVideo": reads, "ListVideos": reads, "DeleteVideo": ownState, "RetryVideo": "upload 1", "RequestRendition": "upload 1", "SetWatchPosition": ownState, "ListWatched": reads, "RemoveWatched": ownState,
			"ClearWatched": ownState, "SetSubtitles": "upload 1", "RemoveSubtitles": ownState},
		deskCalls: {"ListHelpDesks": reads, "OpenTicket": "ticket 1+", "GetTicket": reads, "ListTickets": reads, "TakeTicket": "ticket 1+", "TransferTicket": "ticket 1+", "ResolveTicket": "ticket 1+", "ReopenTicket": "ticket 1+", "RateTicket": "ticket 1+", "GetHelpDeskStats": reads},
		chats: {"OpenDirect": "send 1", "CreateGroup": "group 1, invite 3", "GetConversation": reads, "ListConversations": reads, "StartThread": "send 1", "ListThreads": reads, "ListMembers": reads, "Invite": "invite 3",
			"Remove": "send 1", "Ban": "send 1", "Unban": "send 1", "ListBans": reads, "Leave": "send 1", "Join": "join 1+", "ListJoinRequests": reads, "AnswerJoinRequest": "invite 1", "ListInvitations": reads, "AnswerInvitation": "join 1",
			"ListGroupInvitations": reads, "CancelInvitation": oneOther, "CreateJoinLink": "link 1", "RevokeJoinLink": fewRows, "PreviewJoinLink": "join 1+", "SetRole": "send 1", "Transfer": "send 1", "MuteMembers": "send 1", "UpdateGroup": "send 1",
			"SetRetention": "send 1", "Dissolve": "send 1", "Send": "send 2+", "History": reads, "GetMessages": reads, "ListReactions": reads, "ListPins": reads, "ListEdits": reads, "ScheduleMessage": "send 2+", "ListScheduled": reads, "UpdateScheduled": "send 2+",
			"CancelScheduled": ownState, "StartStreamedMessage": "send 2+", "WriteStreamedMessages": "send 2+", "EndStreamedMessage": "send 2+", "StopStreamedMessage": "send 1", "GetStreamedMessage": reads, "PreviewLink": "preview 1+", "Mark": ownState, "DeleteMessages": ownState, "ClearHistory": ownState, "Configure": ownState, "ListFolders": reads, "CreateFolder": ownState, "UpdateFolder": ownState, "DeleteFolder": ownState,
			"OrderFolders": ownState, "ListReaders": reads, "ListDeliveries": reads, "Sync": reads},
	} {
		for name, decision := range calls {
			all[service+name] = decision
		}
	}
	return all
}

// sample fills a request: three elements in each list of users or members, and yes where it answers.
func sample(of proto.Message) proto.Message {
	m := of.ProtoReflect().New()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsList() && (f.Name() == "users" || f.Name() == "members"):
			list := m.Mutable(f).List()
			for range 3 {
				list.Append(list.NewElement())
			}
		case f.Name() == "accept":
			m.Set(f, protoreflect.ValueOfBool(true))
		}
	}
	return m.Interface()
}

// TestEveryCallHasARateLimitDecision: a new call without one fails this test.
func TestEveryCallHasARateLimitDecision(t *testing.T) {
	h := newHarness(t)
	decided, rows := decisions(), matrix()
	var calls []string
	for name, who := range h.Calls() {
		if who == "users" {
			calls = append(calls, name)
		}
	}
	if want := slices.Sorted(maps.Keys(decided)); !slices.Equal(slices.Sorted(slices.Values(calls)), want) {
		for _, name := range calls {
			if decided[name] == "" {
				t.Errorf("%s has no decision: add it to decisions", name)
			}
		}
		for _, name := range want {
			if !slices.Contains(calls, name) {
				t.Errorf("there is no call %s of users", name)
			}
		}
	}
	for _, name := range calls {
		want := decided[name]
		if strings.HasPrefix(want, "none: ") {
			want = ""
		}
		if got := rpc.Costs(sample(rows[name].request(subject{})), 2<<10); got != want {
			t.Errorf("%s takes %q, want %q", name, got, want)
		}
	}
}

// TestRefusalsTakeNothing: who declines an invitation or a request takes nothing, and neither does the dry run of an import.
func TestRefusalsTakeNothing(t *testing.T) {
	for _, m := range []proto.Message{&chatv1.AnswerInvitationRequest{}, &chatv1.AnswerJoinRequestRequest{}, &chatv1.AnswerOrganizationInvitationRequest{}, &chatv1.ImportOrganizationMembersRequest{DryRun: true}} {
		if got := rpc.Costs(m, 0); got != "" {
			t.Errorf("%T takes %q", m, got)
		}
	}
}

// TestMembersOfOrganizationsCount: users whom an admin adds to an organization count as invited, those who are members already do not.
func TestMembersOfOrganizationsCount(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	var org chatv1.Organization
	h.into(&org, h.call(orgCalls+"CreateOrganization", &chatv1.CreateOrganizationRequest{Name: "org", Owner: anna.User, Key: "x"}, bearer(h.key), fmt.Sprint("Rialto-User: ", anna.User)))
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{InviteUser: "5/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	put := func(names ...string) *chatv1.PutOrganizationMembersRequest {
		r := &chatv1.PutOrganizationMembersRequest{Organization: org.Id}
		for _, n := range names {
			r.Members = append(r.Members, &chatv1.OrganizationMemberInput{User: h.person(n).User})
		}
		return r
	}
	call := func(m proto.Message, method, want string) {
		t.Helper()
		if got := h.callFrom("192.0.2.7:80", orgCalls+method, m, anna.AccessToken); got.reason() != want {
			t.Errorf("%s is answered %q, want %q: %s", method, got.reason(), want, got.body)
		}
	}
	call(put("bert", "carol", "dora"), "PutOrganizationMembers", "")
	for range 9 { // nobody is new
		call(put("bert", "carol", "dora"), "PutOrganizationMembers", "")
	}
	body, err := proto.Marshal(put("eve", "frank"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invoke(t.Context(), id.Caller{User: id.User(anna.User)}, orgCalls+"PutOrganizationMembers", body, false); err != nil {
		t.Errorf("two more on a socket: %v", errs.Of(err).Reason)
	}
	call(put("gina"), "PutOrganizationMembers", "too_many_requests")
	call(&chatv1.ImportOrganizationMembersRequest{Organization: org.Id, Csv: "name\nx"}, "ImportOrganizationMembers", "too_many_requests")
	call(&chatv1.AnswerOrganizationInvitationRequest{Organization: org.Id}, "AnswerOrganizationInvitation", "no_invitation")
}
