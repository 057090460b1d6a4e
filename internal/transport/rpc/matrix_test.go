package rpc_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// subject has the objects of a call: alice's group, a message in it with her file, and her session.
type subject struct {
	conversation, seq, upload, session uint64
	room                               uint64 // of alice
	organization                       uint64 // of alice, with bob
	official, broadcast, post, comment uint64 // alice, who is an official account, a broadcast, a post for bob, and a comment on it
	token                              string // of the session
	member                             uint64 // a member of the group
	other                              uint64 // a user outside the group
}

// row of the matrix: a request, and its expected answers.
type row struct {
	request func(o subject) proto.Message
	// Reasons of refusal; "" is success. A refused caller gets the same answer for an existing and for a missing object.
	owner, member, former, outsider string
	// The reason for a server in the name of any user, if it differs.
	server string
	// serverMay: a server in the name of any user succeeds.
	serverMay bool
}

// own calls concern only the caller, or public data.
func own(request func(o subject) proto.Message) row { return row{request: request} }

const none = "no_conversation" // the refusal for objects that are missing or not visible to the caller

// all callers get the same reason.
func all(reason string, request func(o subject) proto.Message) row {
	return row{request: request, owner: reason, member: reason, former: reason, outsider: reason}
}

// in a conversation: the owner succeeds, members and former members get these reasons; non-members learn nothing.
func in(member, former string, request func(o subject) proto.Message) row {
	return row{request: request, member: member, former: former, outsider: none}
}

// ownerRefused sets another reason for the owner.
func (r row) ownerRefused(reason string) row {
	r.owner = reason
	return r
}

const (
	accounts  = "/rialto.account.v1.AccountService/"
	admins    = "/rialto.account.v1.AdminService/"
	graphs    = "/rialto.account.v1.GraphService/"
	chats     = "/rialto.chat.v1.ChatService/"
	medias    = "/rialto.chat.v1.MediaService/"
	presences = "/rialto.presence.v1.PresenceService/"
	orgCalls  = "/rialto.chat.v1.OrganizationService/"
	roomCalls = "/rialto.chat.v1.RoomService/"
	officials = "/rialto.chat.v1.OfficialAccountService/"
	deskCalls = "/rialto.chat.v1.HelpDeskService/"
	ids       = "/rialto.id.v1.IDService/"
)

// matrix has a row for each call. Add a row for each new call.
func matrix() map[string]row {
	m := map[string]row{}
	for _, part := range []map[string]row{ofAccounts(), ofSecurity(), ofPrivacy(), ofGroups(), ofMessages(), ofUploads(), ofRooms(), ofOrganizations(), ofOfficialAccounts(), ofHelpDesks(), ofFeeds(), ofComments(), ofEngagement(), ofRankings(), ofNotifications(), ofPushes(), ofVideos(), ofSearches(), ofServerEvents(), ofTransactions(), ofBridges(), ofMessageTraces(), ofOperations(), ofInterchange(), ofModeration(), ofStreamedMessages(), ofIDs(), ofGateways()} {
		maps.Copy(m, part)
	}
	return m
}

func ofAccounts() map[string]row {
	user := func(make func(u uint64) proto.Message) row {
		return own(func(o subject) proto.Message { return make(o.other) })
	}
	return map[string]row{
		accounts + "Register":        own(func(subject) proto.Message { return &accountv1.RegisterRequest{} }),
		accounts + "GetLoginMethods": own(func(subject) proto.Message { return &accountv1.GetLoginMethodsRequest{} }),
		accounts + "Login":           own(func(subject) proto.Message { return &accountv1.LoginRequest{} }),
		accounts + "RequestCode":     own(func(subject) proto.Message { return &accountv1.RequestCodeRequest{} }),
		accounts + "LoginWithCode":   own(func(subject) proto.Message { return &accountv1.LoginWithCodeRequest{} }),
		accounts + "Refresh":         own(func(subject) proto.Message { return &accountv1.RefreshRequest{} }),
		accounts + "Logout":          own(func(subject) proto.Message { return &accountv1.LogoutRequest{} }),
		accounts + "ListSessions":    own(func(subject) proto.Message { return &accountv1.ListSessionsRequest{} }),
		accounts + "RevokeSession":   own(func(o subject) proto.Message { return &accountv1.RevokeSessionRequest{Session: o.session} }),
		accounts + "ChangePassword": all("bad_password", func(subject) proto.Message {
			return &accountv1.ChangePasswordRequest{OldPassword: "a wrong one", NewPassword: "a good password"}
		}),
		accounts + "CreateTicket":   {request: func(subject) proto.Message { return &accountv1.CreateTicketRequest{} }, server: "no_session"},
		accounts + "GetUsers":       user(func(u uint64) proto.Message { return &accountv1.GetUsersRequest{Users: []uint64{u}} }),
		accounts + "SearchUsers":    own(func(subject) proto.Message { return &accountv1.SearchUsersRequest{Query: "a"} }),
		accounts + "UpdateProfile":  all("no_upload", func(o subject) proto.Message { return &accountv1.UpdateProfileRequest{Avatar: &o.upload} }).ownerRefused(""),
		accounts + "GetSettings":    own(func(subject) proto.Message { return &accountv1.GetSettingsRequest{} }),
		accounts + "UpdateSettings": own(func(subject) proto.Message { return &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{}} }),

		admins + "PutUser":       own(func(subject) proto.Message { return &accountv1.PutUserRequest{ExternalId: "x"} }),
		admins + "CreateSession": own(func(subject) proto.Message { return &accountv1.CreateSessionRequest{ExternalId: "alice"} }),

		graphs + "RequestFriend":  user(func(u uint64) proto.Message { return &accountv1.RequestFriendRequest{User: u} }),
		graphs + "AnswerFriend":   all("no_request", func(o subject) proto.Message { return &accountv1.AnswerFriendRequest{User: o.other} }),
		graphs + "RemarkFriend":   all("no_friend", func(o subject) proto.Message { return &accountv1.RemarkFriendRequest{User: o.other} }),
		graphs + "Mute":           user(func(u uint64) proto.Message { return &accountv1.MuteRequest{User: u} }),
		graphs + "Unmute":         user(func(u uint64) proto.Message { return &accountv1.UnmuteRequest{User: u} }),
		graphs + "DeleteFriend":   user(func(u uint64) proto.Message { return &accountv1.DeleteFriendRequest{User: u} }),
		graphs + "Block":          user(func(u uint64) proto.Message { return &accountv1.BlockRequest{User: u} }),
		graphs + "Unblock":        user(func(u uint64) proto.Message { return &accountv1.UnblockRequest{User: u} }),
		graphs + "Follow":         user(func(u uint64) proto.Message { return &accountv1.FollowRequest{User: u} }),
		graphs + "Unfollow":       user(func(u uint64) proto.Message { return &accountv1.UnfollowRequest{User: u} }),
		graphs + "ListRelations":  own(func(subject) proto.Message { return &accountv1.ListRelationsRequest{} }),
		graphs + "SuggestFriends": own(func(subject) proto.Message { return &accountv1.SuggestFriendsRequest{} }),

		presences + "ListDevices": user(func(uint64) proto.Message { return &presencev1.ListDevicesRequest{} }),
		presences + "GetPresence": user(func(u uint64) proto.Message { return &presencev1.GetPresenceRequest{Users: []uint64{u}} }),
	}
}

