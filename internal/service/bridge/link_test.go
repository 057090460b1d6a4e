package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	pending = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_PENDING
	active  = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE
	refused = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_REFUSED
)

func (f *fixture) tryLink(by id.User, c id.Conversation, bridge, address string) error {
	_, err := f.LinkBridge(f.t.Context(), id.Caller{User: by}, &bridgev1.LinkBridgeRequest{Conversation: uint64(c), Bridge: bridge, Address: address})
	return err
}

// shown are the links of the group as a member sees them, such as "irc #rialto ACTIVE".
func (f *fixture) shown(to id.User) (list []string) {
	f.t.Helper()
	res, err := f.ListBridgeLinks(f.t.Context(), id.Caller{User: to}, &bridgev1.ListBridgeLinksRequest{Conversation: uint64(f.group)})
	must(f.t, err)
	for i, l := range res.Links {
		if res.Bridges[i].Name != l.Bridge {
			f.t.Errorf("the bridge of %v is %v", l, res.Bridges[i])
		}
		list = append(list, strings.TrimSpace(fmt.Sprint(l.Bridge, " ", l.Address, " ", strings.TrimPrefix(l.State.String(), "BRIDGE_LINK_STATE_"), " ", l.Reason)))
	}
	return list
}

// A link begins with an admin, waits for the other system, and ends with either side, or with the bot's membership. It begins again where it was refused.
func TestTheLifeOfALink(t *testing.T) {
	f := open(t)
	want := func(step string, links ...string) {
		t.Helper()
		if got := f.shown(f.bob); !slices.Equal(got, links) {
			t.Fatalf("%s: bob sees %q, want %q", step, got, links)
		}
	}
	report := func(r *bridgev1.ReportBridgeLinkRequest) {
		t.Helper()
		r.Conversation = uint64(f.group)
		_, err := f.ReportBridgeLink(t.Context(), f.irc, r)
		must(t, err)
	}
	want("before")
	must(t, f.tryLink(f.alice, f.group, "irc", "#rialto"))
	want("linked", "irc #rialto PENDING")
	if _, err := f.SendBridgedMessage(t.Context(), f.irc, f.text("1", "eve", "hello")); reasonOf(err) != "not_linked" {
		t.Errorf("a message over a pending link: %v", err)
	}
	report(&bridgev1.ReportBridgeLinkRequest{State: refused, Reason: "banned"})
	want("refused", "irc #rialto REFUSED banned")
	must(t, f.tryLink(f.alice, f.group, "irc", "#rialto"))
	want("tried again", "irc #rialto PENDING")
	report(&bridgev1.ReportBridgeLinkRequest{State: active})
	want("accepted", "irc #rialto ACTIVE")
	f.receive(f.irc, f.text("1", "eve", "hello"))
	_, err := f.chat.Remove(t.Context(), f.group, f.alice, []uint64{uint64(f.irc.User)})
	must(t, err)
	want("without the bot", "irc #rialto REFUSED bot_removed")
	if _, err := f.SendBridgedMessage(t.Context(), f.irc, f.text("2", "eve", "hello")); reasonOf(err) != "not_linked" {
		t.Errorf("a message without the bot: %v", err)
	}
	f.link(f.irc, "#rialto")
	want("with the bot", "irc #rialto ACTIVE")
	for range 2 {
		must(t, f.UnlinkBridge(t.Context(), id.Caller{User: f.alice}, &bridgev1.UnlinkBridgeRequest{Conversation: uint64(f.group), Bridge: "irc"}))
	}
	want("unlinked")
	if _, err := f.chat.MemberRole(t.Context(), f.group, f.irc.User); reasonOf(err) != "no_conversation" {
		t.Errorf("the bot after the link: %v", err)
	}
	f.link(f.irc, "#rialto")
	if again := f.receive(f.irc, f.text("1", "eve", "hello")); !again.Duplicate {
		t.Errorf("after another link the id is new: %v", again)
	}
}

