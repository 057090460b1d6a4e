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

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// thing is what a call is about: a group of alice's, a message in it with a file of hers, a session of hers.
type thing struct {
	conversation, seq, upload, session uint64
	token                              string // of the session
	member                             uint64 // somebody in the group
	other                              uint64 // somebody who is not
}

// row of the matrix: a request, and what comes of it.
type row struct {
	request func(o thing) proto.Message
	// Reasons of refusal; "" is an answer. Who is refused is told the same of what there is and of what there is not.
	owner, member, former, stranger string
	// Server's reason, in anybody's name, where it is another.
	server string
}

// own calls speak of the caller only, or of what all users may see.
func own(request func(o thing) proto.Message) row { return row{request: request} }

// none is the refusal of what is absent, or not for the caller to know.
const none = "no_conversation"

// all are answered with the same reason.
func all(reason string, request func(o thing) proto.Message) row {
	return row{request: request, owner: reason, member: reason, former: reason, stranger: reason}
}

// in a conversation: the owner is answered, members and former members with these reasons; strangers learn nothing.
func in(member, former string, request func(o thing) proto.Message) row {
	return row{request: request, member: member, former: former, stranger: none}
}

// the owner's reason is another.
func (r row) ownerGets(reason string) row {
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
	ids       = "/rialto.id.v1.IDService/"
)

// matrix has a row for each call. A new call takes its place here.
func matrix() map[string]row {
	m := map[string]row{}
	for _, part := range []map[string]row{ofAccounts(), ofGroups(), ofMessages(), ofIDs()} {
		maps.Copy(m, part)
	}
	return m
}

func ofAccounts() map[string]row {
	user := func(make func(u uint64) proto.Message) row {
		return own(func(o thing) proto.Message { return make(o.other) })
	}
	return map[string]row{
		accounts + "Register":      own(func(thing) proto.Message { return &accountv1.RegisterRequest{} }),
		accounts + "Login":         own(func(thing) proto.Message { return &accountv1.LoginRequest{} }),
		accounts + "RequestCode":   own(func(thing) proto.Message { return &accountv1.RequestCodeRequest{} }),
		accounts + "LoginWithCode": own(func(thing) proto.Message { return &accountv1.LoginWithCodeRequest{} }),
		accounts + "Refresh":       own(func(thing) proto.Message { return &accountv1.RefreshRequest{} }),
		accounts + "Logout":        own(func(thing) proto.Message { return &accountv1.LogoutRequest{} }),
		accounts + "ListSessions":  own(func(thing) proto.Message { return &accountv1.ListSessionsRequest{} }),
		accounts + "RevokeSession": own(func(o thing) proto.Message { return &accountv1.RevokeSessionRequest{Session: o.session} }),
		accounts + "ChangePassword": all("bad_password", func(thing) proto.Message {
			return &accountv1.ChangePasswordRequest{OldPassword: "a wrong one", NewPassword: "a good password"}
		}),
		accounts + "CreateTicket":   {request: func(thing) proto.Message { return &accountv1.CreateTicketRequest{} }, server: "no_session"},
		accounts + "GetUsers":       user(func(u uint64) proto.Message { return &accountv1.GetUsersRequest{Users: []uint64{u}} }),
		accounts + "SearchUsers":    own(func(thing) proto.Message { return &accountv1.SearchUsersRequest{Query: "a"} }),
		accounts + "UpdateProfile":  all("no_upload", func(o thing) proto.Message { return &accountv1.UpdateProfileRequest{Avatar: &o.upload} }).ownerGets(""),
		accounts + "GetSettings":    own(func(thing) proto.Message { return &accountv1.GetSettingsRequest{} }),
		accounts + "UpdateSettings": own(func(thing) proto.Message { return &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{}} }),

		admins + "PutUser":       own(func(thing) proto.Message { return &accountv1.PutUserRequest{ExternalId: "x"} }),
		admins + "CreateSession": own(func(thing) proto.Message { return &accountv1.CreateSessionRequest{ExternalId: "alice"} }),

		graphs + "RequestFriend":  user(func(u uint64) proto.Message { return &accountv1.RequestFriendRequest{User: u} }),
		graphs + "AnswerFriend":   all("no_request", func(o thing) proto.Message { return &accountv1.AnswerFriendRequest{User: o.other} }),
		graphs + "RemarkFriend":   all("no_friend", func(o thing) proto.Message { return &accountv1.RemarkFriendRequest{User: o.other} }),
		graphs + "DeleteFriend":   user(func(u uint64) proto.Message { return &accountv1.DeleteFriendRequest{User: u} }),
		graphs + "Block":          user(func(u uint64) proto.Message { return &accountv1.BlockRequest{User: u} }),
		graphs + "Unblock":        user(func(u uint64) proto.Message { return &accountv1.UnblockRequest{User: u} }),
		graphs + "Follow":         user(func(u uint64) proto.Message { return &accountv1.FollowRequest{User: u} }),
		graphs + "Unfollow":       user(func(u uint64) proto.Message { return &accountv1.UnfollowRequest{User: u} }),
		graphs + "ListRelations":  own(func(thing) proto.Message { return &accountv1.ListRelationsRequest{} }),
		graphs + "SuggestFriends": own(func(thing) proto.Message { return &accountv1.SuggestFriendsRequest{} }),

		presences + "GetPresence": user(func(u uint64) proto.Message { return &presencev1.GetPresenceRequest{Users: []uint64{u}} }),
	}
}

