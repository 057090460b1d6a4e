package chat_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// countingLog counts reads of single entries.
type countingLog struct {
	timeline.Log
	gets atomic.Int64
}

func (l *countingLog) Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error) {
	l.gets.Add(1)
	return l.Log.Get(ctx, refs)
}

// The cost of a page of an audience does not depend on how often members left and came back since. While these changes are few, the page
// is exact; after many, it leaves out those who came back. The whole audience, which fan-out uses, is always exact.
func TestAudiencePageCostIsBounded(t *testing.T) {
	ctx := t.Context()
	h, _, _ := newGroup(t, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	log := &countingLog{Log: h.log}
	h.log = log
	s := h.node(t)
	c := h.groupOf(t, s, chatv1.JoinPolicy_JOIN_POLICY_OPEN)
	must(t, s.Send(ctx, draftOf(c, 1, 1, "hello")))
	seq := h.tail(t, c).Seq
	returns := func(times int) {
		for range times {
			_, err := s.Leave(ctx, c, 2)
			must(t, err)
			_, _, err = s.Join(ctx, 2, &chatv1.JoinRequest{Conversation: uint64(c)})
			must(t, err)
		}
	}
	page := func() (users []id.User, cost int64) {
		t.Helper()
		before := log.gets.Load()
		users, next, err := s.AudiencePage(ctx, c, seq, 0, 10)
		must(t, err)
		if next != 0 {
			t.Errorf("got a next page after user %d, want one page", next)
		}
		return users, log.gets.Load() - before
	}
	everyone := []id.User{1, 2, 3}
	returns(10)
	if users, _ := page(); !slices.Equal(users, everyone) {
		t.Errorf("after 20 changes: got %v, want %v", users, everyone)
	}
	returns(90)
	users, cost := page()
	if want := []id.User{1, 3}; !slices.Equal(users, want) {
		t.Errorf("after 200 changes: got %v, want %v", users, want)
	}
	returns(100)
	if _, more := page(); more > cost {
		t.Errorf("a page after 400 changes costs %d reads, and %d after 200", more, cost)
	}
	if users, _, err := s.Audience(ctx, c, seq); err != nil || !slices.Equal(users, everyone) {
		t.Errorf("the whole audience: got %v, %v, want %v", users, err, everyone)
	}
}
