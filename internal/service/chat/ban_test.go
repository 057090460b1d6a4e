package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// newGroup opens a node with a group of users 1 (its owner), 2 and 3.
func newGroup(t *testing.T, policy chatv1.JoinPolicy) (*harness, *chat.Service, id.Conversation) {
	t.Helper()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	return h, s, h.groupOf(t, s, policy)
}

// groupOf creates a group of users 1 (its owner), 2 and 3.
func (h *harness) groupOf(t *testing.T, s *chat.Service, policy chatv1.JoinPolicy) id.Conversation {
	t.Helper()
	c, err := s.CreateGroup(t.Context(), 1, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{2, 3}, JoinPolicy: policy})
	must(t, err)
	return c
}

// A mute belongs to the user. It is kept when the user leaves and rejoins, also on a node that replays the log.
func TestMuteSurvivesRejoin(t *testing.T) {
	ctx := t.Context()
	h, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	_, err := s.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{Users: []uint64{2}, UntilMs: h.clock.ms.Load() + 1000})
	must(t, err)
	_, err = s.Leave(ctx, c, 2)
	must(t, err)
	_, _, err = s.Join(ctx, 2, &chatv1.JoinRequest{Conversation: uint64(c)})
	must(t, err)
	for name, node := range map[string]*chat.Service{"the node": s, "another": h.node(t)} {
		if err := node.Send(ctx, draftOf(c, 2, 1, "hello")); reasonOf(err) != "muted" {
			t.Errorf("%s: a muted user rejoined and wrote: %v, want muted", name, err)
		}
	}
	h.clock.ms.Add(1000)
	must(t, s.Send(ctx, draftOf(c, 2, 2, "hello")))
}

// A user whom an admin removed can rejoin by an invitation, but not by a link or in an open group.
func TestRemovedMemberCannotRejoinByLink(t *testing.T) {
	ctx := t.Context()
	h, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	link, err := s.CreateJoinLink(ctx, c, 1, 0)
	must(t, err)
	_, err = s.Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	again, err := s.CreateJoinLink(ctx, c, 1, 0)
	must(t, err)
	for name, q := range map[string]*chatv1.JoinRequest{"the old link": {Token: link}, "a new link": {Token: again}, "the open group": {Conversation: uint64(c)}} {
		want := "removed"
		if q.Token == link {
			want = "link_revoked"
		}
		if joined, _, err := h.node(t).Join(ctx, 2, q); reasonOf(err) != want || joined {
			t.Errorf("by %s: joined %v, %v, want a rejection", name, joined, err)
		}
	}
	_, err = s.Leave(ctx, c, 3)
	must(t, err)
	if joined, _, err := s.Join(ctx, 3, &chatv1.JoinRequest{Token: again}); err != nil || !joined {
		t.Errorf("a user who left cannot rejoin: %v", err)
	}
	_, err = s.Invite(ctx, c, 1, []uint64{2})
	must(t, err)
	_, err = s.Leave(ctx, c, 2)
	must(t, err)
	if joined, _, err := s.Join(ctx, 2, &chatv1.JoinRequest{Token: again}); err != nil || !joined {
		t.Errorf("a removed user who was invited since cannot rejoin: %v", err)
	}
}

// A user who was removed from a group with approval must request to join, also with a link.
func TestRemovedMemberMustRequestToJoin(t *testing.T) {
	ctx := t.Context()
	_, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_APPROVAL)
	link, err := s.CreateJoinLink(ctx, c, 1, 0)
	must(t, err)
	_, err = s.Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	if joined, _, err := s.Join(ctx, 2, &chatv1.JoinRequest{Token: link}); err != nil || joined {
		t.Fatalf("join returned %v, %v; want a pending request", joined, err)
	}
	_, err = s.AnswerJoinRequest(ctx, c, 1, 2, true)
	must(t, err)
	if m, err := s.Describe(ctx, 2, c); err != nil || m.LeaveSeq != 0 {
		t.Errorf("members are %v (%v); want the user who was accepted", m, err)
	}
}

