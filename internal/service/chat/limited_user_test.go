package chat_test

import (
	"context"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A limit is the same after all messages of a conversation have expired: in a group that the user joined before it or after it, and with somebody who had written.
func TestLimitsOutliveMessages(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	since := int64(0)
	deps := h.deps(h.db)
	deps.LimitedSince = func(u id.User) int64 {
		if u == 1 {
			return since
		}
		return 0
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	group := func() id.Conversation {
		c, err := s.CreateGroup(ctx, 2, &chatv1.CreateGroupRequest{Title: "a group", Members: []uint64{1, 3}})
		must(t, err)
		return c
	}
	direct := func(other id.User) id.Conversation {
		c, err := s.OpenDirect(ctx, 1, other)
		must(t, err)
		return c
	}
	old, wrote, silent := group(), direct(2), direct(3)
	h.clock.ms.Add(daySeconds * 1000)
	since = h.clock.Now().UnixMilli()
	h.clock.ms.Add(1000)
	fresh := group()
	want := map[id.Conversation]bool{old: false, fresh: true, wrote: false, silent: true}
	for c := range want {
		must(t, s.Send(ctx, draftOf(c, 1, uint64(c), "before")))
	}
	must(t, s.Send(ctx, draftOf(wrote, 2, 1, "an answer")))
	h.completeFanout(t)
	h.clock.ms.Add(daySeconds * 1000)
	for c, limited := range want {
		must(t, s.DeleteBefore(ctx, c, h.clock.Now().UnixMilli()))
		d := draftOf(c, 1, uint64(c)+1, "after")
		must(t, s.Send(ctx, d))
		list := h.entries(t, c)
		for _, e := range list {
			if e.Sender != 0 && !e.Control && e.seq != d.Seq {
				t.Fatalf("conversation %d keeps %+v", c, e)
			}
		}
		if last := list[len(list)-1]; last.seq != d.Seq || last.Limited != limited {
			t.Errorf("conversation %d has %+v, limited: %v; want %v", c, last, last.Limited, limited)
		}
	}
}
