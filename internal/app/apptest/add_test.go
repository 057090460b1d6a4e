package apptest_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Non-friends may add a user to a limited number of groups, friends to any number. Nobody may add a user whose setting forbids it.
func TestAddingUsersToGroups(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, func(c *config.Config) { c.Limits.AddedUser = "3/h" }) // a limit of one on each of three nodes, which take turns
	alice, bob, carol, dave := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol"), h.Register(t, "dave")
	add := func(by, user *apptest.Person, reason, what string) {
		t.Helper()
		_, err := h.Chat().CreateGroup(t.Context(), apptest.As(by, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{user.User}}))
		if reason == "" {
			must(t, err)
			return
		}
		if connect.CodeOf(err).String() != reason || !strings.Contains(err.Error(), what) {
			t.Errorf("user %d adds user %d: got %v", by.User, user.User, err)
		}
	}
	add(alice, carol, "", "")
	add(bob, carol, "", "")
	add(alice, carol, "", "")
	add(alice, carol, "resource_exhausted", "too often")
	for range 4 { // dave is not added, so dave's limit does not count
		_, err := h.Chat().CreateGroup(t.Context(), apptest.As(alice, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{dave.User, carol.User}}))
		if connect.CodeOf(err).String() != "resource_exhausted" {
			t.Errorf("alice adds dave and carol: got %v, want a refusal because of carol", err)
		}
	}
	for range 3 {
		add(bob, dave, "", "")
	}
	_, err := h.Graph().RequestFriend(t.Context(), apptest.As(alice, &accountv1.RequestFriendRequest{User: carol.User}))
	must(t, err)
	_, err = h.Graph().AnswerFriend(t.Context(), apptest.As(carol, &accountv1.AnswerFriendRequest{User: alice.User, Accept: true}))
	must(t, err)
	add(alice, carol, "", "")
	add(bob, carol, "resource_exhausted", "too often")
	set := func(who accountv1.WhoMayAdd) {
		t.Helper()
		_, err := h.Accounts().UpdateSettings(t.Context(), apptest.As(carol, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMayAdd: who}}))
		must(t, err)
	}
	set(accountv1.WhoMayAdd_WHO_MAY_ADD_FRIENDS)
	add(alice, carol, "", "")
	add(bob, carol, "resource_exhausted", "too often") // an invitation counts like an addition
	set(accountv1.WhoMayAdd_WHO_MAY_ADD_NOBODY)
	add(alice, carol, "permission_denied", "do not let you add them")
	add(bob, carol, "permission_denied", "do not let you add them")
	list, err := h.Chat().ListConversations(t.Context(), apptest.As(carol, &chatv1.ListConversationsRequest{}))
	must(t, err)
	if n := len(list.Msg.Conversations); n != 5 {
		t.Errorf("groups of carol: got %d", n)
	}
}

// By default a non-friend can only invite: the user reads nothing of the group before accepting, and nothing at all after declining. The
// user's devices hear of the invitation and of the answer.
func TestInvitedUserReadsNothingBeforeAccepting(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, func(c *config.Config) { c.Account.WhoMayAdd = "" })
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	const canary = "only for members 7391"
	made, err := h.Chat().CreateGroup(t.Context(), apptest.As(alice, &chatv1.CreateGroupRequest{Title: "Hikers", Members: []uint64{bob.User}}))
	must(t, err)
	g := made.Msg.Id
	if made.Msg.MemberCount != 1 {
		t.Errorf("members of a group with an invited stranger: got %d, want 1", made.Msg.MemberCount)
	}
	invited, err := h.Chat().Invite(t.Context(), apptest.As(alice, &chatv1.InviteRequest{Conversation: g, Users: []uint64{carol.User}}))
	must(t, err)
	if len(invited.Msg.Invited) != 1 || invited.Msg.Invited[0] != carol.User || invited.Msg.Seq != 0 {
		t.Errorf("the answer of Invite: got %v", invited.Msg)
	}
	h.Send(t, alice, g, "1", canary)
	readsNothing := func(p *apptest.Person, of uint64) {
		t.Helper()
		if _, err := h.Chat().GetConversation(t.Context(), apptest.As(p, &chatv1.GetConversationRequest{Conversation: of})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("GetConversation by user %d: got %v", p.User, err)
		}
		if _, err := h.Chat().History(t.Context(), apptest.As(p, &chatv1.HistoryRequest{Conversation: of})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("History by user %d: got %v", p.User, err)
		}
		if _, err := h.Chat().GetMessages(t.Context(), apptest.As(p, &chatv1.GetMessagesRequest{Conversation: of, Seqs: []uint64{1, 2}})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("GetMessages by user %d: got %v", p.User, err)
		}
	}
	invitations := func(p *apptest.Person) []*chatv1.Invitation {
		t.Helper()
		r, err := h.Chat().ListInvitations(t.Context(), apptest.As(p, &chatv1.ListInvitationsRequest{}))
		must(t, err)
		return r.Msg.Invitations
	}
	for _, p := range []*apptest.Person{bob, carol} {
		readsNothing(p, g)
		if list := invitations(p); len(list) != 1 || list[0].Conversation != g || list[0].Title != "Hikers" || list[0].Inviter != alice.User {
			t.Errorf("invitations of user %d: got %v", p.User, list)
		}
	}
	_, err = h.Chat().AnswerInvitation(t.Context(), apptest.As(carol, &chatv1.AnswerInvitationRequest{Conversation: g}))
	must(t, err)
	readsNothing(carol, g)
	accepted, err := h.Chat().AnswerInvitation(t.Context(), apptest.As(bob, &chatv1.AnswerInvitationRequest{Conversation: g, Accept: true}))
	must(t, err)
	if accepted.Msg.Seq != 3 {
		t.Errorf("the entry by which bob joined: got %d, want 3", accepted.Msg.Seq)
	}
	history, err := h.Chat().History(t.Context(), apptest.As(bob, &chatv1.HistoryRequest{Conversation: g}))
	must(t, err)
	if strings.Contains(history.Msg.String(), canary) || len(history.Msg.Messages) != 1 {
		t.Errorf("bob reads what was written before bob accepted: %v", history.Msg)
	}
	for _, p := range []*apptest.Person{bob, carol} {
		if list := invitations(p); len(list) != 0 {
			t.Errorf("invitations of user %d after the answer: got %v", p.User, list)
		}
		if _, err := h.Chat().AnswerInvitation(t.Context(), apptest.As(p, &chatv1.AnswerInvitationRequest{Conversation: g, Accept: true})); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("a second answer of user %d: got %v", p.User, err)
		}
	}
	eventually.True(t, "the events of the invitation and the answer", func() bool {
		synced, err := h.Chat().Sync(t.Context(), apptest.As(carol, &chatv1.SyncRequest{}))
		must(t, err)
		var inviters []uint64
		for _, e := range synced.Msg.Events {
			if i := e.GetInvitations(); i != nil {
				inviters = append(inviters, i.Inviter)
			}
			if strings.Contains(e.String(), canary) {
				t.Fatal("the stream of a user who declined has a message of the group")
			}
		}
		return slices.Equal(inviters, []uint64{alice.User, 0})
	})
}
