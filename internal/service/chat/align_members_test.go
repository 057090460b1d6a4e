package chat_test

import (
	"context"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Users cannot make a group under a key of a service, which would take it over from those who own it then.
func TestKeysOfServicesAreApart(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	server := id.Caller{User: 1, Server: true}
	_, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "mine", Key: "\x01shop k"})
	if got := reasonOf(err); got != "bad_key" {
		t.Errorf("a user's group with the key of a service: %q", got)
	}
	own, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "mine", Key: "shop k"})
	must(t, err)
	request := &chatv1.CreateGroupRequest{Title: "the shop's", Key: "k"}
	first, err := s.CreateGroupFor(t.Context(), "shop", server, request)
	must(t, err)
	again, err := s.CreateGroupFor(t.Context(), "shop", server, request)
	must(t, err)
	other, err := s.CreateGroupFor(t.Context(), "bank", server, request)
	must(t, err)
	if first == own || again != first || other == first || request.Key != "k" {
		t.Errorf("the groups are %d, again %d, and of another service %d; the user's is %d", first, again, other, own)
	}
}

// A retry by a creator who has left the group since invites nobody.
func TestRetriedCreationInvitesOnlyForAdmins(t *testing.T) {
	h := newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	deps.CheckAdd = func(_ context.Context, _ id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
		return nil, slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return u < 10 }), func() {}, nil
	}
	s, err := chat.New(t.Context(), deps, chat.Config{})
	must(t, err)
	create := func(members ...uint64) id.Conversation {
		t.Helper()
		c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "x", Key: "k", Members: members})
		must(t, err)
		return c
	}
	invitations := func(u id.User) int {
		t.Helper()
		list, err := s.ListInvitations(t.Context(), u)
		must(t, err)
		return len(list.Invitations)
	}
	c := create(2, 11)
	_, err = s.Transfer(t.Context(), c, 1, 2)
	must(t, err)
	_, err = s.Remove(t.Context(), c, 2, []uint64{1})
	must(t, err)
	create(2, 12)
	if of11, of12 := invitations(11), invitations(12); of11 != 1 || of12 != 0 {
		t.Errorf("user 11 has %d invitations, user 12 %d", of11, of12)
	}
}

// An owner who must leave is replaced, also by a user who is not in the group, or banned from it.
func TestOwnersAreReplaced(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{2}})
	must(t, err)
	_, err = s.Ban(t.Context(), c, 1, []uint64{3})
	must(t, err)
	replace := func(leaves id.User) {
		t.Helper()
		must(t, s.ReplaceOwner(t.Context(), c, 3, func(owner id.User) (bool, error) { return owner == leaves, nil }))
	}
	roles := func() (list []chatv1.Role) {
		t.Helper()
		for u := id.User(1); u <= 3; u++ {
			role := chatv1.Role_ROLE_UNSPECIFIED
			members, err := s.ListMembers(t.Context(), c, 2, 0, "")
			must(t, err)
			for _, m := range members.Members {
				if m.User == uint64(u) {
					role = m.Role
				}
			}
			list = append(list, role)
		}
		return list
	}
	const none, member, admin, owner = chatv1.Role_ROLE_UNSPECIFIED, chatv1.Role_ROLE_MEMBER, chatv1.Role_ROLE_ADMIN, chatv1.Role_ROLE_OWNER
	replace(2) // who is no owner
	if got := roles(); !slices.Equal(got, []chatv1.Role{owner, member, none}) {
		t.Errorf("the roles are %v", got)
	}
	replace(1)
	replace(1) // a repetition
	if got := roles(); !slices.Equal(got, []chatv1.Role{admin, member, owner}) {
		t.Errorf("after the replacement, the roles are %v", got)
	}
	must(t, s.AlignMembers(t.Context(), c, func([]id.User) []id.User { return []id.User{2} }))
	if got := roles(); !slices.Equal(got, []chatv1.Role{none, member, owner}) {
		t.Errorf("after the alignment, the roles are %v", got)
	}
}

// DissolvedAmong knows a dissolved group as soon as the call that dissolved it returns.
func TestDissolvedAmong(t *testing.T) {
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	var groups []id.Conversation
	for range 3 {
		c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "x"})
		must(t, err)
		groups = append(groups, c)
	}
	for _, list := range [][]id.Conversation{groups, nil} {
		if got, err := s.DissolvedAmong(t.Context(), list); err != nil || len(got) != 0 {
			t.Errorf("among groups that exist: %v %v", got, err)
		}
	}
	_, err := s.Dissolve(t.Context(), groups[1], 1)
	must(t, err)
	if got, err := s.DissolvedAmong(t.Context(), groups); err != nil || !slices.Equal(got, groups[1:2]) {
		t.Errorf("got %v %v, want %v", got, err, groups[1:2])
	}
}
