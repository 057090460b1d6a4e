package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (h *harness) channel(t *testing.T, s *chat.Service) id.Conversation {
	t.Helper()
	c, err := s.CreateGroup(context.Background(), 1, &chatv1.CreateGroupRequest{Title: "news", Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN})
	must(t, err)
	return c
}

func follow(s *chat.Service, c id.Conversation, u id.User) error {
	_, _, err := s.Join(context.Background(), u, &chatv1.JoinRequest{Conversation: uint64(c)})
	return err
}

// A follower reads all of a channel, without an entry in its log, and writes nothing. Who leaves, or is removed or banned, on whichever node,
// reads no more.
func TestFollowersOfAChannel(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{MaxFollowers: 3})
	a, b := h.node(t), h.node(t)
	c := h.channel(t, a)
	d := draftOf(c, 1, 1, "first")
	must(t, a.Send(ctx, d))
	before := h.tail(t, c).Seq
	for u := id.User(2); u <= 4; u++ {
		must(t, follow(b, c, u))
		must(t, follow(a, c, u)) // again
	}
	if err := follow(a, c, 5); reasonOf(err) != "group_full" {
		t.Errorf("a follower beyond the limit: %v", err)
	}
	if now := h.tail(t, c).Seq; now != before {
		t.Errorf("following made %d entries", now-before)
	}
	reads := func(s *chat.Service, u id.User, want string) {
		t.Helper()
		r, err := s.History(ctx, u, &chatv1.HistoryRequest{Conversation: uint64(c)})
		if reasonOf(err) != want || err == nil && len(r.Messages) < 2 {
			t.Errorf("user %d reads %d entries, %v; want %q", u, len(r.GetMessages()), err, want)
		}
		v, err := s.Describe(ctx, u, c)
		if reasonOf(err) != want || err == nil && (!v.Channel || !v.Large || !v.MutedAll || v.JoinSeq != 1 || v.Role != chatv1.Role_ROLE_MEMBER) {
			t.Errorf("user %d sees %v, %v; want %q", u, v, err, want)
		}
	}
	count := func(want uint32) {
		t.Helper()
		v, err := b.Describe(ctx, 1, c)
		must(t, err)
		if v.MemberCount != want {
			t.Errorf("the channel has %d members, want %d", v.MemberCount, want)
		}
	}
	for u := id.User(2); u <= 4; u++ {
		reads(a, u, "")
		reads(b, u, "")
	}
	count(4)
	reads(a, 6, "no_conversation")
	if err := a.Send(ctx, draftOf(c, 2, 1, "x")); reasonOf(err) != "not_writer" {
		t.Errorf("a follower's message: %v", err)
	}
	if err := a.Send(ctx, draftOf(c, 6, 1, "x")); reasonOf(err) != "no_conversation" {
		t.Errorf("a stranger's message: %v", err)
	}
	if _, err := a.ListMembers(ctx, c, 2, 10, ""); reasonOf(err) != "not_allowed" {
		t.Errorf("a follower lists followers: %v", err)
	}
	if list, err := a.MembershipsIn(ctx, 2, []id.Conversation{c}); err != nil || len(list) != 1 || !list[0].Large || list[0].Leave != 0 {
		t.Errorf("the follower's list has %v, %v", list, err)
	}
	large, err := b.LargeGroups(ctx, []id.User{3, 6})
	must(t, err)
	if !slices.Equal(large[0], []id.Conversation{c}) || len(large[1]) != 0 {
		t.Errorf("the large groups are %v", large)
	}

	_, err = b.Leave(ctx, c, 2)
	must(t, err)
	_, err = b.Remove(ctx, c, 1, []uint64{3})
	must(t, err)
	_, err = b.Ban(ctx, c, 1, []uint64{4})
	must(t, err)
	for u := id.User(2); u <= 4; u++ {
		reads(a, u, "no_conversation")
	}
	count(1)
	if _, err := a.Leave(ctx, c, 2); reasonOf(err) != "no_conversation" {
		t.Errorf("a second leave: %v", err)
	}
	must(t, follow(a, c, 3))
	if err := follow(a, c, 4); reasonOf(err) != "banned" {
		t.Errorf("a banned user follows: %v", err)
	}
	count(2)
}

