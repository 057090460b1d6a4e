package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestRetryIsAnsweredAfterPermissionIsLost: a sender who may no longer write gets the receipt of a stored message by a retry.
func TestRetryIsAnsweredAfterPermissionIsLost(t *testing.T) {
	ctx := context.Background()
	for name, loseIt := range map[string]func(h *harness, s *chat.Service, c id.Conversation) error{
		"blocked": func(h *harness, s *chat.Service, c id.Conversation) error {
			h.relations.set(h.relations.blocked, 1, 2, true)
			return s.AccessChanged(ctx, 1, 2)
		},
		"no_conversation": func(_ *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.Remove(ctx, c, 1, []uint64{2})
			return err
		},
		"muted": func(h *harness, s *chat.Service, c id.Conversation) error {
			_, err := s.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{Users: []uint64{2}, UntilMs: h.clock.ms.Load() + 1e9})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, chat.Config{})
			s := h.node(t)
			c, err := s.OpenDirect(ctx, 1, 2)
			if name != "blocked" {
				c, err = s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
			}
			must(t, err)
			first := draftOf(c, 2, 1, "x")
			must(t, s.Send(ctx, first))
			must(t, loseIt(h, s, c))
			again := draftOf(c, 2, 1, "x")
			must(t, s.Send(ctx, again))
			if !again.Duplicate || again.Seq != first.Seq || again.ID != first.ID {
				t.Errorf("the retry returned %+v, the message is %+v", again, first)
			}
			if err := s.Send(ctx, draftOf(c, 2, 1, "y")); reasonOf(err) != "id_reuse" {
				t.Errorf("the same id with another content returned %v", err)
			}
			if err := s.Send(ctx, draftOf(c, 2, 2, "x")); reasonOf(err) != name {
				t.Errorf("a new message returned %v", err)
			}
		})
	}
}

// TestRetryIsAnsweredAtAnyTime: a retry returns the stored message, at any later time and whatever was sent in between, from the node that
// stored it and from others.
func TestRetryIsAnsweredAtAnyTime(t *testing.T) {
	const later = 1100
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	first := draftOf(c, 1, 1, "x")
	must(t, s.Send(ctx, first))
	h.clock.ms.Add(3 * 60_000)
	for n := range uint64(later) {
		for _, u := range []id.User{1, 2} {
			must(t, s.Send(ctx, draftOf(c, u, n+2, "later")))
		}
	}
	for _, ms := range []int64{0, 60_000, dayMs, 400 * dayMs} {
		h.clock.ms.Add(ms)
		for name, node := range map[string]*chat.Service{"the same node": s, "another node": h.node(t)} {
			again := draftOf(c, 1, 1, "x")
			must(t, node.Send(ctx, again))
			if !again.Duplicate || again.Seq != first.Seq || again.ID != first.ID {
				t.Errorf("%d ms later the retry on %s returned %+v, the message is %+v", ms, name, again, first)
			}
		}
	}
	if tail := h.tail(t, c); tail.Counted != 1+2*later {
		t.Errorf("%d messages are stored, want %d", tail.Counted, 1+2*later)
	}
}
