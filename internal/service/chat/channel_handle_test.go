package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A channel with an open join policy is found by its handle, as on any node, and followed by it. Its owner sets and changes it. Two channels
// cannot have the same, and a dissolved one gives it back.
func TestChannelsAreFoundByHandle(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	a, b := h.node(t), h.node(t)
	c, other := h.channel(t, a), h.channel(t, b)
	set := func(s *chat.Service, r *chatv1.UpdateGroupRequest) string {
		_, err := s.UpdateGroup(ctx, c, 1, r)
		return reasonOf(err)
	}
	handle := func(to string) *chatv1.UpdateGroupRequest { return &chatv1.UpdateGroupRequest{Handle: &to} }
	for bad, want := range map[string]string{"x": "bad_handle", "12345": "bad_handle", "a b c": "bad_handle", "admin": "reserved_handle"} {
		if got := set(a, handle(bad)); got != want {
			t.Errorf("the handle %q is refused with %q, want %q", bad, got, want)
		}
	}
	if got := set(a, handle("@News.today")); got != "" {
		t.Fatalf("the change was refused with %q, want success", got)
	}
	_, err := a.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{Announcement: proto.String("What happens")})
	must(t, err)
	preview := func(s *chat.Service, handle string) (*chatv1.PreviewJoinLinkResponse, string) {
		r, err := s.PreviewJoinLink(ctx, 2, &chatv1.PreviewJoinLinkRequest{Handle: handle})
		return r, reasonOf(err)
	}
	found, why := preview(b, "news.TODAY")
	if why != "" || found.Conversation != uint64(c) || found.Title != "news" || found.Announcement != "What happens" || !found.Channel || found.Handle != "news.today" || found.MemberCount != 1 || found.Member {
		t.Errorf("found %v, %s", found, why)
	}
	if _, err := b.UpdateGroup(ctx, other, 1, handle("news.today")); reasonOf(err) != "handle_taken" {
		t.Errorf("a second channel with the handle: %v", err)
	}
	joined, at, err := b.Join(ctx, 2, &chatv1.JoinRequest{Handle: "@news.today"})
	must(t, err)
	v, err := a.Describe(ctx, 2, c)
	must(t, err)
	if !joined || at != c || v.Handle != "news.today" || v.MemberCount != 2 {
		t.Errorf("joined %v %d, and sees %v", joined, at, v)
	}
	// An admin who is not the owner, and a group.
	_, err = a.Invite(ctx, c, 1, []uint64{3})
	must(t, err)
	_, err = a.SetRole(ctx, c, 1, 3, chatv1.Role_ROLE_ADMIN)
	must(t, err)
	if _, err := a.UpdateGroup(ctx, c, 3, handle("mine")); reasonOf(err) != "not_allowed" {
		t.Errorf("an admin changes the handle: %v", err)
	}
	group, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g"})
	must(t, err)
	if _, err := a.UpdateGroup(ctx, group, 1, handle("group")); reasonOf(err) != "bad_handle" {
		t.Errorf("a group gets a handle: %v", err)
	}
	// What is not open is found by nobody.
	invite := chatv1.JoinPolicy_JOIN_POLICY_INVITE
	if got := set(a, &chatv1.UpdateGroupRequest{JoinPolicy: &invite}); got != "" {
		t.Fatalf("the change was refused with %q, want success", got)
	}
	if found, why := preview(b, "news.today"); why != "" && why != "bad_link" || why == "" && !found.Member {
		t.Errorf("a channel that is not open: %v, %s", found, why)
	}
	if _, err := b.PreviewJoinLink(ctx, 4, &chatv1.PreviewJoinLinkRequest{Handle: "news.today"}); reasonOf(err) != "bad_link" {
		t.Errorf("a stranger finds a channel that is not open: %v", err)
	}
	if _, _, err := b.Join(ctx, 4, &chatv1.JoinRequest{Handle: "news.today"}); reasonOf(err) != "no_conversation" {
		t.Errorf("a stranger joins a channel that is not open: %v", err)
	}
	if _, err := a.Dissolve(ctx, c, 1); err != nil {
		t.Fatal(err)
	}
	if _, why := preview(b, "news.today"); why != "bad_link" {
		t.Errorf("a dissolved channel is found: %s", why)
	}
	_, err = b.UpdateGroup(ctx, other, 1, handle("news.today"))
	must(t, err)
	if _, err := b.UpdateGroup(ctx, other, 1, handle("")); err != nil {
		t.Fatal(err)
	}
	if _, why := preview(a, "news.today"); why != "bad_link" {
		t.Errorf("a handle that was taken away is found: %s", why)
	}
}