// A follower who is invited becomes a member, who may be made an admin and write. A member without a role writes nothing.
func TestFollowersBecomeWriters(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := h.channel(t, s)
	must(t, follow(s, c, 2))
	if _, err := s.Invite(ctx, c, 2, []uint64{3}); reasonOf(err) == "" {
		t.Error("a follower invites")
	}
	_, err := s.Invite(ctx, c, 1, []uint64{2})
	must(t, err)
	if err := s.Send(ctx, draftOf(c, 2, 1, "x")); reasonOf(err) != "not_writer" {
		t.Errorf("a member's message: %v", err)
	}
	_, err = s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 2, 2, "x")))
	for u := range 2 { // a member who never followed reads the whole channel, too
		_, err := s.Invite(ctx, c, 1, []uint64{3})
		must(t, err)
		r, err := s.History(ctx, id.User(u+2), &chatv1.HistoryRequest{Conversation: uint64(c), After: 0, Limit: 1, TimeMs: 1})
		if err != nil || len(r.Messages) != 1 || r.Messages[0].Seq != 1 {
			t.Errorf("member %d reads from %v, %v", u+2, r, err)
		}
	}
	_, err = s.Remove(ctx, c, 1, []uint64{3})
	must(t, err)
	must(t, follow(s, c, 4)) // the owner makes a follower an admin at once; others cannot, and nobody a user who does not follow
	before := h.tail(t, c).Seq
	if _, err := s.SetRole(ctx, c, 2, 4, chatv1.Role_ROLE_ADMIN); reasonOf(err) != "not_allowed" || h.tail(t, c).Seq != before {
		t.Errorf("an admin makes a follower an admin: %v", err)
	}
	for _, u := range []id.User{3, 5} {
		if _, err := s.SetRole(ctx, c, 1, u, chatv1.Role_ROLE_ADMIN); reasonOf(err) != "no_member" {
			t.Errorf("user %d, who does not follow, becomes an admin: %v", u, err)
		}
	}
	_, err = s.SetRole(ctx, c, 1, 4, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 4, 1, "x")))
	_, err = s.Remove(ctx, c, 1, []uint64{4})
	must(t, err)
	v, err := h.node(t).Describe(ctx, 2, c)
	must(t, err)
	if v.MemberCount != 2 || v.Role != chatv1.Role_ROLE_ADMIN {
		t.Errorf("the new admin sees %v", v)
	}
	for _, r := range []*chatv1.CreateGroupRequest{{Title: "news", Channel: true, Members: []uint64{2}}, {Title: "news", Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_APPROVAL}} {
		if _, err := s.CreateGroup(ctx, 1, r); reasonOf(err) != "bad_channel" {
			t.Errorf("%v: error %v, want the reason bad_channel", r, err)
		}
	}
	approval := chatv1.JoinPolicy_JOIN_POLICY_APPROVAL
	if _, err := s.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{JoinPolicy: &approval}); reasonOf(err) != "bad_channel" {
		t.Errorf("a channel with approval: %v", err)
	}
}

// However followers come and go on several nodes while they are banned, each page of the lists and the count agree, and no banned user follows.
func TestFollowersRaceWithBans(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	nodes := []*chat.Service{h.node(t), h.node(t)}
	c := h.channel(t, nodes[0])
	const users = 40
	var group sync.WaitGroup
	for u := id.User(2); u < users; u++ {
		group.Go(func() {
			for i := range 3 {
				if err := follow(nodes[i%2], c, u); err != nil && reasonOf(err) != "banned" {
					t.Errorf("user %d follows: %v", u, err)
				}
				if u%5 == 1 {
					if _, err := nodes[(i+1)%2].Leave(ctx, c, u); err != nil && reasonOf(err) != "no_conversation" {
						t.Errorf("user %d leaves: %v", u, err)
					}
				}
			}
		})
	}
	group.Go(func() {
		for u := id.User(2); u < users; u += 2 {
			if _, err := nodes[1].Ban(ctx, c, 1, []uint64{uint64(u)}); err != nil {
				t.Errorf("user %d is not banned: %v", u, err)
			}
		}
	})
	group.Wait()
	var want []uint64
	for u := uint64(1); u < users; u++ {
		if u == 1 || u%2 == 1 && u%5 != 1 {
			want = append(want, u)
		}
	}
	var listed, audience []uint64
	for page, pages := "", 0; pages == 0 || page != ""; pages++ {
		r, err := nodes[0].ListMembers(ctx, c, 1, 7, page)
		must(t, err)
		for _, m := range r.Members {
			listed = append(listed, m.User)
		}
		page = r.Next
	}
	for after, pages := id.User(0), 0; pages == 0 || after != 0; pages++ {
		some, next, err := nodes[1].AudiencePage(ctx, c, 1, after, 7)
		must(t, err)
		for _, u := range some {
			audience = append(audience, uint64(u))
		}
		after = next
	}
	v, err := nodes[1].Describe(ctx, 1, c)
	must(t, err)
	if got := fmt.Sprint(listed, audience, v.MemberCount); got != fmt.Sprint(want, want, len(want)) {
		t.Errorf("members, audience and count: %s, want %v", got, want)
	}
}