// A ban prevents users from joining in any way, members and non-members, on all nodes. The log has an entry for it.
func TestBanClosesEveryWayIn(t *testing.T) {
	ctx := t.Context()
	h, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	link, err := s.CreateJoinLink(ctx, c, 1, 0)
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 3, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	for by, want := range map[id.User]string{2: "not_allowed", 3: "not_allowed", 9: "no_conversation"} {
		if _, err := s.Ban(ctx, c, by, []uint64{5, 1}); reasonOf(err) != want {
			t.Errorf("a ban of the owner by %d returned %v", by, err)
		}
	}
	if _, err := s.Ban(ctx, c, 1, []uint64{1}); reasonOf(err) != "not_allowed" {
		t.Errorf("a ban of the owner by the owner returned %v", err)
	}
	_, err = s.Ban(ctx, c, 3, []uint64{2, 5})
	must(t, err)
	log := h.entries(t, c)
	if last := log[len(log)-2:]; last[0].control.GetAction() != chatv1.Control_ACTION_BANNED || len(last[0].control.Users) != 2 || last[1].control.GetAction() != chatv1.Control_ACTION_REMOVED || len(last[1].control.Users) != 1 {
		t.Errorf("a ban appended %v and %v, want the ban before the removal", last[0].control, last[1].control)
	}
	ways := func(name string, node *chat.Service, u id.User, invited, joined string) {
		t.Helper()
		if _, err := node.Invite(ctx, c, 1, []uint64{uint64(u)}); reasonOf(err) != invited {
			t.Errorf("%s: inviting banned user %d returned %v", name, u, err)
		}
		for _, q := range []*chatv1.JoinRequest{{Token: link}, {Conversation: uint64(c)}} {
			if _, _, err := node.Join(ctx, u, q); reasonOf(err) != joined {
				t.Errorf("%s: a join by banned user %d returned %v", name, u, err)
			}
		}
		for _, q := range []*chatv1.PreviewJoinLinkRequest{{Token: link}, {Conversation: uint64(c)}} {
			if _, err := node.PreviewJoinLink(ctx, u, q); reasonOf(err) != joined {
				t.Errorf("%s: banned user %d got the preview of %v: %v", name, u, q, err)
			}
		}
	}
	for _, u := range []id.User{2, 5} {
		ways("the node", s, u, "banned", "banned")
		ways("another", h.node(t), u, "banned", "banned")
	}
	if _, err := s.Unban(ctx, c, 5, []uint64{5}); reasonOf(err) != "no_conversation" {
		t.Errorf("an unban by a banned user returned %v", err)
	}
	_, err = s.Unban(ctx, c, 3, []uint64{2, 5, 6})
	must(t, err)
	if _, _, err := s.Join(ctx, 2, &chatv1.JoinRequest{Token: link}); reasonOf(err) != "removed" {
		t.Errorf("an unbanned user who was removed joins by a link: %v, want removed", err)
	}
	ways("after the ban", h.node(t), 2, "", "")
	ways("after the ban", h.node(t), 5, "", "")
}