func ofGroups() map[string]row {
	const denied = "not_allowed"
	return map[string]row{
		chats + "OpenDirect": own(func(o subject) proto.Message { return &chatv1.OpenDirectRequest{User: o.other} }),
		chats + "CreateGroup": own(func(o subject) proto.Message {
			return &chatv1.CreateGroupRequest{Title: "new", Members: []uint64{o.other}}
		}),
		chats + "GetConversation":   in("", "", func(o subject) proto.Message { return &chatv1.GetConversationRequest{Conversation: o.conversation} }),
		chats + "ListConversations": own(func(subject) proto.Message { return &chatv1.ListConversationsRequest{} }),
		chats + "StartThread": in("", none, func(o subject) proto.Message {
			return &chatv1.StartThreadRequest{Conversation: o.conversation, Seq: o.seq}
		}),
		chats + "ListThreads": own(func(subject) proto.Message { return &chatv1.ListThreadsRequest{} }),
		chats + "ListMembers": in("", none, func(o subject) proto.Message { return &chatv1.ListMembersRequest{Conversation: o.conversation} }),
		chats + "Invite": in(denied, none, func(o subject) proto.Message {
			return &chatv1.InviteRequest{Conversation: o.conversation, Users: []uint64{o.other}}
		}),
		chats + "Remove": in(denied, none, func(o subject) proto.Message {
			return &chatv1.RemoveRequest{Conversation: o.conversation, Users: []uint64{o.member}}
		}),
		chats + "Leave":            in("", none, func(o subject) proto.Message { return &chatv1.LeaveRequest{Conversation: o.conversation} }).ownerRefused("owner_stays"),
		chats + "Join":             in("", none, func(o subject) proto.Message { return &chatv1.JoinRequest{Conversation: o.conversation} }),
		chats + "ListJoinRequests": in(denied, none, func(o subject) proto.Message { return &chatv1.ListJoinRequestsRequest{Conversation: o.conversation} }),
		chats + "AnswerJoinRequest": in(denied, none, func(o subject) proto.Message {
			return &chatv1.AnswerJoinRequestRequest{Conversation: o.conversation, User: o.other}
		}).ownerRefused("no_request"),
		chats + "ListInvitations": own(func(subject) proto.Message { return &chatv1.ListInvitationsRequest{} }),
		chats + "AnswerInvitation": all("no_invitation", func(o subject) proto.Message {
			return &chatv1.AnswerInvitationRequest{Conversation: o.conversation, Accept: true}
		}),
		chats + "ListGroupInvitations": in(denied, none, func(o subject) proto.Message {
			return &chatv1.ListGroupInvitationsRequest{Conversation: o.conversation}
		}),
		chats + "CancelInvitation": in(denied, none, func(o subject) proto.Message {
			return &chatv1.CancelInvitationRequest{Conversation: o.conversation, User: o.other}
		}).ownerRefused("not_invited"),
		chats + "CreateJoinLink":  in(denied, none, func(o subject) proto.Message { return &chatv1.CreateJoinLinkRequest{Conversation: o.conversation} }),
		chats + "RevokeJoinLink":  in(denied, none, func(o subject) proto.Message { return &chatv1.RevokeJoinLinkRequest{Conversation: o.conversation} }),
		chats + "PreviewJoinLink": all("bad_link", func(subject) proto.Message { return &chatv1.PreviewJoinLinkRequest{Token: "x"} }),
		chats + "Ban": in(denied, none, func(o subject) proto.Message {
			return &chatv1.BanRequest{Conversation: o.conversation, Users: []uint64{o.other}}
		}),
		chats + "Unban": in(denied, none, func(o subject) proto.Message {
			return &chatv1.UnbanRequest{Conversation: o.conversation, Users: []uint64{o.other}}
		}),
		chats + "ListBans": in(denied, none, func(o subject) proto.Message { return &chatv1.ListBansRequest{Conversation: o.conversation} }),
		chats + "SetRole": in(denied, none, func(o subject) proto.Message {
			return &chatv1.SetRoleRequest{Conversation: o.conversation, User: o.member, Role: chatv1.Role_ROLE_ADMIN}
		}),
		chats + "Transfer": in(denied, none, func(o subject) proto.Message {
			return &chatv1.TransferRequest{Conversation: o.conversation, User: o.member}
		}),
		chats + "MuteMembers": in(denied, none, func(o subject) proto.Message { return &chatv1.MuteMembersRequest{Conversation: o.conversation} }),
		chats + "UpdateGroup": in(denied, none, func(o subject) proto.Message {
			return &chatv1.UpdateGroupRequest{Conversation: o.conversation, Title: proto.String("x")}
		}),
		chats + "SetRetention": in(denied, none, func(o subject) proto.Message {
			return &chatv1.SetRetentionRequest{Conversation: o.conversation, Seconds: 90 * 86_400}
		}),
		chats + "DeleteMessages": in("", "", func(o subject) proto.Message {
			return &chatv1.DeleteMessagesRequest{Conversation: o.conversation, Seqs: []uint64{o.seq}}
		}),
		chats + "ClearHistory": in("", "", func(o subject) proto.Message {
			return &chatv1.ClearHistoryRequest{Conversation: o.conversation, ThroughSeq: 1}
		}),
		chats + "Dissolve": in(denied, none, func(o subject) proto.Message { return &chatv1.DissolveRequest{Conversation: o.conversation} }),
	}
}

