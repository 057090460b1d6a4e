package rpc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// standing is what a caller is in a group or a channel, beyond the owner, the members and the outsiders of the matrix.
type standing struct {
	name    string
	channel bool
	// before and after a message of alice, the owner, is what gives the caller the standing.
	before, after []step
	// base is the reason of the row in the matrix that applies unless other has one.
	base  func(r row) string
	other map[string]string
}

// step changes what a caller is in a conversation of alice.
type step func(h *harness, c id.Conversation, alice, caller id.User) error

func invited(h *harness, c id.Conversation, alice, caller id.User) error {
	_, err := h.chat.Invite(h.t.Context(), c, alice, []uint64{uint64(caller)})
	return err
}

func followed(h *harness, c id.Conversation, _, caller id.User) error {
	_, _, err := h.chat.Join(h.t.Context(), caller, &chatv1.JoinRequest{Conversation: uint64(c)})
	return err
}

func promoted(h *harness, c id.Conversation, alice, caller id.User) error {
	_, err := h.chat.SetRole(h.t.Context(), c, alice, caller, chatv1.Role_ROLE_ADMIN)
	return err
}

func silenced(h *harness, c id.Conversation, alice, caller id.User) error {
	_, err := h.chat.MuteMembers(h.t.Context(), c, alice, &chatv1.MuteMembersRequest{Users: []uint64{uint64(caller)}, UntilMs: h.clock.ms.Load() + time.Hour.Milliseconds()})
	return err
}

func allSilenced(h *harness, c id.Conversation, alice, _ id.User) error {
	_, err := h.chat.MuteMembers(h.t.Context(), c, alice, &chatv1.MuteMembersRequest{UntilMs: h.clock.ms.Load() + time.Hour.Milliseconds()})
	return err
}

func banned(h *harness, c id.Conversation, alice, caller id.User) error {
	_, err := h.chat.Ban(h.t.Context(), c, alice, []uint64{uint64(caller)})
	return err
}

func left(h *harness, c id.Conversation, _, caller id.User) error {
	_, err := h.chat.Leave(h.t.Context(), c, caller)
	return err
}

func asOwner(r row) string    { return r.owner }
func asMember(r row) string   { return r.member }
func asFormer(r row) string   { return r.former }
func asOutsider(r row) string { return r.outsider }

// asFollower is asMember, but a follower is not among the members: what these may not do is refused as for others.
func asFollower(r row) string {
	if r.member == "not_allowed" {
		return none
	}
	return r.member
}

// refused gives calls of the chat service one reason, beside those of others.
func refused(reason string, others map[string]string, names ...string) map[string]string {
	list := maps.Clone(others)
	if list == nil {
		list = map[string]string{}
	}
	for _, n := range names {
		list[chats+n] = reason
	}
	return list
}

// standings are all roles and states that a user may have in a group or a channel.
func standings() []standing {
	reports := map[string]string{"/rialto.moderation.v1.ModerationService/ReportContent": ""}
	admin := refused("", refused("not_sender", refused("not_allowed", reports, "Transfer", "Dissolve", "SetRole"), "ListReaders", "ListDeliveries"), "Leave")
	mute := refused("muted", nil, "Send", "ScheduleMessage", "StartStreamedMessage", "EndStreamedMessage", "StartThread")
	follower := refused("no_threads", refused("not_allowed", refused("not_writer", nil, "Send", "ScheduleMessage", "StartStreamedMessage", "EndStreamedMessage"), "ListMembers"), "StartThread")
	follower["/rialto.bridge.v1.BridgeLinkService/ListBridgeLinks"] = none // a channel has none
	channelAdmin := refused("no_threads", admin, "StartThread")
	channelAdmin["/rialto.bridge.v1.BridgeLinkService/LinkBridge"] = "not_linkable"
	return []standing{
		{"admin of a group", false, []step{invited, promoted}, nil, asOwner, admin},
		{"silenced member", false, []step{invited}, []step{silenced}, asMember, mute},
		{"member of a silenced group", false, []step{invited}, []step{allSilenced}, asMember, mute},
		{"admin of a silenced group", false, []step{invited, promoted}, []step{allSilenced}, asOwner, admin},
		{"member who left", false, []step{invited}, []step{left}, asFormer, nil},
		{"banned member", false, []step{invited}, []step{banned}, asFormer, refused("banned", nil, "Join")},
		{"banned outsider", false, nil, []step{banned}, asOutsider, refused("banned", nil, "Join")},
		{"follower", true, []step{followed}, nil, asFollower, follower},
		{"admin of a channel", true, []step{followed, promoted}, nil, asOwner, channelAdmin},
		{"follower who left", true, []step{followed}, []step{left}, asOutsider, refused("", nil, "Join")},
		{"banned follower", true, []step{followed}, []step{banned}, asOutsider, refused("banned", nil, "Join")},
		{"nobody in a channel", true, nil, nil, asOutsider, refused("", nil, "Join")},
	}
}