// A link that is repeated keeps its age, by which a bridge knows the first one of a room. After a refusal it begins anew. Spaces around an address do not make it another one.
func TestRepeatedLinksKeepTheirAge(t *testing.T) {
	f := open(t)
	link := func(address string) (age time.Duration) {
		t.Helper()
		l, err := f.LinkBridge(t.Context(), id.Caller{User: f.alice}, &bridgev1.LinkBridgeRequest{Conversation: uint64(f.group), Bridge: "irc", Address: address})
		must(t, err)
		page, err := f.ListLinkedConversations(t.Context(), f.irc, &bridgev1.ListLinkedConversationsRequest{})
		must(t, err)
		if len(page.Links) != 1 || page.Links[0].CreatedMs != l.CreatedMs || page.Links[0].Address != "#rialto" || l.Address != "#rialto" {
			t.Errorf("the links are %v, and the call returned %v", page.Links, l)
		}
		f.clock.Advance(time.Hour)
		return f.clock.Now().Sub(time.UnixMilli(l.CreatedMs)).Round(time.Hour)
	}
	report := func(r *bridgev1.ReportBridgeLinkRequest) {
		t.Helper()
		r.Conversation = uint64(f.group)
		must(t, second(f.ReportBridgeLink(t.Context(), f.irc, r)))
	}
	first, again := link(" #rialto"), link("#rialto\u00a0")
	report(&bridgev1.ReportBridgeLinkRequest{State: active})
	accepted := link("#rialto")
	report(&bridgev1.ReportBridgeLinkRequest{State: refused, Reason: "kicked"})
	if anew := link("#rialto"); first != time.Hour || again != 2*time.Hour || accepted != 3*time.Hour || anew != time.Hour {
		t.Errorf("the ages are %v, %v, %v, and after a refusal %v", first, again, accepted, anew)
	}
	other, err := f.chat.CreateGroup(t.Context(), f.alice, &chatv1.CreateGroupRequest{Title: "h"})
	must(t, err)
	if err := f.tryLink(f.alice, other, "irc", "#rialto "); reasonOf(err) != "address_linked" {
		t.Errorf("the room of another group with a space: %v", err)
	}
}