func ofMessages() map[string]row {
	return map[string]row{
		chats + "Send": in("", none, func(o subject) proto.Message {
			return &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: "1", Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}
		}),
		// A former member can read messages from before the leave.
		chats + "History": in("", "", func(o subject) proto.Message { return &chatv1.HistoryRequest{Conversation: o.conversation} }),
		chats + "GetMessages": in("", "", func(o subject) proto.Message {
			return &chatv1.GetMessagesRequest{Conversation: o.conversation, Seqs: []uint64{o.seq}}
		}),
		chats + "ListReactions": in("", "", func(o subject) proto.Message {
			return &chatv1.ListReactionsRequest{Conversation: o.conversation, Seq: o.seq, Emoji: "👍"}
		}),
		chats + "ListPins": in("", "", func(o subject) proto.Message { return &chatv1.ListPinsRequest{Conversation: o.conversation} }),
		chats + "ListEdits": in("", "", func(o subject) proto.Message {
			return &chatv1.ListEditsRequest{Conversation: o.conversation, Seq: o.seq}
		}),
		chats + "PreviewLink": all("previews_off", func(subject) proto.Message { return &chatv1.PreviewLinkRequest{Url: "https://example.com"} }),
		chats + "Mark":        in("", "", func(o subject) proto.Message { return &chatv1.MarkRequest{Conversation: o.conversation, ReadSeq: 1} }),
		chats + "Configure":   in("", "", func(o subject) proto.Message { return &chatv1.ConfigureRequest{Conversation: o.conversation} }),
		chats + "ListFolders": own(func(subject) proto.Message { return &chatv1.ListFoldersRequest{} }),
		chats + "CreateFolder": in("", "", func(o subject) proto.Message {
			return &chatv1.CreateFolderRequest{Name: fmt.Sprint(o.conversation), Conversations: []uint64{o.conversation}}
		}),
		chats + "UpdateFolder": all("no_folder", func(subject) proto.Message { return &chatv1.UpdateFolderRequest{Id: 5} }),
		chats + "DeleteFolder": own(func(subject) proto.Message { return &chatv1.DeleteFolderRequest{Id: 5} }),
		chats + "OrderFolders": own(func(subject) proto.Message { return &chatv1.OrderFoldersRequest{Ids: []uint64{5}} }),
		chats + "ListReaders": in("not_sender", "not_sender", func(o subject) proto.Message {
			return &chatv1.ListReadersRequest{Conversation: o.conversation, Seq: o.seq}
		}),
		chats + "ListDeliveries": in("not_sender", "not_sender", func(o subject) proto.Message {
			return &chatv1.ListDeliveriesRequest{Conversation: o.conversation, Seq: o.seq}
		}),
		chats + "ScheduleMessage": in("", none, func(o subject) proto.Message {
			return &chatv1.ScheduleMessageRequest{Conversation: o.conversation, ClientMsgId: "1", SendMs: 1_800_000_000_000 + 1000*3600, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}
		}),
		chats + "ListScheduled":   own(func(o subject) proto.Message { return &chatv1.ListScheduledRequest{Conversation: o.conversation} }),
		chats + "UpdateScheduled": all("no_scheduled", func(o subject) proto.Message { return &chatv1.UpdateScheduledRequest{Id: o.seq, SendMs: 1} }),
		chats + "CancelScheduled": all("no_scheduled", func(o subject) proto.Message { return &chatv1.CancelScheduledRequest{Id: o.seq} }),
		chats + "Sync":            own(func(subject) proto.Message { return &chatv1.SyncRequest{} }),

		medias + "CreateUpload":   own(func(subject) proto.Message { return &chatv1.CreateUploadRequest{Name: "x", Size: 1} }),
		medias + "CompleteUpload": all("no_upload", func(o subject) proto.Message { return &chatv1.CompleteUploadRequest{Upload: o.upload} }).ownerRefused(""),
		medias + "GetDownload": in("", "", func(o subject) proto.Message {
			return &chatv1.GetDownloadRequest{Upload: o.upload, Conversation: o.conversation, Seq: o.seq}
		}),
	}
}

