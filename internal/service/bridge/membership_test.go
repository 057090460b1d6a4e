package bridge_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// wantRole compares the role of a user in the group; 0: none.
func (f *fixture) wantRole(what string, u id.User, want chatv1.Role) {
	f.t.Helper()
	if role, _ := f.chat.MemberRole(f.t.Context(), f.group, u); role != want {
		f.t.Errorf("%s has the role %v, want %v", what, role, want)
	}
}

// invitePerson lets somebody of IRC write, and makes them a member.
func (f *fixture) invitePerson() id.User {
	f.t.Helper()
	eve := id.User(f.receive(f.irc, f.text("1", "eve", "hello")).Sender)
	must(f.t, second(f.chat.Invite(f.t.Context(), f.group, f.alice, []uint64{uint64(eve)})))
	return eve
}

// No group is owned by the bot of a bridge or by somebody of another system, and none that such a bot owns is linked.
func TestBridgesOwnNoGroup(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	eve := f.invitePerson()
	for what, u := range map[string]id.User{"the bot": f.irc.User, "somebody of IRC": eve} {
		if err := second(f.chat.Transfer(t.Context(), f.group, f.alice, u)); reasonOf(err) != "cannot_own" {
			t.Errorf("transferring the group to %s: %v", what, err)
		}
	}
	if err := second(f.chat.CreateGroup(t.Context(), f.irc.User, &chatv1.CreateGroupRequest{Title: "h"})); reasonOf(err) != "cannot_own" {
		t.Errorf("a group that a bot makes: %v", err)
	}
	if err := f.chat.ReplaceOwner(t.Context(), f.group, f.irc.User, func(id.User) (bool, error) { return true, nil }); reasonOf(err) != "cannot_own" {
		t.Errorf("a bot that succeeds an owner: %v", err)
	}
	f.wantRole("alice", f.alice, chatv1.Role_ROLE_OWNER)

	own := f.groupOf(f.user("bot_late"), "own")
	must(t, second(f.chat.Invite(t.Context(), own, f.user("bot_late"), []uint64{uint64(f.alice)})))
	must(t, second(f.chat.SetRole(t.Context(), own, f.user("bot_late"), f.alice, chatv1.Role_ROLE_ADMIN)))
	late := f.bridge("late")
	if err := f.tryLink(f.alice, own, "late", "#own"); reasonOf(err) != "cannot_own" {
		t.Errorf("a link of a group that the bot owns: %v", err)
	}
	if links, err := f.ListLinkedConversations(t.Context(), late, &bridgev1.ListLinkedConversationsRequest{}); err != nil || len(links.Links) != 0 {
		t.Errorf("the links after that are %v, %v", links, err)
	}
	must(t, second(f.chat.Transfer(t.Context(), own, late.User, f.alice)))
	must(t, f.tryLink(f.alice, own, "late", "#own"))
}

// A moderator who removes a link takes the bot and those of the other system out of the group, also a bot that owns it: then a member of this side does.
func TestRemovedLinksLeaveNobody(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	eve := f.invitePerson()
	must(t, second(f.chat.Leave(t.Context(), f.group, f.bob)))
	must(t, second(f.chat.Invite(t.Context(), f.group, f.alice, []uint64{uint64(f.bob)}))) // eve is there for longer
	f.anybodyOwns = true
	must(t, second(f.chat.Transfer(t.Context(), f.group, f.alice, f.irc.User)))
	must(t, second(f.chat.Leave(t.Context(), f.group, f.alice)))
	f.anybodyOwns = false
	must(t, second(f.RemoveBridgeLink(t.Context(), id.Caller{Key: "mia", Role: id.Moderator}, &bridgev1.RemoveBridgeLinkRequest{Bridge: "irc", Conversation: uint64(f.group)})))
	f.wantRole("the bot", f.irc.User, 0)
	f.wantRole("eve of IRC", eve, 0)
	f.wantRole("bob", f.bob, chatv1.Role_ROLE_OWNER)
}

// The same holds for an admin who ends a link. People of other bridges stay.
func TestUnlinkedGroupsKeepNobodyOfTheBridge(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@x")
	eve := f.invitePerson()
	must(t, f.UnlinkBridge(t.Context(), id.Caller{User: f.alice}, &bridgev1.UnlinkBridgeRequest{Conversation: uint64(f.group), Bridge: "xmpp"}))
	f.wantRole("the bot of XMPP", f.xmpp.User, 0)
	f.wantRole("eve of IRC", eve, chatv1.Role_ROLE_MEMBER)
	must(t, second(f.chat.SetRole(t.Context(), f.group, f.alice, f.bob, chatv1.Role_ROLE_ADMIN)))
	f.anybodyOwns = true
	must(t, second(f.chat.Transfer(t.Context(), f.group, f.alice, f.irc.User)))
	f.anybodyOwns = false
	must(t, f.UnlinkBridge(t.Context(), id.Caller{User: f.bob}, &bridgev1.UnlinkBridgeRequest{Conversation: uint64(f.group), Bridge: "irc"}))
	f.wantRole("the bot of IRC", f.irc.User, 0)
	f.wantRole("eve of IRC", eve, 0)
	f.wantRole("alice", f.alice, chatv1.Role_ROLE_OWNER)
}
