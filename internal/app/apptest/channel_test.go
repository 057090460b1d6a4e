package apptest_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A connected follower is pushed what is written in a channel from the join on, and nothing after leaving. What was written before is not
// unread, and can be read.
func TestFollowersAreConnected(t *testing.T) {
	h := apptest.Open(t, nil)
	owner, follower := h.Register(t, "owner"), h.Register(t, "follower")
	made, err := h.Chat().CreateGroup(t.Context(), apptest.As(owner, &chatv1.CreateGroupRequest{Title: "news", Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN}))
	must(t, err)
	c := made.Msg.Id
	if !made.Msg.Channel || !made.Msg.MutedAll {
		t.Errorf("the channel is %v", made.Msg)
	}
	h.Send(t, owner, c, "1", "before")
	s, _ := follower.Socket(t, "rialto.v1.proto")
	_, err = h.Chat().Join(t.Context(), apptest.As(follower, &chatv1.JoinRequest{Conversation: c}))
	must(t, err)
	list := func() *chatv1.ListConversationsResponse {
		t.Helper()
		r, err := h.Chat().ListConversations(t.Context(), apptest.As(follower, &chatv1.ListConversationsRequest{}))
		must(t, err)
		return r.Msg
	}
	if l := list(); len(l.Conversations) != 1 || l.Badge != 0 || l.Conversations[0].LastMessage.GetContent().GetText() != "before" || !l.Conversations[0].Channel || l.Conversations[0].MemberCount != 2 {
		t.Errorf("the list is %v", l)
	}
	h.Send(t, owner, c, "2", "after")
	s.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if m := e.GetMessage(); m.GetContent().GetText() == "after" {
				if e.Seq != 0 || m.Conversation != c {
					t.Errorf("pushed %v", e)
				}
				return true
			}
		}
		return false
	})
	row := list().Conversations[0]
	if row.Unread != 1 || row.LastMessage.GetContent().GetText() != "after" {
		t.Errorf("with an unread message the row is %v", row)
	}
	_, err = h.Chat().Leave(t.Context(), apptest.As(follower, &chatv1.LeaveRequest{Conversation: c}))
	must(t, err)
	if l := list(); len(l.Conversations) != 0 || l.Badge != 0 {
		t.Errorf("after leaving, the list is %v", l)
	}
	if _, err := h.Chat().History(t.Context(), apptest.As(follower, &chatv1.HistoryRequest{Conversation: c})); err == nil {
		t.Error("a former follower reads the channel")
	}
}

// A removed follower's devices learn it from the stream, and from then on the follower is pushed nothing of the channel.
func TestRemovedFollowersArePushedNothing(t *testing.T) {
	h := apptest.Open(t, nil)
	owner, follower := h.Register(t, "owner"), h.Register(t, "follower")
	made, err := h.Chat().CreateGroup(t.Context(), apptest.As(owner, &chatv1.CreateGroupRequest{Title: "news", Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_OPEN}))
	must(t, err)
	c := made.Msg.Id
	direct, err := h.Chat().OpenDirect(t.Context(), apptest.As(owner, &chatv1.OpenDirectRequest{User: follower.User}))
	must(t, err)
	s, _ := follower.Socket(t, "rialto.v1.proto")
	until := func(found func(*chatv1.Event) bool) {
		t.Helper()
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if e.GetMessage().GetContent().GetText() == "after the removal" {
					t.Error("a removed follower is pushed a message")
				}
				if found(e) {
					return true
				}
			}
			return false
		})
	}
	_, err = h.Chat().Join(t.Context(), apptest.As(follower, &chatv1.JoinRequest{Conversation: c}))
	must(t, err)
	until(func(e *chatv1.Event) bool { return e.GetFollow().GetFollows() && e.GetFollow().Conversation == c })
	_, err = h.Chat().Remove(t.Context(), apptest.As(owner, &chatv1.RemoveRequest{Conversation: c, Users: []uint64{follower.User}}))
	must(t, err)
	until(func(e *chatv1.Event) bool {
		return e.GetFollow() != nil && !e.GetFollow().Follows && e.GetFollow().Conversation == c
	})
	h.Send(t, owner, c, "1", "after the removal")
	h.Send(t, owner, direct.Msg.Id, "2", "last")
	until(func(e *chatv1.Event) bool { return e.GetMessage().GetContent().GetText() == "last" })
}