// ofRooms: whoever knows a room's id sees it and writes in it; others than moderators do not learn whether a room that they want to change exists.
func ofRooms() map[string]row {
	moderators := func(request func(o subject) proto.Message) row { return all("not_moderator", request).ownerRefused("") }
	return map[string]row{
		roomCalls + "CreateRoom": own(func(subject) proto.Message { return &chatv1.CreateRoomRequest{Title: "new"} }),
		roomCalls + "GetRoom":    own(func(o subject) proto.Message { return &chatv1.GetRoomRequest{Room: o.room} }),
		roomCalls + "ListRooms":  own(func(subject) proto.Message { return &chatv1.ListRoomsRequest{} }),
		roomCalls + "UpdateRoom": moderators(func(o subject) proto.Message {
			return &chatv1.UpdateRoomRequest{Room: o.room, Title: proto.String("x")}
		}),
		roomCalls + "CloseRoom": moderators(func(o subject) proto.Message { return &chatv1.CloseRoomRequest{Room: o.room} }),
		roomCalls + "SetRoomModerator": moderators(func(o subject) proto.Message {
			return &chatv1.SetRoomModeratorRequest{Room: o.room, User: o.member, Moderator: true}
		}),
		roomCalls + "KickFromRoom": moderators(func(o subject) proto.Message {
			return &chatv1.KickFromRoomRequest{Room: o.room, User: o.member, Seconds: 60}
		}),
		roomCalls + "MuteInRoom": moderators(func(o subject) proto.Message {
			return &chatv1.MuteInRoomRequest{Room: o.room, User: o.member, Seconds: 60}
		}),
		roomCalls + "ListRoomRestrictions": moderators(func(o subject) proto.Message { return &chatv1.ListRoomRestrictionsRequest{Room: o.room} }),
		roomCalls + "SendRoomMessage": own(func(o subject) proto.Message {
			return &chatv1.SendRoomMessageRequest{Room: o.room, Kind: &chatv1.SendRoomMessageRequest_Text{Text: "hello"}}
		}),
		roomCalls + "LikeRoom": all("not_in_room", func(o subject) proto.Message { return &chatv1.LikeRoomRequest{Room: o.room, Count: 1} }),
	}
}

// ofOfficialAccounts: everybody sees an account and uses its menu; others than operators do not learn whether it exists from what they may not do.
func ofOfficialAccounts() map[string]row {
	operators := func(request func(o subject) proto.Message) row { return all("not_operator", request).ownerRefused("") }
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}
	return map[string]row{
		admins + "PutOfficialAccount":      own(func(o subject) proto.Message { return &accountv1.PutOfficialAccountRequest{User: o.other} }),
		officials + "GetOfficialAccount":   own(func(o subject) proto.Message { return &chatv1.GetOfficialAccountRequest{User: o.official} }),
		officials + "ListOfficialAccounts": own(func(subject) proto.Message { return &chatv1.ListOfficialAccountsRequest{} }),
		officials + "UpdateOfficialAccount": operators(func(o subject) proto.Message {
			return &chatv1.UpdateOfficialAccountRequest{User: o.official, Replies: &chatv1.OfficialReplies{Fallback: content}}
		}),
		officials + "SetOfficialOperator": operators(func(o subject) proto.Message {
			return &chatv1.SetOfficialOperatorRequest{User: o.official, Operator: o.member}
		}),
		officials + "TapOfficialMenu": own(func(o subject) proto.Message { return &chatv1.TapOfficialMenuRequest{User: o.official, Key: "k"} }).ownerRefused("bad_tap"),
		officials + "SetFollowerLabel": operators(func(o subject) proto.Message {
			return &chatv1.SetFollowerLabelRequest{User: o.official, Followers: []uint64{o.other}, Label: "x"}
		}),
		officials + "ReplaceFollowerLabel": operators(func(o subject) proto.Message {
			return &chatv1.ReplaceFollowerLabelRequest{User: o.official, Label: "x"}
		}),
		officials + "ListOfficialFollowers": operators(func(o subject) proto.Message { return &chatv1.ListOfficialFollowersRequest{User: o.official} }),
		officials + "CreateBroadcast": operators(func(o subject) proto.Message {
			return &chatv1.CreateBroadcastRequest{User: o.official, Key: "k", Content: content}
		}),
		officials + "GetBroadcast":   operators(func(o subject) proto.Message { return &chatv1.GetBroadcastRequest{Broadcast: o.broadcast} }),
		officials + "ListBroadcasts": operators(func(o subject) proto.Message { return &chatv1.ListBroadcastsRequest{User: o.official} }),
		officials + "ChangeBroadcast": operators(func(o subject) proto.Message {
			return &chatv1.ChangeBroadcastRequest{Broadcast: o.broadcast, Action: chatv1.ChangeBroadcastRequest_ACTION_PAUSE}
		}),
	}
}

