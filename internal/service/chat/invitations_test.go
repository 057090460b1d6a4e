package chat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// inviting returns a service in which users from 100 on must agree before they are members, and its outbox.
func (h *harness) inviting(t *testing.T) (*chat.Service, *job.Outbox) {
	t.Helper()
	outbox, err := job.NewOutbox(t.Context(), h.db, slog.New(slog.DiscardHandler))
	must(t, err)
	deps := h.deps(h.db)
	deps.Outbox = outbox
	deps.CheckAdd = func(_ context.Context, _ id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
		return nil, slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return u < 100 }), func() {}, nil
	}
	s, err := chat.New(t.Context(), deps, h.config)
	must(t, err)
	return s, outbox
}

// invitationsOf returns a user's invitations as "inviter: title".
func invitationsOf(t *testing.T, s *chat.Service, u id.User) (list []string) {
	t.Helper()
	r, err := s.ListInvitations(t.Context(), u)
	must(t, err)
	for _, i := range r.Invitations {
		list = append(list, fmt.Sprintf("%d: %s", i.Inviter, i.Title))
	}
	return list
}

func membersOf(t *testing.T, s *chat.Service, c id.Conversation) (list []uint64) {
	t.Helper()
	r, err := s.ListMembers(t.Context(), c, 1, 0, "")
	must(t, err)
	for _, m := range r.Members {
		list = append(list, m.User)
	}
	return list
}

// invitationEvents returns the next events of an outbox as "user: by inviter".
func invitationEvents(t *testing.T, outbox *job.Outbox, count int) (list []string) {
	t.Helper()
	run, stop := context.WithCancel(t.Context())
	must(t, outbox.Run(run, func(_ context.Context, events []job.Event) error {
		for _, e := range events {
			var event chatv1.Event
			must(t, proto.Unmarshal(e.Body, &event))
			list = append(list, fmt.Sprintf("%d: by %d", e.User, event.GetInvitations().GetInviter()))
		}
		if len(list) >= count {
			stop()
		}
		return nil
	}))
	return list
}

// Invited users are no members until they accept. Each invitation notifies its user once, and each answer once more.
func TestInvitationMakesMemberWhenAccepted(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s, outbox := h.inviting(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 100}})
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	change, err := s.InviteBy(ctx, c, id.Caller{User: 2}, []uint64{3, 100, 101})
	must(t, err)
	if !slices.Equal(change.Invited, []uint64{100, 101}) || change.Seq == 0 {
		t.Errorf("the answer of an invitation is %v", change)
	}
	if got := membersOf(t, s, c); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("members are %v before anybody accepted", got)
	}
	if got := invitationsOf(t, s, 100); !slices.Equal(got, []string{"2: g"}) {
		t.Errorf("invitations of 100 are %q, want the one by the last inviter", got)
	}
	other := h.node(t) // accepted on another node
	if seq, err := other.AnswerInvitation(ctx, c, 100, true); err != nil || seq == 0 {
		t.Errorf("accepting returned %d, %v", seq, err)
	}
	if seq, err := s.AnswerInvitation(ctx, c, 101, false); err != nil || seq != 0 {
		t.Errorf("declining returned %d, %v", seq, err)
	}
	for _, u := range []id.User{2, 100, 101, 102} {
		if _, err := s.AnswerInvitation(ctx, c, u, true); reasonOf(err) != "no_invitation" {
			t.Errorf("an answer of %d without an invitation returned %v", u, err)
		}
	}
	if got := membersOf(t, s, c); !slices.Equal(got, []uint64{1, 2, 3, 100}) {
		t.Errorf("members are %v", got)
	}
	got := invitationEvents(t, outbox, 3)
	if want := []string{"100: by 1", "101: by 2", "101: by 0"}; !slices.Equal(got, want) { // the other node has no outbox
		t.Errorf("notifications are %q, want %q", got, want)
	}
}

