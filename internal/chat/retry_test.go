package chat_test

import (
	"context"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
)

// TestRetriesOutliveTheRight: what is stored is stored. Its sender learns so by a retry also when they may write no more.
func TestRetriesOutliveTheRight(t *testing.T) {
	ctx := context.Background()
	for name, loseIt := range map[string]func(h *house, s *chat.Service, c id.Conversation) error{
		"blocked": func(h *house, s *chat.Service, c id.Conversation) error {
			h.relations.set(h.relations.blocked, 1, 2, true)
			return s.AccessChanged(ctx, 1, 2)
		},
		"no_conversation": func(_ *house, s *chat.Service, c id.Conversation) error {
			_, err := s.Remove(ctx, c, 1, []uint64{2})
			return err
		},
		"muted": func(h *house, s *chat.Service, c id.Conversation) error {
			_, err := s.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{Users: []uint64{2}, UntilMs: h.clock.ms.Load() + 1e9})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, chat.Config{})
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
				t.Errorf("the retry was answered %+v, the message %+v", again, first)
			}
			if err := s.Send(ctx, draftOf(c, 2, 1, "y")); reasonOf(err) != "id_reuse" {
				t.Errorf("another content: %v", err)
			}
			if err := s.Send(ctx, draftOf(c, 2, 2, "x")); reasonOf(err) != name {
				t.Errorf("a new one: %v", err)
			}
		})
	}
}