// ofOrganizations: members read, admins change, and for others there is no organization.
func ofOrganizations() map[string]row {
	inside := func(member string, request func(o subject) proto.Message) row {
		return row{request: request, member: member, former: "no_organization", outsider: "no_organization"}
	}
	const admins = "not_organization_admin"
	create := all("needs_key", func(o subject) proto.Message {
		return &chatv1.CreateOrganizationRequest{Name: "new", Key: "new", Owner: o.other}
	})
	create.serverMay = true
	return map[string]row{
		orgCalls + "CreateOrganization": create,
		orgCalls + "ListOrganizations":  own(func(subject) proto.Message { return &chatv1.ListOrganizationsRequest{} }),
		orgCalls + "GetOrganization":    inside("", func(o subject) proto.Message { return &chatv1.GetOrganizationRequest{Organization: o.organization} }),
		orgCalls + "ListDepartments":    inside("", func(o subject) proto.Message { return &chatv1.ListDepartmentsRequest{Organization: o.organization} }),
		orgCalls + "ListOrganizationMembers": inside("", func(o subject) proto.Message {
			return &chatv1.ListOrganizationMembersRequest{Organization: o.organization}
		}),
		orgCalls + "UpdateOrganization": inside(admins, func(o subject) proto.Message {
			return &chatv1.UpdateOrganizationRequest{Organization: o.organization, Name: proto.String("x")}
		}),
		orgCalls + "PutDepartments": inside(admins, func(o subject) proto.Message {
			return &chatv1.PutDepartmentsRequest{Organization: o.organization, Departments: []*chatv1.DepartmentInput{{ExternalId: "x", Name: "x"}}}
		}),
		orgCalls + "RemoveDepartments": inside(admins, func(o subject) proto.Message {
			return &chatv1.RemoveDepartmentsRequest{Organization: o.organization, Departments: []uint64{1}}
		}),
		orgCalls + "PutOrganizationMembers": inside(admins, func(o subject) proto.Message {
			return &chatv1.PutOrganizationMembersRequest{Organization: o.organization, Members: []*chatv1.OrganizationMemberInput{{User: o.other}}}
		}),
		orgCalls + "RemoveOrganizationMembers": inside(admins, func(o subject) proto.Message {
			return &chatv1.RemoveOrganizationMembersRequest{Organization: o.organization, Users: []uint64{o.other}}
		}),
		orgCalls + "InviteToOrganization": inside(admins, func(o subject) proto.Message {
			return &chatv1.InviteToOrganizationRequest{Organization: o.organization, Users: []uint64{o.other}}
		}),
		orgCalls + "ListOrganizationInvitations": inside(admins, func(o subject) proto.Message {
			return &chatv1.ListOrganizationInvitationsRequest{Organization: o.organization}
		}),
		orgCalls + "AnswerOrganizationInvitation": all("no_invitation", func(o subject) proto.Message {
			return &chatv1.AnswerOrganizationInvitationRequest{Organization: o.organization, Accept: true}
		}),
		orgCalls + "CancelOrganizationInvitation": inside(admins, func(o subject) proto.Message {
			return &chatv1.CancelOrganizationInvitationRequest{Organization: o.organization, User: o.other}
		}),
		orgCalls + "TransferOrganization": inside("not_organization_owner", func(o subject) proto.Message {
			return &chatv1.TransferOrganizationRequest{Organization: o.organization, User: o.other}
		}).ownerRefused("not_in_organization"),
		orgCalls + "CreateOrganizationGroup": inside("", func(o subject) proto.Message {
			return &chatv1.CreateOrganizationGroupRequest{Organization: o.organization, Title: "a circle", Members: []uint64{o.member}, Key: "x"}
		}),
		orgCalls + "ImportOrganizationMembers": inside(admins, func(o subject) proto.Message {
			return &chatv1.ImportOrganizationMembersRequest{Organization: o.organization, Csv: "user,title\n1,x\n", Partial: true}
		}),
	}
}

// ofHelpDesks: the users are neither agents nor customers, and learn of no ticket. Package helpdesk tests what agents may.
func ofHelpDesks() map[string]row {
	ticket := func(request func(o subject) proto.Message) row { return all("no_ticket", request) }
	return map[string]row{
		deskCalls + "PutHelpDesk": own(func(subject) proto.Message {
			return &chatv1.PutHelpDeskRequest{Desk: &chatv1.HelpDesk{Key: "support", Name: "Support"}}
		}),
		deskCalls + "ListHelpDesks":  own(func(subject) proto.Message { return &chatv1.ListHelpDesksRequest{} }),
		deskCalls + "OpenTicket":     all("no_help_desk", func(o subject) proto.Message { return &chatv1.OpenTicketRequest{Desk: o.conversation} }),
		deskCalls + "GetTicket":      ticket(func(o subject) proto.Message { return &chatv1.GetTicketRequest{Ticket: o.conversation} }),
		deskCalls + "ListTickets":    own(func(subject) proto.Message { return &chatv1.ListTicketsRequest{} }),
		deskCalls + "TakeTicket":     ticket(func(o subject) proto.Message { return &chatv1.TakeTicketRequest{Ticket: o.conversation} }),
		deskCalls + "TransferTicket": ticket(func(o subject) proto.Message { return &chatv1.TransferTicketRequest{Ticket: o.conversation, Desk: 1} }),
		deskCalls + "ResolveTicket":  ticket(func(o subject) proto.Message { return &chatv1.ResolveTicketRequest{Ticket: o.conversation} }),
		deskCalls + "ReopenTicket":   ticket(func(o subject) proto.Message { return &chatv1.ReopenTicketRequest{Ticket: o.conversation} }),
		deskCalls + "RateTicket":     ticket(func(o subject) proto.Message { return &chatv1.RateTicketRequest{Ticket: o.conversation, Rating: 5} }),
		deskCalls + "GetHelpDeskStats": all("no_help_desk", func(o subject) proto.Message {
			return &chatv1.GetHelpDeskStatsRequest{Desk: o.conversation, FromMs: 1, ToMs: 2}
		}),
	}
}