// An invitation ends when its inviter may no longer invite, with a ban, a block, the group, and however else the user joins.
func TestInvitationEnds(t *testing.T) {
	ctx := t.Context()
	for what, end := range map[string]func(h *harness, s *chat.Service, c id.Conversation) error{
		"inviter loses the role": func(_ *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_MEMBER)
			return err
		},
		"inviter leaves": func(_ *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.Leave(ctx, c, 2)
			return err
		},
		"ban": func(_ *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.Ban(ctx, c, 1, []uint64{100})
			return err
		},
		"block": func(h *harness, _ *chat.Service, _ id.Conversation) error {
			h.relations.set(h.relations.blocked, 2, 100, true)
			return nil
		},
		"dissolved group": func(_ *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.Dissolve(ctx, c, 1)
			return err
		},
		"joined by a server, and left": func(_ *harness, s *chat.Service, c id.Conversation) error {
			if _, err := s.InviteBy(ctx, c, id.Caller{User: 1, Server: true}, []uint64{100}); err != nil {
				return err
			}
			_, err := s.Leave(ctx, c, 100)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHarness(t, chat.Config{})
			s, _ := h.inviting(t)
			c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
			must(t, err)
			_, err = s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)
			must(t, err)
			_, err = s.Invite(ctx, c, 2, []uint64{100})
			must(t, err)
			must(t, end(h, s, c))
			if _, err := s.AnswerInvitation(ctx, c, 100, true); reasonOf(err) != "no_invitation" {
				t.Errorf("accepting returned %v, want no_invitation", err)
			}
			if got := invitationsOf(t, s, 100); len(got) != 0 {
				t.Errorf("invitations are %q, want none", got)
			}
			if got := membersOf(t, s, c); slices.Contains(got, 100) {
				t.Errorf("members are %v", got)
			}
		})
	}
}

// A user who was invited and asks to join, and one who asked and is invited, are members at once: both sides have agreed.
func TestInvitationMeetsRequest(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s, _ := h.inviting(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{100}, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_APPROVAL})
	must(t, err)
	if list, err := s.ListJoinRequests(ctx, c, 1); err != nil || len(list.Requests) != 0 {
		t.Errorf("an invitation is listed as a request to join: %v, %v", list, err)
	}
	if _, err := s.AnswerJoinRequest(ctx, c, 1, 100, true); reasonOf(err) != "no_request" {
		t.Errorf("an admin who answers for the invited user got %v", err)
	}
	if joined, _, err := s.Join(ctx, 100, &chatv1.JoinRequest{Conversation: uint64(c)}); err != nil || !joined {
		t.Errorf("an invited user who asks to join: %v, %v", joined, err)
	}
	if joined, _, err := s.Join(ctx, 101, &chatv1.JoinRequest{Conversation: uint64(c)}); err != nil || joined {
		t.Errorf("a user who asks to join: %v, %v", joined, err)
	}
	change, err := s.InviteBy(ctx, c, id.Caller{User: 1}, []uint64{101})
	if err != nil || len(change.Invited) != 0 {
		t.Errorf("inviting a user who asked returned %v, %v", change, err)
	}
	if got := membersOf(t, s, c); !slices.Equal(got, []uint64{1, 100, 101}) {
		t.Errorf("members are %v", got)
	}
}

// A user keeps the newest 50 invitations, and is told which make way.
func TestInvitationsAreBounded(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s, outbox := h.inviting(t)
	for n := range 52 {
		h.clock.ms.Add(1)
		_, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: fmt.Sprint(n), Members: []uint64{100, 101}})
		must(t, err)
	}
	got := invitationEvents(t, outbox, 108)
	for u, from := range map[id.User]int{100: 50, 101: 50} {
		mine := slices.DeleteFunc(slices.Clone(got), func(e string) bool { return !strings.HasPrefix(e, u.String()) })
		over, by := fmt.Sprintf("%d: by 0", u), fmt.Sprintf("%d: by 1", u)
		if len(mine) != 54 || !slices.Equal(mine[from:], []string{over, by, over, by}) {
			t.Errorf("user %d was told %q", u, mine)
		}
	}
	for _, u := range []id.User{100, 101} {
		if got := invitationsOf(t, s, u); len(got) != 50 || got[0] != "1: 51" || got[49] != "1: 2" {
			t.Errorf("invitations of %d are %q", u, got)
		}
	}
}

