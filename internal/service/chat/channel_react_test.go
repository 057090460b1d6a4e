package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Followers react, and do nothing else to messages: not once they have left, nor in a channel with more followers than a group may have
// members.
func TestFollowersReact(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{MaxMembers: 2})
	a, b := h.node(t), h.node(t)
	c := h.channel(t, a)
	first := draftOf(c, 1, 1, "first")
	must(t, a.Send(ctx, first))
	n := uint64(1)
	send := func(s *chat.Service, u id.User, content *chatv1.Content) string {
		t.Helper()
		raw, err := proto.Marshal(content)
		must(t, err)
		n++
		return reasonOf(s.Send(ctx, &message.Draft{Conversation: c, Sender: u, Device: id.Device(u) + 100, ClientSeq: n, Content: raw}))
	}
	to := &chatv1.Ref{Seq: first.Seq}
	thumb := &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: to, Emoji: "👍"}}}
	for u, s := range map[id.User]*chat.Service{2: a, 3: b} {
		if why := send(s, u, thumb); why != "no_conversation" {
			t.Errorf("a stranger reacts: %q", why)
		}
		must(t, follow(s, c, u))
		if why := send(s, u, thumb); why != "" {
			t.Errorf("a follower's reaction is refused: %s", why)
		}
	}
	for name, content := range map[string]*chatv1.Content{
		"text":   {Kind: &chatv1.Content_Text{Text: "x"}},
		"reply":  {Kind: &chatv1.Content_Text{Text: "x"}, ReplyTo: to},
		"pin":    {Kind: &chatv1.Content_Pin{Pin: &chatv1.Pin{Target: to}}},
		"recall": {Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: to}}},
	} {
		if why := send(a, 2, content); why != "not_writer" {
			t.Errorf("a follower's %s: %q", name, why)
		}
	}
	r, err := b.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c), After: first.Seq - 1, Limit: 1})
	must(t, err)
	if sum := r.Messages[0].Reactions; len(sum.GetCounts()) != 1 || sum.Counts[0].Count != 2 || len(sum.Mine) != 1 {
		t.Errorf("the reactions are %v", sum)
	}
	_, err = b.Leave(ctx, c, 3)
	must(t, err)
	if why := send(a, 3, thumb); why != "no_conversation" {
		t.Errorf("a former follower reacts: %q", why)
	}
	_, err = a.Invite(ctx, c, 1, []uint64{3})
	must(t, err)
	if why := send(b, 3, thumb); why != "" {
		t.Errorf("the reaction of a member without a role is refused: %s", why)
	}
	for u := id.User(4); u <= 5; u++ {
		must(t, follow(a, c, u))
	}
	if why := send(b, 2, thumb); why != "too_many_followers" {
		t.Errorf("a reaction in a channel with many followers: %q", why)
	}
	if why := send(b, 1, thumb); why != "" {
		t.Errorf("the owner's reaction in it is refused: %s", why)
	}
}