func ofIDs() map[string]row {
	return map[string]row{
		ids + "Next":    own(func(subject) proto.Message { return &idv1.NextRequest{Tag: "segment", Count: 1} }),
		ids + "Explain": own(func(subject) proto.Message { return &idv1.ExplainRequest{Id: "1"} }),
		ids + "Ping":    own(func(subject) proto.Message { return &idv1.PingRequest{} }),
		ids + "PutTag": own(func(subject) proto.Message {
			return &idv1.PutTagRequest{Tag: &idv1.Tag{Name: "orders", Scheme: "segment"}}
		}),
		ids + "GetTag":    own(func(subject) proto.Message { return &idv1.GetTagRequest{Name: "segment"} }),
		ids + "ListTags":  own(func(subject) proto.Message { return &idv1.ListTagsRequest{} }),
		ids + "DeleteTag": own(func(subject) proto.Message { return &idv1.DeleteTagRequest{Name: "orders"} }),
	}
}

// people of the matrix.
type people struct{ alice, bob, carol, dave person }

// subject makes what a call is about: alice's group with bob, from which dave was removed; carol and other are not members.
func (h *harness) subject(p people, other string) subject {
	h.t.Helper()
	ctx := h.t.Context()
	h.clock.ms.Add(1)
	login := h.session("alice")
	o := subject{member: p.bob.User, other: h.person(other).User, session: login.Session.Session, token: login.AccessToken}
	c, err := h.chat.CreateGroup(ctx, p.alice.user(), &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{p.bob.User, p.dave.User}})
	if err != nil {
		h.t.Fatal(err)
	}
	o.conversation, o.upload = uint64(c), h.upload(p.alice, pixel(h.t))
	content := &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: o.upload, Name: "x.png"}}}
	sent := h.call(chats+"Send", &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: "the file", Content: content}, bearer(p.alice.AccessToken))
	if sent.status != http.StatusOK {
		h.t.Fatalf("the answer is %v, want status 200", sent)
	}
	o.seq = 2
	open, err := h.deps.Rooms.ListRooms(ctx, p.alice.user())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range open.Rooms { // of earlier calls, since their number is limited
		if _, err := h.deps.Rooms.CloseRoom(ctx, p.alice.user(), &chatv1.CloseRoomRequest{Room: r.Id}); err != nil {
			h.t.Fatal(err)
		}
	}
	room, err := h.deps.Rooms.CreateRoom(ctx, p.alice.user(), &chatv1.CreateRoomRequest{Title: "a room"})
	if err != nil {
		h.t.Fatal(err)
	}
	o.room = room.Id
	org, err := h.organizations.CreateOrganization(ctx, id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: "a company", Key: "matrix", Owner: p.alice.User})
	if err != nil {
		h.t.Fatal(err)
	}
	o.organization = org.Id
	if _, err := h.organizations.PutOrganizationMembers(ctx, id.Caller{User: p.alice.user()}, &chatv1.PutOrganizationMembersRequest{Organization: org.Id, Members: []*chatv1.OrganizationMemberInput{{User: p.bob.User}}}); err != nil {
		h.t.Fatal(err)
	}
	h.officialAccount(p.alice, &o)
	o.post = h.publish(p.alice, p.bob)
	o.comment = h.comment(p.alice, o.post)
	if _, err := h.chat.Remove(ctx, c, p.alice.user(), []uint64{p.dave.User}); err != nil {
		h.t.Fatal(err)
	}
	return o
}

// officialAccount makes a person an official account with a menu and a broadcast.
func (h *harness) officialAccount(of person, o *subject) {
	h.t.Helper()
	ctx, a := h.t.Context(), h.deps.Officials
	hello := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}
	menu := &chatv1.OfficialMenu{Entries: []*chatv1.OfficialMenuEntry{{Item: &chatv1.OfficialMenuItem{Title: "hello", Action: &chatv1.OfficialMenuItem_Reply{Reply: hello}}}}}
	_, err := a.Put(ctx, &accountv1.PutOfficialAccountRequest{User: of.User})
	if err == nil {
		_, err = a.Update(ctx, of.user(), &chatv1.UpdateOfficialAccountRequest{User: of.User, Menu: menu})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	b, err := a.CreateBroadcast(ctx, of.user(), &chatv1.CreateBroadcastRequest{User: of.User, Key: "matrix", Content: hello})
	if err != nil {
		h.t.Fatal(err)
	}
	o.official, o.broadcast = of.User, b.Id
}