// While blocks cannot be read, nobody is refused for good: an invitation stays, and calls return the failure.
func TestUnreadableBlocksRefuseNobody(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s, _ := h.inviting(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{100}})
	must(t, err)
	failing, relations := slowNode(t, h)
	relations.err = errors.New("the database is away")
	close(relations.gate)
	_, accepted := failing.AnswerInvitation(ctx, c, 100, true)
	_, opened := failing.OpenDirect(ctx, 1, 2)
	_, created := failing.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "h", Members: []uint64{2}})
	for what, err := range map[string]error{"accepting": accepted, "OpenDirect": opened, "CreateGroup": created} {
		if !errors.Is(err, relations.err) || errs.IsRefusal(err) {
			t.Errorf("%s returned %v", what, err)
		}
	}
	if got := invitationsOf(t, s, 100); !slices.Equal(got, []string{"1: g"}) {
		t.Errorf("afterwards the invitations are %q", got)
	}
}

// Admins see who is invited, in pages, and take invitations back; a member takes back those of their own. Others learn nothing.
func TestInvitationsAreTakenBack(t *testing.T) {
	ctx, h := t.Context(), newHarness(t, chat.Config{})
	s, outbox := h.inviting(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 100, 101}})
	must(t, err)
	_, err = s.SetRole(ctx, c, 1, 3, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	_, err = s.Invite(ctx, c, 3, []uint64{102})
	must(t, err)
	list := func(by id.User, limit uint32, page string) (list []string, next string) {
		r, err := s.ListGroupInvitations(ctx, c, by, limit, page)
		if err != nil {
			return []string{reasonOf(err)}, ""
		}
		for _, i := range r.Invitations {
			list = append(list, fmt.Sprintf("%d by %d", i.User, i.Inviter))
		}
		return list, r.Next
	}
	first, next := list(3, 2, "")
	second, end := list(1, 2, next)
	if !slices.Equal(first, []string{"100 by 1", "101 by 1"}) || !slices.Equal(second, []string{"102 by 3"}) || end != "" {
		t.Errorf("the pages are %q and %q", first, second)
	}
	_, err = s.SetRole(ctx, c, 1, 3, chatv1.Role_ROLE_MEMBER)
	must(t, err)
	for by, want := range map[id.User]string{2: "not_allowed", 3: "not_allowed", 9: "no_conversation", 100: "no_conversation"} {
		if got, _ := list(by, 0, ""); !slices.Equal(got, []string{want}) {
			t.Errorf("user %d sees %q", by, got)
		}
	}
	if got, _ := list(1, 0, "x"); !slices.Equal(got, []string{"bad_page"}) {
		t.Errorf("a bad page: %q", got)
	}
	for _, try := range []struct {
		by, u id.User
		want  string
	}{{2, 100, "not_allowed"}, {2, 500, "not_allowed"}, {9, 100, "no_conversation"}, {3, 100, "not_allowed"}, {3, 102, ""}, {1, 100, ""}, {1, 100, "not_invited"}, {1, 0, "not_invited"}, {1, 1 << 63, "not_invited"}} {
		if got := reasonOf(s.CancelInvitation(ctx, c, try.by, try.u)); got != try.want {
			t.Errorf("user %d takes back the invitation of %d: %q, want %q", try.by, try.u, got, try.want)
		}
	}
	if got, _ := list(1, 0, ""); !slices.Equal(got, []string{"101 by 1"}) {
		t.Errorf("left are %q", got)
	}
	if _, err := s.AnswerInvitation(ctx, c, 100, true); reasonOf(err) != "no_invitation" {
		t.Errorf("the invitation is taken: %v", err)
	}
	if got, want := invitationEvents(t, outbox, 5), []string{"100: by 1", "101: by 1", "102: by 3", "102: by 0", "100: by 0"}; !slices.Equal(got, want) {
		t.Errorf("the users were told %q, want %q", got, want)
	}
}