func ofGroups() map[string]row {
	const denied = "not_allowed"
	return map[string]row{
		chats + "OpenDirect": own(func(o thing) proto.Message { return &chatv1.OpenDirectRequest{User: o.other} }),
		chats + "CreateGroup": own(func(o thing) proto.Message {
			return &chatv1.CreateGroupRequest{Title: "new", Members: []uint64{o.other}}
		}),
		chats + "GetConversation":   in("", "", func(o thing) proto.Message { return &chatv1.GetConversationRequest{Conversation: o.conversation} }),
		chats + "ListConversations": own(func(thing) proto.Message { return &chatv1.ListConversationsRequest{} }),
		chats + "ListMembers":       in("", none, func(o thing) proto.Message { return &chatv1.ListMembersRequest{Conversation: o.conversation} }),
		chats + "Invite": in(denied, none, func(o thing) proto.Message {
			return &chatv1.InviteRequest{Conversation: o.conversation, Users: []uint64{o.other}}
		}),
		chats + "Remove": in(denied, none, func(o thing) proto.Message {
			return &chatv1.RemoveRequest{Conversation: o.conversation, Users: []uint64{o.member}}
		}),
		chats + "Leave":            in("", none, func(o thing) proto.Message { return &chatv1.LeaveRequest{Conversation: o.conversation} }).ownerGets("owner_stays"),
		chats + "Join":             in("", none, func(o thing) proto.Message { return &chatv1.JoinRequest{Conversation: o.conversation} }),
		chats + "ListJoinRequests": in(denied, none, func(o thing) proto.Message { return &chatv1.ListJoinRequestsRequest{Conversation: o.conversation} }),
		chats + "AnswerJoinRequest": in(denied, none, func(o thing) proto.Message {
			return &chatv1.AnswerJoinRequestRequest{Conversation: o.conversation, User: o.other}
		}).ownerGets("no_request"),
		chats + "CreateJoinLink": in(denied, none, func(o thing) proto.Message { return &chatv1.CreateJoinLinkRequest{Conversation: o.conversation} }),
		chats + "SetRole": in(denied, none, func(o thing) proto.Message {
			return &chatv1.SetRoleRequest{Conversation: o.conversation, User: o.member, Role: chatv1.Role_ROLE_ADMIN}
		}),
		chats + "Transfer": in(denied, none, func(o thing) proto.Message {
			return &chatv1.TransferRequest{Conversation: o.conversation, User: o.member}
		}),
		chats + "MuteMembers": in(denied, none, func(o thing) proto.Message { return &chatv1.MuteMembersRequest{Conversation: o.conversation} }),
		chats + "UpdateGroup": in(denied, none, func(o thing) proto.Message {
			return &chatv1.UpdateGroupRequest{Conversation: o.conversation, Title: proto.String("x")}
		}),
		chats + "SetRetention": in(denied, none, func(o thing) proto.Message {
			return &chatv1.SetRetentionRequest{Conversation: o.conversation, Days: 90}
		}),
		chats + "Dissolve": in(denied, none, func(o thing) proto.Message { return &chatv1.DissolveRequest{Conversation: o.conversation} }),
	}
}