// missingSubject has objects that do not exist.
func (o subject) missingSubject() subject {
	return subject{conversation: o.conversation + 1<<30, room: o.room + 1<<30, organization: o.organization + 1<<30, official: o.official + 1<<30, broadcast: o.broadcast + 1<<30, post: o.post + 1<<30, comment: o.comment + 1<<30, seq: o.seq, upload: o.upload + 1<<30, session: o.session + 1<<30, member: o.member, other: o.other}
}

func TestMatrixCoversEachCall(t *testing.T) {
	h := newHarness(t)
	rows, calls := matrix(), h.Calls()
	for name := range calls {
		if rows[name].request == nil {
			t.Errorf("%s has no row in the matrix of permissions", name)
		}
	}
	for name := range rows {
		if calls[name] == "" {
			t.Errorf("the matrix has %s, which is not a call", name)
		}
	}
	// The served calls are those of the contract.
	served := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				name := fmt.Sprintf("/%s/%s", s.FullName(), s.Methods().Get(j).Name())
				if served[name] = true; strings.HasPrefix(name, "/rialto.") && calls[name] == "" {
					t.Errorf("%s is in the contract and not served", name)
				}
			}
		}
		return true
	})
	for name := range calls {
		if !served[name] {
			t.Errorf("%s is served and not in the contract", name)
		}
	}
}

func TestCredentials(t *testing.T) {
	h := newHarness(t)
	h.person("alice")
	old := h.session("alice")
	h.clock.ms.Add(16 * time.Minute.Milliseconds())
	bob, dead := h.person("bob"), h.session("alice")
	if err := h.accounts.Logout(t.Context(), dead.caller(), false); err != nil {
		t.Fatal(err)
	}
	o := subject{conversation: 1, seq: 1, upload: 1, session: 1, member: 1, other: bob.User, post: h.publish(bob, h.person("alice"))}
	bad := map[string]string{
		"no credentials": "no_token", "Authorization: " + bob.AccessToken: "no_token", "Authorization: Basic YTpi": "no_token", "Cookie: rialto_access=" + bob.AccessToken: "no_token",
		bearer(""): "bad_token", bearer("x"): "bad_token", bearer(old.AccessToken): "bad_token", bearer(dead.AccessToken): "bad_token", bearer(bob.RefreshToken): "bad_token",
		bearer(bob.AccessToken + "x"): "bad_token", bearer("rk_" + strings.Repeat("A", 43)): "bad_token",
	}
	rows := matrix()
	for name, who := range h.Calls() {
		request := rows[name].request(o)
		if who == "anyone" {
			if got := h.call(name, request).reason(); got == "no_token" || got == "bad_token" {
				t.Errorf("%s without credentials is answered with %s", name, got)
			}
			continue
		}
		for header, want := range bad {
			got := h.call(name, request, header)
			if got.status != http.StatusUnauthorized || got.reason() != want {
				t.Errorf("%s with %.40s is answered with %d %s", name, header, got.status, got.body)
			}
		}
		if key, refusal := h.keyFor(who); key != "" {
			if got := h.call(name, request, bearer(bob.AccessToken)); got.status != http.StatusForbidden || got.reason() != refusal {
				t.Errorf("%s by a user is answered with %d %s", name, got.status, got.body)
			}
			if got := h.call(name, request, bearer(key)); got.reason() != rows[name].owner || (got.status == http.StatusOK) != (rows[name].owner == "") {
				t.Errorf("%s with a key is answered with %d %s", name, got.status, got.body)
			}
			continue
		}
		for value, want := range map[string]string{"": "no_user", "0": "no_user", "bob": "no_user", "-1": "no_user", "18446744073709551616": "no_user", "18446744073709551615": "no_user", "77": "no_user"} {
			got := h.call(name, request, bearer(h.key), "Rialto-User: "+value)
			if got.status != http.StatusBadRequest && got.status != http.StatusNotFound || got.reason() != want {
				t.Errorf("%s for the user %q is answered with %d %s", name, value, got.status, got.body)
			}
		}
	}
}

// TestUsersActOnlyForThemselves: the header with which a server names a user is ignored together with a user's own token.
func TestUsersActOnlyForThemselves(t *testing.T) {
	h := newHarness(t)
	alice, bob := h.person("alice"), h.person("bob")
	got := h.call(accounts+"ListSessions", &accountv1.ListSessionsRequest{}, bearer(alice.AccessToken), fmt.Sprint("Rialto-User: ", bob.User))
	if got.status != http.StatusOK || !strings.Contains(got.body, fmt.Sprint(alice.Session.Session)) || strings.Contains(got.body, fmt.Sprint(bob.Session.Session)) {
		t.Errorf("the call is answered with %d %s", got.status, got.body)
	}
}