// A link ends when it is revoked, when it expires, and with its group. Then its preview reveals no more than a wrong link.
func TestJoinLinksEnd(t *testing.T) {
	ctx := t.Context()
	h, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_INVITE)
	create := func(untilMs int64) string {
		t.Helper()
		link, err := s.CreateJoinLink(ctx, c, 1, untilMs)
		must(t, err)
		if p, err := s.PreviewJoinLink(ctx, 9, &chatv1.PreviewJoinLinkRequest{Token: link}); err != nil || p.Title != "a group" || p.MemberCount != 3 || p.Member || p.Conversation != uint64(c) {
			t.Errorf("preview for a non-member: %v, %v", p, err)
		}
		if p, err := s.PreviewJoinLink(ctx, 2, &chatv1.PreviewJoinLinkRequest{Token: link}); err != nil || !p.Member {
			t.Errorf("preview for a member: %v, %v", p, err)
		}
		return link
	}
	over := func(link, want string) {
		t.Helper()
		if p, err := s.PreviewJoinLink(ctx, 9, &chatv1.PreviewJoinLinkRequest{Token: link}); reasonOf(err) != want {
			t.Errorf("an invalid link has a preview: %v, %v; want %s", p, err, want)
		}
		if _, _, err := s.Join(ctx, 9, &chatv1.JoinRequest{Token: link}); reasonOf(err) != want {
			t.Errorf("join by an invalid link: %v, want %s", err, want)
		}
	}
	over("x", "bad_link")
	link := create(0)
	for range 2 {
		must(t, s.RevokeJoinLink(ctx, c, 1))
		over(link, "link_revoked")
	}
	other := create(0)
	if other == link {
		t.Error("a new link equals the old one")
	}
	over(link, "link_revoked")
	link = create(h.clock.ms.Load() + 10)
	over(other, "link_revoked")
	h.clock.ms.Add(10)
	over(link, "link_expired")
	if _, err := s.CreateJoinLink(ctx, c, 1, h.clock.ms.Load()); reasonOf(err) != "bad_until" {
		t.Errorf("creating a link in the past: %v, want bad_until", err)
	}
	if err := s.RevokeJoinLink(ctx, c, 2); reasonOf(err) != "not_allowed" {
		t.Errorf("a member revoked the link: %v, want not_allowed", err)
	}
	d, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	if _, err := s.CreateJoinLink(ctx, d, 1, 0); reasonOf(err) != "not_a_group" {
		t.Errorf("a link of a one-to-one conversation: %v", err)
	}
	link = create(0)
	_, err = s.Dissolve(ctx, c, 1)
	must(t, err)
	over(link, "dissolved")
	if _, err := s.CreateJoinLink(ctx, c, 1, 0); reasonOf(err) != "dissolved" {
		t.Errorf("a link of a dissolved group: %v", err)
	}
}

// A group's id gives a preview to those who may join it or request to. For others the group does not exist.
func TestPreviewsOfGroupsByID(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	direct, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	invite, open := h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_INVITE), h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	approval, dissolved := h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_APPROVAL), h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	_, err = s.Dissolve(ctx, dissolved, 1)
	must(t, err)
	for _, test := range []struct {
		name   string
		c      id.Conversation
		u      id.User
		shown  bool
		member bool
	}{
		{"an open group", open, 9, true, false}, {"one with approval", approval, 9, true, false}, {"one's own", invite, 2, true, true},
		{"one by invitation", invite, 9, false, false}, {"a dissolved one", dissolved, 9, false, false}, {"none", 12345, 9, false, false}, {"no id", 0, 9, false, false},
		{"a conversation of others", direct, 9, false, false}, {"one's own conversation of two", direct, 1, false, false},
	} {
		p, err := s.PreviewJoinLink(ctx, test.u, &chatv1.PreviewJoinLinkRequest{Conversation: uint64(test.c)})
		if !test.shown && reasonOf(err) != "bad_link" {
			t.Errorf("%s: preview is %v (%v), want the group", test.name, p, err)
		}
		if test.shown && (err != nil || p.Title != "a group" || p.MemberCount != 3 || p.Member != test.member || p.Conversation != uint64(test.c)) {
			t.Errorf("%s: preview is %v (%v), want an error", test.name, p, err)
		}
	}
}

// Anyone can leave a dissolved group, also its owner. The group then disappears from the list.
func TestAnyoneCanLeaveDissolvedGroup(t *testing.T) {
	ctx := t.Context()
	_, s, c := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_INVITE)
	if _, err := s.Leave(ctx, c, 1); reasonOf(err) != "owner_stays" {
		t.Errorf("leaving as the owner returned %v, want owner_stays", err)
	}
	_, err := s.Dissolve(ctx, c, 1)
	must(t, err)
	for u := id.User(1); u <= 3; u++ {
		if list, err := s.RecentMemberships(ctx, u, false, nil, 10); err != nil || len(list) != 1 {
			t.Errorf("the list of %d is %v (%v), want the group", u, list, err)
		}
		_, err := s.Leave(ctx, c, u)
		must(t, err)
		if list, err := s.RecentMemberships(ctx, u, false, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("after leaving, the list of %d is %v (%v), want it empty", u, list, err)
		}
		if list, err := s.RecentMemberships(ctx, u, true, nil, 10); err != nil || len(list) != 1 {
			t.Errorf("the former conversations of %d are %v (%v)", u, list, err)
		}
	}
}

