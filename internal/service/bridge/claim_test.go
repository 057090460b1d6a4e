package bridge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// own makes a group of alice.
func (f *fixture) own(title string) id.Conversation {
	f.t.Helper()
	c, err := f.chat.CreateGroup(f.t.Context(), f.alice, &chatv1.CreateGroupRequest{Title: title})
	must(f.t, err)
	return c
}

// addresses are those of the links that a bridge has.
func (f *fixture) addresses(of id.Caller) (list []string) {
	f.t.Helper()
	page, err := f.ListLinkedConversations(f.t.Context(), of, &bridgev1.ListLinkedConversationsRequest{})
	must(f.t, err)
	for _, l := range page.Links {
		list = append(list, l.Address)
	}
	return list
}

// A group that was dissolved, or has removed the bot, does not keep its room from others. The links of dissolved groups end by themselves.
func TestRoomsAreFree(t *testing.T) {
	f := open(t)
	dissolved, without := f.own("dissolved"), f.own("without the bot")
	f.link(f.irc, "#mine")
	f.link(f.xmpp, "mine@x")
	for address, c := range map[string]id.Conversation{"#dissolved": dissolved, "#without": without} {
		must(t, f.tryLink(f.alice, c, "irc", address))
		must(t, second(f.ReportBridgeLink(t.Context(), f.irc, &bridgev1.ReportBridgeLinkRequest{Conversation: uint64(c), State: active})))
	}
	must(t, f.tryLink(f.alice, dissolved, "xmpp", "dissolved@x"))
	other := f.own("other")
	for _, address := range []string{"#dissolved", "#without"} {
		if err := f.tryLink(f.alice, other, "irc", address); reasonOf(err) != "address_linked" {
			t.Errorf("%s, which another group has: %v", address, err)
		}
	}
	must(t, second(f.chat.Dissolve(t.Context(), dissolved, f.alice)))
	must(t, second(f.chat.Remove(t.Context(), without, f.alice, []uint64{uint64(f.irc.User)})))
	must(t, f.tryLink(f.alice, other, "irc", "#without"))
	must(t, f.tryLink(f.alice, f.own("a third"), "irc", "#dissolved"))
	if got := f.addresses(f.irc); !slices.Equal(got, []string{"#mine", "#without", "#dissolved"}) {
		t.Errorf("the links are %q", got)
	}
	if got := f.addresses(f.xmpp); !slices.Equal(got, []string{"mine@x", "dissolved@x"}) {
		t.Errorf("before the links of dissolved groups are deleted, there are %q", got)
	}
	must(t, f.CleanUp(t.Context()))
	if got := f.addresses(f.xmpp); !slices.Equal(got, []string{"mine@x"}) {
		t.Errorf("after that, there are %q", got)
	}
}

// A link whose bot may not become a member changes nothing: the room is free, and a link from before is as it was.
func TestLinksWithoutTheirBot(t *testing.T) {
	f := open(t)
	refuse := func(c id.Conversation) {
		t.Helper()
		must(t, second(f.chat.Ban(t.Context(), c, f.alice, []uint64{uint64(f.irc.User)})))
		if err := f.tryLink(f.alice, c, "irc", "#rialto"); reasonOf(err) != "banned" {
			t.Errorf("a group that has banned the bot is linked: %v", err)
		}
	}
	refuse(f.own("other"))
	if got := f.addresses(f.irc); len(got) != 0 {
		t.Errorf("after that there are the links %q", got)
	}
	f.link(f.irc, "#rialto")
	must(t, second(f.ReportBridgeLink(t.Context(), f.irc, &bridgev1.ReportBridgeLinkRequest{Conversation: uint64(f.group), State: refused, Reason: "kicked", Text: "by eve"})))
	before, err := f.ListLinkedConversations(t.Context(), f.irc, &bridgev1.ListLinkedConversationsRequest{})
	must(t, err)
	f.clock.Advance(time.Hour)
	refuse(f.group)
	after, err := f.ListLinkedConversations(t.Context(), f.irc, &bridgev1.ListLinkedConversationsRequest{})
	must(t, err)
	if !proto.Equal(after, before) {
		t.Errorf("the link is %v, and was %v", after, before)
	}
}

// A link that was refused, or that nobody has answered for a day, does not keep its room from other groups. What the other system reports about it then concerns no link.
func TestRefusedLinksKeepNoRoom(t *testing.T) {
	f := open(t)
	first, next, third := f.own("first"), f.own("second"), f.own("third")
	must(t, f.tryLink(f.alice, first, "irc", "#rialto"))
	f.clock.Advance(24*time.Hour - time.Millisecond)
	if err := f.tryLink(f.alice, next, "irc", "#rialto"); reasonOf(err) != "address_linked" {
		t.Errorf("a room that another group waits for: %v", err)
	}
	f.clock.Advance(time.Millisecond)
	must(t, f.tryLink(f.alice, next, "irc", "#rialto"))
	report := func(c id.Conversation, r *bridgev1.ReportBridgeLinkRequest) error {
		r.Conversation = uint64(c)
		return second(f.ReportBridgeLink(t.Context(), f.irc, r))
	}
	if err := report(first, &bridgev1.ReportBridgeLinkRequest{State: active}); reasonOf(err) != "not_linked" {
		t.Errorf("an answer about the group from before: %v", err)
	}
	must(t, report(next, &bridgev1.ReportBridgeLinkRequest{State: active}))
	f.clock.Advance(48 * time.Hour)
	if err := f.tryLink(f.alice, third, "irc", "#rialto"); reasonOf(err) != "address_linked" {
		t.Errorf("a room that is linked for long: %v", err)
	}
	must(t, report(next, &bridgev1.ReportBridgeLinkRequest{State: refused, Reason: "not_permitted"}))
	must(t, f.tryLink(f.alice, third, "irc", "#rialto"))
	if got := f.addresses(f.irc); !slices.Equal(got, []string{"#rialto"}) {
		t.Errorf("the links are %q", got)
	}
}