// TestCallsArePermittedByRole makes each call as non-member, former member, member and owner, by their tokens and by a server in their names.
func TestCallsArePermittedByRole(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	rows, calls := matrix(), h.Calls()
	for n, name := range slices.Sorted(maps.Keys(rows)) {
		for _, server := range []bool{false, true} {
			if calls[name] != "users" {
				continue
			}
			row := rows[name]
			if server && row.server != "" {
				row = all(row.server, row.request)
			}
			if server && row.serverMay {
				row = own(row.request)
			}
			as := func(person string) []string {
				s := h.sessionFor(name, person)
				if server {
					return []string{bearer(h.key), fmt.Sprint("Rialto-User: ", s.User)}
				}
				return []string{bearer(s.AccessToken)}
			}
			o := h.subject(p, fmt.Sprintf("other%d.%t", n, server))
			for _, by := range []struct{ who, want string }{{"carol", row.outsider}, {"dave", row.former}, {"bob", row.member}} {
				got := h.call(name, row.request(o), as(by.who)...)
				if got.reason() != by.want || (got.status == http.StatusOK) != (by.want == "") {
					t.Errorf("%s by %s (server %v) is answered with %d %s, want %q", name, by.who, server, got.status, got.body, by.want)
				}
				if by.want == "" || by.want != row.outsider {
					continue // they may know that it exists
				}
				if absent := h.call(name, row.request(o.missingSubject()), as(by.who)...); absent.status != got.status || absent.body != got.body {
					t.Errorf("%s by %s: existing object: %d %s; missing object: %d %s", name, by.who, got.status, got.body, absent.status, absent.body)
				}
			}
			if _, err := h.accounts.Verify(t.Context(), o.token); err != nil {
				t.Errorf("%s by another user ended a session: %v", name, err)
			}
			if got := h.call(name, row.request(o), as("alice")...); got.reason() != row.owner || (got.status == http.StatusOK) != (row.owner == "") {
				t.Errorf("%s by the owner (server %v) is answered with %d %s, want %q", name, server, got.status, got.body, row.owner)
			}
		}
	}
}

// TestBlockedUsers makes each call about a user who has blocked the caller.
func TestBlockedUsers(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	rows, calls := matrix(), h.Calls()
	refused := map[string]string{
		chats + "Send": "blocked", chats + "ScheduleMessage": "blocked", chats + "StartStreamedMessage": "blocked", chats + "EndStreamedMessage": "blocked", chats + "SetRetention": "blocked", chats + "CreateGroup": "blocked", chats + "Invite": "blocked", graphs + "Follow": "blocked",
	}
	o := h.subject(p, "other")
	for n, name := range slices.Sorted(maps.Keys(rows)) {
		if calls[name] != "users" {
			continue
		}
		eve := fmt.Sprint("eve", n)
		e := h.person(eve)
		c, err := h.chat.OpenDirect(t.Context(), p.alice.user(), e.user())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.accounts.SetBlock(t.Context(), p.alice.user(), e.user(), true); err != nil {
			t.Fatal(err)
		}
		o.conversation, o.other = uint64(c), p.alice.User
		got := h.call(name, rows[name].request(o), bearer(e.AccessToken))
		if want, ok := refused[name]; ok && got.reason() != want || !ok && got.reason() == "blocked" || got.status >= 500 {
			t.Errorf("%s by a blocked user is answered with %d %s, want %q", name, got.status, got.body, want)
		}
	}
}

// TestFileAccess: only the owner can send a file, and only users who may read a message with the file can read it.
func TestFileAccess(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	o := h.subject(p, "other")
	later := h.upload(p.alice, pixel(t)) // in a message after dave was removed
	file := func(upload uint64) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: upload, Name: "x.png"}}}
	}
	send := func(p person, content *chatv1.Content) answer {
		return h.call(chats+"Send", &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: fmt.Sprint(content.GetFile().GetUpload()), Content: content}, bearer(p.AccessToken))
	}
	if got := send(p.alice, file(later)); got.status != http.StatusOK || !strings.Contains(got.body, `"seq":"4"`) {
		t.Fatalf("the answer is %v, want status 200 with seq 4", got)
	}
	download := func(upload, seq uint64) proto.Message {
		r := &chatv1.GetDownloadRequest{Upload: upload, Seq: seq}
		if seq > 0 {
			r.Conversation = o.conversation
		}
		return r
	}
	for _, c := range []struct {
		what   string
		by     person
		method string
		m      proto.Message
		want   string
	}{
		{"the owner, without a message", p.alice, "GetDownload", download(o.upload, 0), ""},
		{"a member, without a message", p.bob, "GetDownload", download(o.upload, 0), "no_upload"},
		{"a member, by a message that names another", p.bob, "GetDownload", download(later, 2), "no_upload"},
		{"a member, by a message that names none", p.bob, "GetDownload", download(o.upload, 1), "no_upload"},
		{"a member, no file", p.bob, "GetDownload", download(0, 1), "no_upload"},
		{"a member, by a message that there is not", p.bob, "GetDownload", download(o.upload, 99), "no_message"},
		{"a member, by the last number", p.bob, "GetDownload", download(o.upload, math.MaxUint64), "no_message"},
		{"a former member, of then", p.dave, "GetDownload", download(o.upload, 2), ""},
		{"a former member, of later", p.dave, "GetDownload", download(later, 4), "no_message"},
		{"a non-member", p.carol, "GetDownload", download(later, 4), "no_conversation"},
		{"a member completes another's", p.bob, "CompleteUpload", &chatv1.CompleteUploadRequest{Upload: o.upload}, "no_upload"},
	} {
		if got := h.call(medias+c.method, c.m, bearer(c.by.AccessToken)); got.reason() != c.want || (got.status == http.StatusOK) != (c.want == "") {
			t.Errorf("%s is answered with %d %s, want %q", c.what, got.status, got.body, c.want)
		}
	}
	if got := send(p.bob, file(o.upload)); got.reason() != "no_upload" {
		t.Errorf("sending another user's file is answered with %d %s", got.status, got.body)
	}
}
