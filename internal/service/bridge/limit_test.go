package bridge_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/bridge"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
)

// A user has a share of the links of a bridge. Another admin of the same groups cannot make room for more.
func TestAUserHasAShareOfTheLinks(t *testing.T) {
	f := open(t)
	f.LimitOfUsers(2)
	first, second, third := f.groupOf(f.alice, "1"), f.groupOf(f.alice, "2"), f.groupOf(f.alice, "3")
	must(t, f.tryLink(f.alice, first, "irc", "#1"))
	must(t, f.tryLink(f.alice, second, "irc", "#2"))
	if err := f.tryLink(f.alice, third, "irc", "#3"); reasonOf(err) != "too_many_links_of_user" {
		t.Errorf("a third link of a user: %v", err)
	}
	must(t, f.tryLink(f.alice, third, "xmpp", "3@x"))
	must(t, f.tryLink(f.alice, second, "irc", "#2"))
	must(t, f.tryLink(f.bob, f.groupOf(f.bob, "4"), "irc", "#4"))
	must(t, f.tryLink(f.bob, f.groupOf(f.bob, "5"), "irc", "#5"))
	must(t, f.chatInvite(second, f.bob))
	if err := f.tryLink(f.bob, second, "irc", "#2"); reasonOf(err) != "too_many_links_of_user" {
		t.Errorf("a link of alice that bob repeats: %v", err)
	}
	must(t, f.UnlinkBridge(t.Context(), id.Caller{User: f.alice}, &bridgev1.UnlinkBridgeRequest{Conversation: uint64(first), Bridge: "irc"}))
	must(t, f.tryLink(f.alice, third, "irc", "#3"))
	for _, n := range []int{-1, 10_001} {
		if err := (bridge.Config{LinksPerUser: n}).Check(); err == nil {
			t.Errorf("%d links of a user are permitted", n)
		}
	}
}

func (f *fixture) find(r *bridgev1.FindBridgeLinksRequest) (addresses []string, more bool, total uint32) {
	f.t.Helper()
	res, err := f.FindBridgeLinks(f.t.Context(), id.Caller{}, r)
	must(f.t, err)
	for _, l := range res.Links {
		addresses = append(addresses, l.Address)
	}
	return addresses, res.More, res.Total
}

// A moderator finds the links of a bridge and of a user, and removes some: then the bot leaves, the room is free, and the audit log has it.
func TestModeratorsRemoveLinks(t *testing.T) {
	f := open(t)
	mia := id.Caller{Key: "mia", Role: id.Moderator}
	f.link(f.irc, "#1")
	must(t, f.tryLink(f.bob, f.groupOf(f.bob, "2"), "irc", "#2"))
	must(t, f.tryLink(f.alice, f.groupOf(f.alice, "3"), "irc", "#3"))
	if got, more, total := f.find(&bridgev1.FindBridgeLinksRequest{Bridge: "irc", Limit: 2}); !slices.Equal(got, []string{"#1", "#2"}) || !more || total != 3 {
		t.Errorf("the first page is %v of %d, more %v", got, total, more)
	}
	if got, more, total := f.find(&bridgev1.FindBridgeLinksRequest{Bridge: "irc", LinkedBy: uint64(f.alice)}); !slices.Equal(got, []string{"#1", "#3"}) || more || total != 3 {
		t.Errorf("those of alice are %v of %d, more %v", got, total, more)
	}
	if got, _, _ := f.find(&bridgev1.FindBridgeLinksRequest{Bridge: "irc", After: math.MaxUint64, LinkedBy: math.MaxUint64}); len(got) != 0 {
		t.Errorf("those of nobody are %v", got)
	}
	remove := func(r *bridgev1.RemoveBridgeLinkRequest) error {
		return second(f.RemoveBridgeLink(t.Context(), mia, r))
	}
	for want, r := range map[string]*bridgev1.RemoveBridgeLinkRequest{
		"bad_change": {Bridge: "irc", Conversation: uint64(f.group), Reason: strings.Repeat("x", 501)},
		"no_bridge":  {Bridge: "none", Conversation: uint64(f.group)},
		"no_link":    {Bridge: "xmpp", Conversation: uint64(f.group)},
	} {
		if err := remove(r); reasonOf(err) != want {
			t.Errorf("%v: %v, want %s", r, err, want)
		}
	}
	must(t, remove(&bridgev1.RemoveBridgeLinkRequest{Bridge: "irc", Conversation: uint64(f.group), Reason: "it takes up rooms"}))
	if _, err := f.chat.MemberRole(t.Context(), f.group, f.irc.User); reasonOf(err) != "no_conversation" {
		t.Errorf("the bot after the removal: %v", err)
	}
	if links := f.shown(f.bob); len(links) != 0 {
		t.Errorf("after the removal, bob sees %q", links)
	}
	list, err := f.audit.List(t.Context(), math.MaxInt64, 10)
	must(t, err)
	if len(list) != 1 || list[0].Who != "mia" || list[0].Action != "bridge.unlink" || list[0].Subject != fmt.Sprint("conversation ", f.group, " bridge irc") || list[0].Reason != "it takes up rooms" ||
		!strings.Contains(list[0].Before, `"address":"#1"`) || !strings.Contains(list[0].Before, `"state":"active"`) {
		t.Errorf("the audit log has %+v", list)
	}
	if err := remove(&bridgev1.RemoveBridgeLinkRequest{Bridge: "irc", Conversation: uint64(f.group)}); reasonOf(err) != "no_link" {
		t.Errorf("a second removal: %v", err)
	}
	f.link(f.irc, "#1")
}