// TestCallsArePermittedByStanding makes each call that names a conversation in each standing of a group or a channel. Groups are
// joined by invitation, channels are open; the matrix has the owner, the members and the outsiders.
func TestCallsArePermittedByStanding(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	rows, calls := matrix(), h.Calls()
	made := 0
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if calls[name] != "users" || !namesConversation(name, rows[name]) {
			continue
		}
		for _, as := range standings() {
			o, caller := h.standingIn(p, as)
			made++
			want, known := as.other[name]
			if !known {
				want = as.base(rows[name])
			}
			got := h.call(name, rows[name].request(o), bearer(caller.AccessToken))
			if got.reason() != want || (got.status == http.StatusOK) != (want == "") {
				t.Errorf("%s by a %s is answered with %d %s, want %q", name, as.name, got.status, got.body, want)
			}
		}
	}
	if least := 40 * len(standings()); made < least {
		t.Errorf("%d calls were made, want at least %d", made, least)
	}
}

// namesConversation reports whether the request of a row depends on the conversation. Comments use its number as a key.
func namesConversation(name string, r row) bool {
	return !strings.HasPrefix(name, "/rialto.comment.") && !proto.Equal(r.request(subject{conversation: 1}), r.request(subject{conversation: 2}))
}

// standingIn makes a group or a channel of alice with bob and a file, and a user with a standing in it.
func (h *harness) standingIn(p people, as standing) (subject, person) {
	h.t.Helper()
	ctx := h.t.Context()
	h.clock.ms.Add(1)
	caller := h.person(fmt.Sprint("caller", h.clock.ms.Load()))
	o := subject{member: p.bob.User, other: p.carol.User}
	request := &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{p.bob.User}, Channel: as.channel}
	if as.channel {
		request.Members, request.JoinPolicy = nil, chatv1.JoinPolicy_JOIN_POLICY_OPEN
	}
	c, err := h.chat.CreateGroup(ctx, p.alice.user(), request)
	if err == nil && as.channel {
		_, _, err = h.chat.Join(ctx, p.bob.user(), &chatv1.JoinRequest{Conversation: uint64(c)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	run := func(steps []step) {
		h.t.Helper()
		for _, s := range steps {
			if err := s(h, c, p.alice.user(), caller.user()); err != nil {
				h.t.Fatalf("%s: %v", as.name, err)
			}
		}
	}
	run(as.before)
	o.conversation, o.upload = uint64(c), h.upload(p.alice, pixel(h.t))
	content := &chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: o.upload, Name: "x.png"}}}
	sent := h.call(chats+"Send", &chatv1.SendRequest{Conversation: o.conversation, ClientMsgId: "the file", Content: content}, bearer(p.alice.AccessToken))
	if sent.status != http.StatusOK {
		h.t.Fatalf("the answer is %v, want status 200", sent)
	}
	var receipt struct {
		Seq uint64 `json:"seq,string"`
	}
	if err := json.Unmarshal([]byte(sent.body), &receipt); err != nil {
		h.t.Fatal(err)
	}
	o.seq = receipt.Seq
	run(as.after)
	return o, caller
}
