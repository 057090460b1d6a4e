package apptest_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// A user who joins or leaves a large group, or is removed, gets this event in the user's own stream, on connected devices and on devices
// that connect later. The group's messages reach connected members, and no stream.
func TestMembershipEventsOfALargeGroup(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Chat.LargeGroupAbove = 2 })
	var people []*apptest.Person
	for _, handle := range []string{"owner", "second", "third", "joiner", "leaver"} {
		people = append(people, h.Register(t, handle))
	}
	owner, joiner, leaver := people[0], people[3], people[4]
	g := h.Group(t, people[:3]...) // large from its second entry on
	s, hello := joiner.Socket(t, "rialto.v1.proto")
	prev := hello.Tail.GetSeq()

	next := func(action chatv1.Control_Action) {
		t.Helper()
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				control := e.GetMessage().GetContent().GetControl()
				if e.Seq == 0 {
					continue // of the large group's followers
				}
				if e.Prev != prev || e.GetMessage().GetConversation() != g || control.GetAction() != action {
					t.Fatalf("event after %d: got %v, want %v", prev, e, action)
				}
				prev = e.Seq
				return true
			}
			return false
		})
	}
	text := func(s *apptest.Socket, want string) {
		t.Helper()
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if e.GetMessage().GetContent().GetText() == want {
					if e.Seq != 0 {
						t.Errorf("got a message of a large group in a stream: %v", e)
					}
					return true
				}
			}
			return false
		})
	}

	_, err := h.Chat().Invite(t.Context(), apptest.As(owner, &chatv1.InviteRequest{Conversation: g, Users: []uint64{joiner.User, leaver.User}}))
	must(t, err)
	next(chatv1.Control_ACTION_JOINED)
	h.Send(t, owner, g, "1", "hello")
	text(s, "hello")
	_, err = h.Chat().Remove(t.Context(), apptest.As(owner, &chatv1.RemoveRequest{Conversation: g, Users: []uint64{joiner.User}}))
	must(t, err)
	next(chatv1.Control_ACTION_REMOVED)
	_, err = h.Chat().Leave(t.Context(), apptest.As(leaver, &chatv1.LeaveRequest{Conversation: g}))
	must(t, err)
	h.Send(t, owner, g, "2", "still here")

	for p, want := range map[*apptest.Person][]chatv1.Control_Action{
		joiner: {chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_REMOVED},
		leaver: {chatv1.Control_ACTION_JOINED, chatv1.Control_ACTION_LEFT},
	} {
		var messages []*chatv1.Event
		eventually.True(t, "the changes of members are in the stream", func() bool {
			messages = slices.DeleteFunc(streamOf(t, p, g, "end"), func(e *chatv1.Event) bool { return e.GetMessage() == nil })
			return len(messages) >= len(want)
		})
		if len(messages) > len(want) {
			t.Errorf("the stream has %d messages, want %d", len(messages), len(want))
		}
		for i, e := range messages[:len(want)] {
			if got := e.GetMessage().GetContent().GetControl().GetAction(); got != want[i] {
				t.Errorf("event %d of the stream: got %v, want %v", i, e, want[i])
			}
		}
	}
}