// Rooms are compared in the bridge's own form, if it gives that: whoever has a room keeps it from other spellings, until it is given up.
func TestRoomsAreComparedInTheBridgesForm(t *testing.T) {
	f := open(t)
	report := func(c id.Conversation, state bridgev1.BridgeLinkState, room string) *bridgev1.BridgeLink {
		t.Helper()
		r := &bridgev1.ReportBridgeLinkRequest{Conversation: uint64(c), State: state, Room: room}
		if state == refused {
			r.Reason = "kicked"
		}
		l, err := f.ReportBridgeLink(t.Context(), f.irc, r)
		must(t, err)
		return l
	}
	want := func(step string, l *bridgev1.BridgeLink, state bridgev1.BridgeLinkState, room, reason string) {
		t.Helper()
		if l.State != state || l.Room != room || l.Reason != reason {
			t.Errorf("%s, the link is %v", step, l)
		}
	}
	other, third := f.groupOf(f.alice, "h"), f.groupOf(f.alice, "i")
	must(t, f.tryLink(f.alice, f.group, "irc", "#Rialto"))
	want("accepted", report(f.group, active, "#rialto"), active, "#rialto", "")
	want("accepted without a room", report(f.group, active, ""), active, "#rialto", "")
	if err := f.tryLink(f.alice, other, "irc", "#rialto"); reasonOf(err) != "address_linked" {
		t.Errorf("the room of another group by the name that the bridge gives it: %v", err)
	}
	must(t, f.tryLink(f.alice, other, "irc", "#RIALTO"))
	want("of another group", report(other, active, "#rialto"), refused, "", "room_taken")
	want("of another group, without its room", report(other, active, ""), refused, "", "room_taken")
	must(t, f.tryLink(f.alice, other, "irc", "#RIALTO"))
	want("refused", report(f.group, refused, ""), refused, "", "kicked")
	want("once the room is free", report(other, active, "#rialto"), active, "#rialto", "")
	must(t, f.tryLink(f.alice, f.group, "irc", "#Rialto"))
	must(t, second(f.chat.Remove(t.Context(), other, f.alice, []uint64{uint64(f.irc.User)})))
	want("once the other group has no bot", report(f.group, active, "#rialto"), active, "#rialto", "")
	if got, _, _ := f.find(&bridgev1.FindBridgeLinksRequest{Bridge: "irc"}); !slices.Equal(got, []string{"#Rialto"}) {
		t.Errorf("the links are %v", got)
	}
	must(t, f.tryLink(f.alice, third, "irc", "#other"))
	for _, r := range []*bridgev1.ReportBridgeLinkRequest{{State: active, Room: "a\nb"}, {State: active, Room: strings.Repeat("a", 256)}, {State: refused, Reason: "x", Room: "#other"}} {
		r.Conversation = uint64(third)
		if err := second(f.ReportBridgeLink(t.Context(), f.irc, r)); reasonOf(err) != "bad_room" {
			t.Errorf("the room of %v: %v", r, err)
		}
	}
	// Links from before bridges reported rooms have none, and the other group's is not answered yet.
	old, waits := f.groupOf(f.alice, "k"), f.groupOf(f.alice, "l")
	must(t, f.tryLink(f.alice, old, "irc", "#Before"))
	report(old, active, "")
	must(t, f.tryLink(f.alice, waits, "irc", "#before"))
	want("beside one that waits for its answer", report(old, active, "#before"), active, "#before", "")
	want("of the room that was reported meanwhile", report(waits, active, "#before"), refused, "", "room_taken")
	must(t, second(f.chat.Remove(t.Context(), old, f.alice, []uint64{uint64(f.irc.User)})))
	want("of a room that waits under its own name", report(third, active, "#other"), active, "#other", "")
	must(t, second(f.chat.Remove(t.Context(), third, f.alice, []uint64{uint64(f.irc.User)})))
	must(t, f.tryLink(f.bob, f.groupOf(f.bob, "j"), "irc", "#other"))
}