// Users who do not allow it cannot be added, and the error names them. A server can add anyone; a user who requested to join has agreed.
func TestCheckAddRefusesUsers(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	deps.CheckAdd = func(_ context.Context, by id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
		for _, u := range users {
			if u >= 100 {
				refused = append(refused, u)
			}
		}
		return refused, nil, func() {}, nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c := h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_APPROVAL)
	const message = "may_not_add: these users do not let you add them to a group; leave them out, or send them a join link: 100, 101"
	if _, err := s.Invite(ctx, c, 1, []uint64{4, 101, 100}); err == nil || err.Error() != message {
		t.Errorf("Invite returned %v", err)
	}
	if _, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{100, 101, 4}}); err == nil || err.Error() != message {
		t.Errorf("CreateGroup returned %v", err)
	}
	if _, err := s.Invite(ctx, c, 2, []uint64{100}); reasonOf(err) != "not_allowed" {
		t.Errorf("a member who may not invite got %v, want not_allowed", err)
	}
	if m, err := s.ListMembers(ctx, c, 1, 0, ""); err != nil || len(m.Members) != 3 {
		t.Errorf("members are %v, %v", m, err)
	}
	_, err = s.InviteBy(ctx, c, id.Caller{User: 1, Server: true}, []uint64{100})
	must(t, err)
	_, err = s.CreateGroupBy(ctx, id.Caller{User: 1, Server: true}, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{100}})
	must(t, err)
	_, err = s.Invite(ctx, c, 1, []uint64{100}) // is a member already
	must(t, err)
	_, _, err = s.Join(ctx, 101, &chatv1.JoinRequest{Conversation: uint64(c)})
	must(t, err)
	_, err = s.AnswerJoinRequest(ctx, c, 1, 101, true)
	must(t, err)
}

// TestRefusedAddingIsRefunded: users whom a later check refuses do not count as added; those who became members do.
func TestRefusedAddingIsRefunded(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, chat.Config{MaxMembers: 4})
	deps := h.deps(h.db)
	counted := 0
	deps.CheckAdd = func(_ context.Context, _ id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
		counted += len(users)
		return nil, nil, func() { counted -= len(users) }, nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c := h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_OPEN) // of three
	counted = 0
	for _, test := range []struct {
		what, reason string
		counted      int
		add          func() error
	}{
		{"two are invited where one fits", "group_full", 0, func() error { _, err := s.Invite(ctx, c, 1, []uint64{4, 5}); return err }},
		{"a group of too many", "group_full", 0, func() error {
			_, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{4, 5, 6, 7}})
			return err
		}},
		{"a group with an unknown policy", "bad_join_policy", 0, func() error {
			_, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{4}, JoinPolicy: 9})
			return err
		}},
		{"one is invited", "", 1, func() error { _, err := s.Invite(ctx, c, 1, []uint64{4}); return err }},
		{"a group", "", 3, func() error {
			_, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "x", Members: []uint64{4, 5}})
			return err
		}},
	} {
		if err := test.add(); reasonOf(err) != test.reason || counted != test.counted {
			t.Errorf("%s: %v, want %q; %d users count as added, want %d", test.what, err, test.reason, counted, test.counted)
		}
	}
}

// A user can join a bounded number of large groups. Small groups are not counted, and members stay.
func TestLargeGroupsOfOneUserAreBounded(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, chat.Config{LargeGroupAbove: 2, MaxLargeGroups: 2})
	s := h.node(t)
	var large []id.Conversation
	for range 3 {
		large = append(large, h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_OPEN))
	}
	join := func(c id.Conversation, reason string) {
		t.Helper()
		if _, _, err := s.Join(ctx, 9, &chatv1.JoinRequest{Conversation: uint64(c)}); reasonOf(err) != reason {
			t.Errorf("user 9 joins one large group too many: %v", err)
		}
	}
	join(large[0], "")
	join(large[1], "")
	join(large[2], "too_many_large_groups")
	join(large[1], "") // is a member already
	if _, err := s.Invite(ctx, large[2], 1, []uint64{8, 9}); reasonOf(err) != "too_many_large_groups" {
		t.Errorf("adding user 9 to one large group too many: %v", err)
	}
	small, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "small", JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN})
	must(t, err)
	join(small, "")
	_, err = s.Leave(ctx, large[0], 9)
	must(t, err)
	join(large[2], "")
}