func ofMessages() map[string]row {
	return map[string]row{
		chats + "Send": in("", none, func(o thing) proto.Message {
			return &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: "1", Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}
		}),
		// A former member reads what was said before the leaving.
		chats + "History":   in("", "", func(o thing) proto.Message { return &chatv1.HistoryRequest{Conversation: o.conversation} }),
		chats + "Mark":      in("", "", func(o thing) proto.Message { return &chatv1.MarkRequest{Conversation: o.conversation, ReadSeq: 1} }),
		chats + "Configure": in("", "", func(o thing) proto.Message { return &chatv1.ConfigureRequest{Conversation: o.conversation} }),
		chats + "ListReaders": in("not_sender", "not_sender", func(o thing) proto.Message {
			return &chatv1.ListReadersRequest{Conversation: o.conversation, Seq: o.seq}
		}),
		chats + "Sync": own(func(thing) proto.Message { return &chatv1.SyncRequest{} }),

		medias + "CreateUpload":   own(func(thing) proto.Message { return &chatv1.CreateUploadRequest{Name: "x", Size: 1} }),
		medias + "CompleteUpload": all("no_upload", func(o thing) proto.Message { return &chatv1.CompleteUploadRequest{Upload: o.upload} }).ownerGets(""),
		medias + "GetDownload": in("", "", func(o thing) proto.Message {
			return &chatv1.GetDownloadRequest{Upload: o.upload, Conversation: o.conversation, Seq: o.seq}
		}),
	}
}

func ofIDs() map[string]row {
	return map[string]row{
		ids + "Next":    own(func(thing) proto.Message { return &idv1.NextRequest{Tag: "segment", Count: 1} }),
		ids + "Explain": own(func(thing) proto.Message { return &idv1.ExplainRequest{Id: "1"} }),
		ids + "Ping":    own(func(thing) proto.Message { return &idv1.PingRequest{} }),
		ids + "PutTag": own(func(thing) proto.Message {
			return &idv1.PutTagRequest{Tag: &idv1.Tag{Name: "orders", Scheme: "segment"}}
		}),
		ids + "GetTag":    own(func(thing) proto.Message { return &idv1.GetTagRequest{Name: "segment"} }),
		ids + "ListTags":  own(func(thing) proto.Message { return &idv1.ListTagsRequest{} }),
		ids + "DeleteTag": own(func(thing) proto.Message { return &idv1.DeleteTagRequest{Name: "orders"} }),
	}
}

// people of the matrix.
type people struct{ alice, bob, carol, dave person }

// thing makes what a call is about: alice's group with bob, from which dave was removed; carol and other are strangers.
func (h *house) thing(p people, other string) thing {
	h.t.Helper()
	ctx := h.t.Context()
	h.clock.ms.Add(1)
	open := h.session("alice")
	o := thing{member: p.bob.User, other: h.person(other).User, session: open.Session.Session, token: open.AccessToken}
	c, err := h.chat.CreateGroup(ctx, p.alice.user(), &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{p.bob.User, p.dave.User}})
	if err != nil {
		h.t.Fatal(err)
	}
	o.conversation, o.upload = uint64(c), h.upload(p.alice, pixel(h.t))
	content := &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: o.upload, Name: "x.png"}}}
	sent := h.call(chats+"Send", &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: "the file", Content: content}, bearer(p.alice.AccessToken))
	if sent.status != http.StatusOK {
		h.t.Fatal(sent)
	}
	o.seq = 2
	if _, err := h.chat.Remove(ctx, c, p.alice.user(), []uint64{p.dave.User}); err != nil {
		h.t.Fatal(err)
	}
	return o
}

