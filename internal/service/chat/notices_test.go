package chat_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func notices(t *testing.T, s *chat.Service, of chatv1.Notices, key string) id.Conversation {
	t.Helper()
	c, err := s.CreateGroupBy(context.Background(), id.Caller{User: 1, Server: true}, &chatv1.CreateGroupRequest{Title: "System notices", Channel: true, Notices: of, Key: key})
	must(t, err)
	return c
}

// noticesOf returns what a user reads of a conversation, or the reason of the refusal.
func noticesOf(s *chat.Service, u id.User, c id.Conversation) (list []string) {
	r, err := s.History(context.Background(), u, &chatv1.HistoryRequest{Conversation: uint64(c)})
	if err != nil {
		return []string{reasonOf(err)}
	}
	for _, m := range r.Messages {
		if text := m.Content.GetText(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func wantTexts(t *testing.T, s *chat.Service, u id.User, c id.Conversation, want ...string) {
	t.Helper()
	got := noticesOf(s, u, c)
	equal := len(got) == len(want)
	for i := range got {
		equal = equal && got[i] == want[i]
	}
	if !equal {
		t.Errorf("user %d reads %q, want %q", u, got, want)
	}
}

// A notice for everybody is one entry, and no row of a user. A user follows from the first look on, on whichever node, reads what was said since
// the registration, and has that as unread.
func TestNoticesForEverybody(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{MaxFollowers: 1})
	registered, marked := map[id.User]int64{}, map[id.User]uint64{}
	deps := h.deps(h.db)
	deps.RegisteredMs = func(_ context.Context, u id.User) (int64, error) { return registered[u], nil }
	deps.MarkFollowed = func(_ context.Context, _ *sql.Tx, u id.User, _ id.Conversation, tail timeline.Tail) error {
		marked[u] = tail.Counted
		return nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	other, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c := notices(t, s, chatv1.Notices_NOTICES_EVERYBODY, "all")
	if again := notices(t, other, chatv1.Notices_NOTICES_EVERYBODY, "all"); again != c {
		t.Errorf("a retry makes another channel: %d, %d", again, c)
	}
	before := h.tail(t, c).Seq
	must(t, s.Send(ctx, draftOf(c, 1, 1, "first")))
	h.clock.ms.Add(1000)
	registered[3] = h.clock.ms.Load()
	must(t, s.Send(ctx, draftOf(c, 1, 2, "second")))
	if n := h.tail(t, c).Seq - before; n != 2 {
		t.Errorf("two notices made %d entries", n)
	}
	var rows int
	must(t, h.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM members WHERE conversation = $1`, int64(c)).Scan(&rows))
	if rows != 1 { // the owner's
		t.Errorf("sending wrote rows of %d members", rows-1)
	}
	for range 2 { // the second finds them follow
		of, err := s.LargeGroups(ctx, []id.User{1, 2, 3})
		must(t, err)
		for i, list := range of {
			if len(list) != 1 || list[0] != c {
				t.Errorf("the large groups of user %d are %v", i+1, list)
			}
		}
	}
	wantTexts(t, other, 2, c, "first", "second")
	wantTexts(t, other, 3, c, "second")
	wantTexts(t, other, 4, c, "first", "second") // who reads before listing
	if len(marked) != 1 || marked[3] != 1 {
		t.Errorf("read at the registration is %v, want one notice of user 3", marked)
	}
	list, err := other.RecentMemberships(ctx, 3, false, nil, 10)
	must(t, err)
	if len(list) != 1 || list[0].Conversation != c || list[0].Join != 1+before+1 {
		t.Errorf("the list of user 3 is %v", list)
	}
	v, err := s.Describe(ctx, 2, c)
	must(t, err)
	if v.Notices != chatv1.Notices_NOTICES_EVERYBODY || !v.Large || !v.MutedAll || v.MemberCount != 4 {
		t.Errorf("user 2 sees %v", v)
	}
}

// A user for whom it fails does not keep the others of a call from the notices, and if it fails for all, the call ends soon.
func TestNoticesPassOverAUserWhoFails(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	tries, fails := 0, func(u id.User) bool { return u == 2 }
	deps := h.deps(h.db)
	deps.RegisteredMs = func(_ context.Context, u id.User) (int64, error) {
		if tries++; fails(u) {
			return 0, errors.New("the row cannot be read")
		}
		return 0, nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	notices(t, s, chatv1.Notices_NOTICES_EVERYBODY, "all")
	of, err := s.LargeGroups(ctx, []id.User{2, 3, 4})
	must(t, err)
	if len(of[0]) != 0 || len(of[1]) != 1 || len(of[2]) != 1 {
		t.Errorf("users 2, 3 and 4 follow %v", of)
	}
	tries, fails = 0, func(id.User) bool { return true }
	_, err = s.LargeGroups(ctx, []id.User{2, 5, 6, 7, 8, 9})
	must(t, err)
	if tries != 3 {
		t.Errorf("it was tried for %d users, want 3", tries)
	}
}

// Nobody but the owner changes notices, and nobody but a server makes them.
func TestNoticesAreTheApps(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := notices(t, s, chatv1.Notices_NOTICES_EVERYBODY, "all")
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	wantTexts(t, s, 2, c, "first")
	thumb, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: d.Seq}, Emoji: "👍"}}})
	must(t, err)
	reaction := draftOf(c, 2, 2, "")
	reaction.Content = thumb
	open, handle := chatv1.JoinPolicy_JOIN_POLICY_OPEN, "news"
	server := id.Caller{User: 1, Server: true}
	create := func(by id.Caller, r *chatv1.CreateGroupRequest) error {
		_, err := s.CreateGroupBy(ctx, by, r)
		return err
	}
	second := func(_ uint64, err error) error { return err }
	for name, try := range map[string]struct {
		err  error
		want string
	}{
		"a message":            {s.Send(ctx, draftOf(c, 2, 1, "x")), "not_writer"},
		"a reaction":           {s.Send(ctx, reaction), "muted"},
		"leaving":              {second(s.Leave(ctx, c, 2)), "notices"},
		"removing":             {second(s.Remove(ctx, c, 1, []uint64{2})), "notices"},
		"banning":              {second(s.Ban(ctx, c, 1, []uint64{2})), "notices"},
		"inviting":             {second(s.Invite(ctx, c, 1, []uint64{2})), "notices"},
		"an invitation by 2":   {second(s.Invite(ctx, c, 2, []uint64{3})), "not_allowed"},
		"a role":               {second(s.SetRole(ctx, c, 1, 2, chatv1.Role_ROLE_ADMIN)), "notices"},
		"a join policy":        {second(s.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{JoinPolicy: &open})), "notices"},
		"a handle":             {second(s.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{Handle: &handle})), "notices"},
		"joining":              {follow(s, c, 3), "no_conversation"},
		"a second for all":     {create(server, &chatv1.CreateGroupRequest{Title: "x", Channel: true, Notices: 1, Key: "2"}), "notices_exist"},
		"without a key":        {create(server, &chatv1.CreateGroupRequest{Title: "x", Channel: true, Notices: 2}), "bad_notices"},
		"of a group":           {create(server, &chatv1.CreateGroupRequest{Title: "x", Notices: 2, Key: "2"}), "bad_notices"},
		"of an open channel":   {create(server, &chatv1.CreateGroupRequest{Title: "x", Channel: true, Notices: 2, Key: "2", JoinPolicy: open}), "bad_notices"},
		"of a user":            {create(id.Caller{User: 2}, &chatv1.CreateGroupRequest{Title: "x", Channel: true, Notices: 2, Key: "2"}), "no_key"},
		"for an unknown group": {create(server, &chatv1.CreateGroupRequest{Title: "x", Channel: true, Notices: 3, Key: "2"}), "bad_notices"},
	} {
		if got := reasonOf(try.err); got != try.want {
			t.Errorf("%s: %q, want %q", name, got, try.want)
		}
	}
	_, err = s.Dissolve(ctx, c, 1)
	must(t, err)
	if next := notices(t, s, chatv1.Notices_NOTICES_EVERYBODY, "next"); next == c {
		t.Error("the next notices are the dissolved ones")
	}
}

// The notices of a segment are for those whom the owner adds. For others, on each node and each path, there is no such conversation.
func TestNoticesForASegment(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	a, b := h.node(t), h.node(t)
	c := notices(t, a, chatv1.Notices_NOTICES_SEGMENT, "beta")
	d := draftOf(c, 1, 1, "first")
	must(t, a.Send(ctx, d))
	outside := func(u id.User) {
		t.Helper()
		wantTexts(t, b, u, c, "no_conversation")
		_, described := b.Describe(ctx, u, c)
		_, got := b.GetMessages(ctx, u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{d.Seq}})
		_, previewed := b.PreviewJoinLink(ctx, u, &chatv1.PreviewJoinLinkRequest{Conversation: uint64(c)})
		_, listed := b.ListMembers(ctx, c, u, 10, "")
		_, picture := b.Picture(ctx, u, c)
		_, left := b.Leave(ctx, c, u)
		for what, users := range map[string][]uint64{"a user": {4}, "itself": {uint64(u)}, "an unknown user": {5000}, "nobody": nil} {
			_, invited := b.Invite(ctx, c, u, users)
			_, missing := b.Invite(ctx, c+1000, u, users)
			if got := reasonOf(invited); got != "no_conversation" || got != reasonOf(missing) {
				t.Errorf("user %d invites %s: %v; to what does not exist: %v", u, what, invited, missing)
			}
		}
		if described == nil || previewed == nil || listed == nil || picture == nil || reasonOf(left) != "no_conversation" {
			t.Errorf("user %d: %v, %v, %v, %v, %v", u, described, previewed, listed, picture, left)
		}
		if got == nil {
			r, _ := b.GetMessages(ctx, u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{d.Seq}})
			if len(r.GetMessages()) != 0 {
				t.Errorf("user %d gets %v", u, r)
			}
		}
		of, err := b.LargeGroups(ctx, []id.User{u})
		must(t, err)
		list, err := b.MembershipsIn(ctx, u, []id.Conversation{c})
		must(t, err)
		if len(of[0])+len(list) != 0 {
			t.Errorf("user %d has %v, %v", u, of, list)
		}
	}
	for range 2 {
		_, err := a.Invite(ctx, c, 1, []uint64{2})
		must(t, err)
	}
	wantTexts(t, b, 2, c, "first")
	outside(3)
	if _, err := b.Invite(ctx, c, 2, []uint64{3}); reasonOf(err) != "not_allowed" {
		t.Errorf("a follower invites: %v", err)
	}
	users, _, err := a.AudiencePage(ctx, c, d.Seq, 0, 10)
	must(t, err)
	if len(users) != 2 || users[1] != 2 {
		t.Errorf("the audience is %v", users)
	}
	if _, err := a.Leave(ctx, c, 2); reasonOf(err) != "notices" {
		t.Errorf("a user leaves the segment: %v", err)
	}
	if _, err := a.Invite(ctx, c, 1, []uint64{4, 5000}); reasonOf(err) != "no_user" {
		t.Errorf("an unknown user: %v", err)
	}
	outside(4)
	_, err = a.Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	outside(2)
}