// What cannot be linked, and by whom not.
func TestWhatCannotBeLinked(t *testing.T) {
	f := open(t)
	f.Limit(2, 2, 2, 10)
	other, err := f.chat.CreateGroup(t.Context(), f.bob, &chatv1.CreateGroupRequest{Title: "h", Members: []uint64{uint64(f.alice)}})
	must(t, err)
	direct, err := f.chat.OpenDirect(t.Context(), f.alice, f.bob)
	must(t, err)
	f.link(f.irc, "#rialto")
	for _, c := range []struct {
		what            string
		by              id.User
		to              id.Conversation
		bridge, address string
		want            string
	}{
		{"a member", f.bob, f.group, "xmpp", "a@x", "not_allowed"},
		{"nobody's group", f.alice, 7, "irc", "#a", "no_conversation"},
		{"an unknown bridge", f.alice, f.group, "smtp", "a", "no_bridge"},
		{"no address", f.alice, f.group, "xmpp", "", "bad_address"},
		{"an address of two lines", f.alice, f.group, "xmpp", "a\nb", "bad_address"},
		{"an address of 256 bytes", f.alice, f.group, "xmpp", strings.Repeat("a", 256), "bad_address"},
		{"a one-to-one conversation", f.alice, direct, "irc", "#b", "not_linkable"},
		{"the room of another group", f.bob, other, "irc", "#rialto", "address_linked"},
		{"a second room", f.alice, f.group, "irc", "#other", "already_linked"},
		{"a room", f.alice, f.group, "xmpp", "a@x", ""},
		{"another group", f.bob, other, "irc", "#other", ""},
	} {
		if err := f.tryLink(c.by, c.to, c.bridge, c.address); reasonOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	third, err := f.chat.CreateGroup(t.Context(), f.alice, &chatv1.CreateGroupRequest{Title: "i"})
	must(t, err)
	if err := f.tryLink(f.alice, third, "irc", "#third"); reasonOf(err) != "too_many_links" {
		t.Errorf("one link too many of a bridge: %v", err)
	}
	if _, err := f.PutBridge(t.Context(), id.Caller{User: f.bob, Bridge: "third"}, &bridgev1.PutBridgeRequest{DisplayName: "x"}); reasonOf(err) != "too_many_bridges" {
		t.Errorf("one bridge too many: %v", err)
	}
	if _, err := f.PutBridge(t.Context(), id.Caller{User: f.bob, Bridge: "irc"}, &bridgev1.PutBridgeRequest{DisplayName: "x"}); reasonOf(err) != "bridge_taken" {
		t.Errorf("another bot of a bridge: %v", err)
	}
	f.Limit(2, 1, 2, 10)
	must(t, f.UnlinkBridge(t.Context(), id.Caller{User: f.bob}, &bridgev1.UnlinkBridgeRequest{Conversation: uint64(other), Bridge: "irc"}))
	must(t, f.tryLink(f.alice, third, "irc", "#third"))
	if err := f.tryLink(f.alice, third, "xmpp", "third@x"); reasonOf(err) != "too_many_links" {
		t.Errorf("one link too many of a group: %v", err)
	}
}

// A bridge lists its own links, in pages.
func TestLinksOfABridge(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@x")
	other, err := f.chat.CreateGroup(t.Context(), f.alice, &chatv1.CreateGroupRequest{Title: "h"})
	must(t, err)
	must(t, f.tryLink(f.alice, other, "irc", "#other"))
	var got []string
	for after, more := uint64(0), true; more; {
		page, err := f.ListLinkedConversations(t.Context(), f.irc, &bridgev1.ListLinkedConversationsRequest{Limit: 1, After: after})
		must(t, err)
		if len(page.Links) != 1 {
			t.Fatalf("a page has %v", page.Links)
		}
		got, after, more = append(got, page.Links[0].Address), page.Links[0].Conversation, page.More
	}
	if !slices.Equal(got, []string{"#rialto", "#other"}) {
		t.Errorf("the links are %v", got)
	}
}

// The answer of the other system about a user is shown to that user until it ends. One about everybody is for those without an answer of their own.
func TestPermissionsEnd(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	end := func(after time.Duration) int64 { return f.clock.Now().Add(after).UnixMilli() }
	put := func(u id.User, p *bridgev1.BridgePermission) error {
		return f.PutBridgePermission(t.Context(), f.irc, &bridgev1.PutBridgePermissionRequest{Conversation: uint64(f.group), User: uint64(u), Permission: p})
	}
	for _, p := range []*bridgev1.BridgePermission{nil, {Allowed: true}, {Allowed: true, UntilMs: end(25 * time.Hour)}, {Allowed: true, UntilMs: end(0)}} {
		if err := put(f.bob, p); reasonOf(err) != "bad_permission" {
			t.Errorf("the answer %v: %v", p, err)
		}
	}
	for _, p := range []*bridgev1.BridgePermission{{UntilMs: end(1)}, {UntilMs: end(1), Reason: "Not Voiced"}, {UntilMs: end(1), Allowed: true, Reason: "x"}, {UntilMs: end(1), Reason: "x", Text: strings.Repeat("x", 501)}} {
		if p.UntilMs = end(time.Hour); reasonOf(put(f.bob, p)) != "bad_reason" {
			t.Errorf("the answer %v is stored", p)
		}
	}
	if err := put(f.xmpp.User, &bridgev1.BridgePermission{Allowed: true, UntilMs: end(time.Hour)}); reasonOf(err) != "no_conversation" {
		t.Errorf("an answer about no member: %v", err)
	}
	must(t, put(0, &bridgev1.BridgePermission{Reason: "moderated", Text: "Only voiced users write.", UntilMs: end(2 * time.Hour)}))
	must(t, put(f.bob, &bridgev1.BridgePermission{Allowed: true, UntilMs: end(time.Hour)}))
	want := func(u id.User, want string) {
		t.Helper()
		res, err := f.ListBridgeLinks(t.Context(), id.Caller{User: u}, &bridgev1.ListBridgeLinksRequest{Conversation: uint64(f.group)})
		must(t, err)
		own, err := f.GetBridgePermission(t.Context(), f.irc, &bridgev1.GetBridgePermissionRequest{Conversation: uint64(f.group), User: uint64(u)})
		must(t, err)
		for _, p := range []*bridgev1.BridgePermission{res.Links[0].Permission, own.Permission} {
			got := "unknown"
			if p != nil {
				got = fmt.Sprint(p.Allowed, p.Reason)
			}
			if got != want {
				t.Errorf("the answer about user %d is %s, want %s", u, got, want)
			}
		}
	}
	want(f.bob, "true")
	want(f.alice, "falsemoderated")
	f.clock.Advance(time.Hour)
	want(f.bob, "falsemoderated")
	must(t, f.CleanUp(t.Context()))
	want(f.alice, "falsemoderated")
	f.clock.Advance(time.Hour)
	want(f.alice, "unknown")
	must(t, f.CleanUp(t.Context()))
	must(t, second(f.chat.Remove(t.Context(), f.group, f.alice, []uint64{uint64(f.irc.User)})))
	if err := put(0, &bridgev1.BridgePermission{Allowed: true, UntilMs: end(time.Hour)}); reasonOf(err) != "not_linked" {
		t.Errorf("an answer of a bridge whose bot was removed: %v", err)
	}
}

// Input is bounded.
func TestBadInputOfBridges(t *testing.T) {
	f := open(t)
	f.Limit(2, 2, 2, 1)
	f.link(f.irc, "#rialto")
	nobody := f.text("1", "eve", "x")
	nobody.Sender = nil
	empty := f.text("1", "eve", "x")
	empty.Entry = nil
	badReply := f.text("1", "eve", "x")
	badReply.ReplyTo = strings.Repeat("x", 256)
	for n, c := range []struct {
		r    *bridgev1.SendBridgedMessageRequest
		want string
	}{
		{f.text("", "eve", "x"), "bad_external_id"}, {f.text(strings.Repeat("x", 256), "eve", "x"), "bad_external_id"}, {f.text("refused\n4\nx", "eve", "x"), "bad_external_id"},
		{f.text("1", "", "x"), "bad_address"}, {f.text("1", strings.Repeat("x", 256), "x"), "bad_address"}, {nobody, "bad_address"}, {empty, "no_content"}, {badReply, "bad_external_id"},
		{f.edit("1", "", "x"), "bad_external_id"}, {f.recall("1", "unknown"), "no_message"}, {f.text("1", "eve", " "), "empty_text"}, {f.text("1", "adam", "x"), "too_many_bridged_users"},
	} {
		if _, err := f.SendBridgedMessage(t.Context(), f.irc, c.r); reasonOf(err) != c.want {
			t.Errorf("request %d: %v, want %s", n, err, c.want)
		}
	}
	for n, r := range []*bridgev1.ReportDeliveryRequest{{}, {ExternalId: "1", Reason: "x"}, {Reason: "Bad Reason"}, {Reason: "x", Text: strings.Repeat("x", 501)}, {Text: "why"}} {
		if r.Conversation = uint64(f.group); reasonOf(second(f.ReportDelivery(t.Context(), f.irc, r))) != "bad_reason" {
			t.Errorf("report %d is stored", n)
		}
	}
	if _, err := f.ReportDelivery(t.Context(), f.irc, &bridgev1.ReportDeliveryRequest{Conversation: uint64(f.group), Seq: 99, ExternalId: "1"}); reasonOf(err) != "no_message" {
		t.Errorf("a report about no message: %v", err)
	}
	if _, err := f.ReportBridgeLink(t.Context(), f.irc, &bridgev1.ReportBridgeLinkRequest{Conversation: uint64(f.group), State: pending}); reasonOf(err) != "bad_link_state" {
		t.Errorf("a link that is reported pending: %v", err)
	}
	if _, err := f.ListLinkedConversations(t.Context(), f.irc, &bridgev1.ListLinkedConversationsRequest{Limit: 201}); reasonOf(err) != "bad_limit" {
		t.Errorf("a page of 201: %v", err)
	}
	if _, err := f.PutBridge(t.Context(), f.irc, &bridgev1.PutBridgeRequest{}); reasonOf(err) != "bad_bridge" {
		t.Errorf("a bridge without a name: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// The limit is of the users who were made for a bridge. An erasure makes no room, and the error says so.
func TestErasedPeopleCount(t *testing.T) {
	f := open(t)
	f.Limit(2, 2, 2, 1)
	f.link(f.irc, "#rialto")
	eve := id.User(f.receive(f.irc, f.text("1", "eve", "hello")).Sender)
	for step := (userdata.Step{}); !step.Done; {
		var err error
		step, err = f.UserData().EraseUser(t.Context(), eve, step.Next)
		must(t, err)
	}
	_, err := f.SendBridgedMessage(t.Context(), f.irc, f.text("2", "adam", "hello"))
	if reasonOf(err) != "too_many_bridged_users" || !strings.Contains(err.Error(), "erased") {
		t.Errorf("somebody else after an erasure: %v", err)
	}
}