// nothing is a thing that there is not.
func (o thing) nothing() thing {
	return thing{conversation: o.conversation + 1<<30, seq: o.seq, upload: o.upload + 1<<30, session: o.session + 1<<30, member: o.member, other: o.other}
}

func TestEachCallHasItsRow(t *testing.T) {
	h := newHouse(t)
	rows, calls := matrix(), h.Calls()
	for name := range calls {
		if rows[name].request == nil {
			t.Errorf("%s has no row in the matrix of who may do what", name)
		}
	}
	for name := range rows {
		if calls[name] == "" {
			t.Errorf("the matrix has %s, which is no call", name)
		}
	}
	// What the contract says is what is served.
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
	h := newHouse(t)
	h.person("alice")
	old := h.session("alice")
	h.clock.ms.Add(16 * time.Minute.Milliseconds())
	bob, dead := h.person("bob"), h.session("alice")
	if err := h.accounts.Logout(t.Context(), dead.caller(), false); err != nil {
		t.Fatal(err)
	}
	o := thing{conversation: 1, seq: 1, upload: 1, session: 1, member: 1, other: bob.User}
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
				t.Errorf("%s without credentials: %s", name, got)
			}
			continue
		}
		for header, want := range bad {
			got := h.call(name, request, header)
			if got.status != http.StatusUnauthorized || got.reason() != want {
				t.Errorf("%s with %.40s: %d %s", name, header, got.status, got.body)
			}
		}
		if who == "servers" {
			if got := h.call(name, request, bearer(bob.AccessToken)); got.status != http.StatusForbidden || got.reason() != "no_key" {
				t.Errorf("%s by a user: %d %s", name, got.status, got.body)
			}
			if got := h.call(name, request, bearer(h.key)); got.status != http.StatusOK {
				t.Errorf("%s by a server: %d %s", name, got.status, got.body)
			}
			continue
		}
		for value, want := range map[string]string{"": "no_user", "0": "no_user", "bob": "no_user", "-1": "no_user", "18446744073709551616": "no_user", "18446744073709551615": "no_user", "77": "no_user"} {
			got := h.call(name, request, bearer(h.key), "Rialto-User: "+value)
			if got.status != http.StatusBadRequest && got.status != http.StatusNotFound || got.reason() != want {
				t.Errorf("%s for the user %q: %d %s", name, value, got.status, got.body)
			}
		}
	}
}

// TestAUserIsNobodyElse: the header by which a server names a user means nothing beside a user's own token.
func TestAUserIsNobodyElse(t *testing.T) {
	h := newHouse(t)
	alice, bob := h.person("alice"), h.person("bob")
	got := h.call(accounts+"ListSessions", &accountv1.ListSessionsRequest{}, bearer(alice.AccessToken), fmt.Sprint("Rialto-User: ", bob.User))
	if got.status != http.StatusOK || !strings.Contains(got.body, fmt.Sprint(alice.Session.Session)) || strings.Contains(got.body, fmt.Sprint(bob.Session.Session)) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestWhoMayDoWhat makes each call as stranger, former member, member and owner, by their tokens and by a server in their names.
func TestWhoMayDoWhat(t *testing.T) {
	h := newHouse(t)
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
			as := func(person string) []string {
				s := h.sessionFor(name, person)
				if server {
					return []string{bearer(h.key), fmt.Sprint("Rialto-User: ", s.User)}
				}
				return []string{bearer(s.AccessToken)}
			}
			o := h.thing(p, fmt.Sprintf("other%d.%t", n, server))
			for _, by := range []struct{ who, want string }{{"carol", row.stranger}, {"dave", row.former}, {"bob", row.member}} {
				got := h.call(name, row.request(o), as(by.who)...)
				if got.reason() != by.want || (got.status == http.StatusOK) != (by.want == "") {
					t.Errorf("%s by %s (server %v): %d %s; want %q", name, by.who, server, got.status, got.body, by.want)
				}
				if by.want == "" || by.want != row.stranger {
					continue // they know of it
				}
				if absent := h.call(name, row.request(o.nothing()), as(by.who)...); absent.status != got.status || absent.body != got.body {
					t.Errorf("%s by %s: there is one: %d %s; there is none: %d %s", name, by.who, got.status, got.body, absent.status, absent.body)
				}
			}
			if _, err := h.accounts.Verify(t.Context(), o.token); err != nil {
				t.Errorf("%s by others ended a session: %v", name, err)
			}
			if got := h.call(name, row.request(o), as("alice")...); got.reason() != row.owner || (got.status == http.StatusOK) != (row.owner == "") {
				t.Errorf("%s by the owner (server %v): %d %s; want %q", name, server, got.status, got.body, row.owner)
			}
		}
	}
}

