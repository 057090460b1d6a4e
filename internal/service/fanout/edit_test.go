package fanout_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// Members who joined after a message get its edits without content, and those who can read it with.
func TestEditsHaveNoContentForMembersWhoJoinedLater(t *testing.T) {
	ctx := context.Background()
	s := newStage(t, inMemory)
	deps := s.chatDeps(t)
	defer deps.DB.Close()
	deps.SingleNode = true
	service, err := chat.New(ctx, deps, chat.Config{})
	must(t, err)
	c := newGroup(t, service, 2)
	before := c.send(textOf("before"))
	_, err = service.Invite(ctx, c.conversation, 1, []uint64{4})
	must(t, err)
	after := c.send(textOf("after"))
	edits := map[uint64]uint64{c.send(editOf(before, "edited")): before, c.send(editOf(after, "edited")): after}
	s.run(service)
	s.settle()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	type receipt struct {
		user   id.User
		target uint64
	}
	got := map[receipt]string{}
	for _, g := range s.got {
		m := c.pushed(g)
		if target, is := edits[m.GetSeq()]; is {
			for _, to := range g.Targets {
				got[receipt{to.User, target}] = m.GetContent().GetEdit().GetContent().GetText()
			}
		}
	}
	for of, want := range map[receipt]string{{2, before}: "edited", {4, before}: "", {2, after}: "edited", {4, after}: "edited"} {
		if text, pushed := got[of]; !pushed || text != want {
			t.Errorf("user %d is pushed %q (%v) for message %d, want %q", of.user, text, pushed, of.target, want)
		}
	}
}