// TestOneWhoIsBlocked makes each call about somebody who has blocked the caller.
func TestOneWhoIsBlocked(t *testing.T) {
	h := newHouse(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	rows, calls := matrix(), h.Calls()
	refused := map[string]string{
		chats + "Send": "blocked", chats + "SetRetention": "blocked", chats + "CreateGroup": "blocked", chats + "Invite": "blocked", graphs + "Follow": "blocked",
	}
	o := h.thing(p, "other")
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
			t.Errorf("%s by one who is blocked: %d %s; want %q", name, got.status, got.body, want)
		}
	}
}

// TestFilesOfOthers: a file is named by its owner, and read by those who may read a message that names it.
func TestFilesOfOthers(t *testing.T) {
	h := newHouse(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	o := h.thing(p, "other")
	later := h.upload(p.alice, pixel(t)) // of a message after dave was removed
	file := func(upload uint64) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: upload, Name: "x.png"}}}
	}
	send := func(p person, content *chatv1.Content) answer {
		return h.call(chats+"Send", &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: fmt.Sprint(content.GetFile().GetUpload()), Content: content}, bearer(p.AccessToken))
	}
	if got := send(p.alice, file(later)); got.status != http.StatusOK || !strings.Contains(got.body, `"seq":"4"`) {
		t.Fatal(got)
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
		{"a stranger", p.carol, "GetDownload", download(later, 4), "no_conversation"},
		{"a member completes another's", p.bob, "CompleteUpload", &chatv1.CompleteUploadRequest{Upload: o.upload}, "no_upload"},
	} {
		if got := h.call(medias+c.method, c.m, bearer(c.by.AccessToken)); got.reason() != c.want || (got.status == http.StatusOK) != (c.want == "") {
			t.Errorf("%s: %d %s; want %q", c.what, got.status, got.body, c.want)
		}
	}
	if got := send(p.bob, file(o.upload)); got.reason() != "no_upload" {
		t.Errorf("a member sends another's file: %d %s", got.status, got.body)
	}
	bobs := h.upload(p.bob, pixel(t))
	if got := h.call(chats+"UpdateGroup", &chatv1.UpdateGroupRequest{Conversation: o.conversation, Avatar: &bobs}, bearer(p.alice.AccessToken)); got.reason() != "no_upload" {
		t.Errorf("another's picture becomes the group's: %d %s", got.status, got.body)
	}
	text := h.upload(p.bob, []byte("no picture"))
	if got := h.call(accounts+"UpdateProfile", &accountv1.UpdateProfileRequest{Avatar: &text}, bearer(p.bob.AccessToken)); got.reason() != "not_an_image" {
		t.Errorf("a text becomes a picture: %d %s", got.status, got.body)
	}
	// A picture of a user is for all.
	if got := h.call(accounts+"UpdateProfile", &accountv1.UpdateProfileRequest{Avatar: &bobs}, bearer(p.bob.AccessToken)); got.status != http.StatusOK || !strings.Contains(got.body, "avatarUrl") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := h.call(medias+"GetDownload", download(bobs, 0), bearer(p.carol.AccessToken)); got.status != http.StatusOK {
		t.Errorf("a stranger sees no picture: %d %s", got.status, got.body)
	}
}
