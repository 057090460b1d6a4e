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

// A user who follows has read what was said before: the cursor is written with the row. If that fails, the user does not follow, and can
// try again.
func TestFollowingMarksHistoryAsRead(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	var marked []uint64
	failing := true
	deps.MarkFollowed = func(_ context.Context, _ *sql.Tx, u id.User, _ id.Conversation, tail timeline.Tail) error {
		if failing {
			return errors.New("no cursor")
		}
		marked = append(marked, uint64(u), tail.Seq, tail.Counted)
		return nil
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c := h.channel(t, s)
	must(t, s.Send(ctx, draftOf(c, 1, 1, "first")))
	if err := follow(s, c, 2); err == nil {
		t.Error("a user follows without a cursor")
	}
	if _, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)}); reasonOf(err) != "no_conversation" {
		t.Errorf("after the failure the user reads: %v", err)
	}
	failing = false
	must(t, follow(s, c, 2))
	must(t, follow(s, c, 2)) // what came since is not marked
	tail := h.tail(t, c)
	if len(marked) != 3 || marked[0] != 2 || marked[1] != tail.Seq || marked[2] != tail.Counted || tail.Counted != 1 {
		t.Errorf("marked %v, want user 2 at %d, %d", marked, tail.Seq, tail.Counted)
	}
}

// A former member of a channel comes back as a follower, without an entry, however often. In between, all nodes show the former member what
// was said until the member left; as a follower, everything.
func TestFormerMembersFollowWithoutEntries(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	a, b := h.node(t), h.node(t)
	c := h.channel(t, a)
	_, err := a.Invite(ctx, c, 1, []uint64{2})
	must(t, err)
	left, err := b.Leave(ctx, c, 2)
	must(t, err)
	must(t, a.Send(ctx, draftOf(c, 1, 1, "after")))
	before := h.tail(t, c).Seq
	last := func(s *chat.Service) (seq uint64) {
		t.Helper()
		r, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)})
		must(t, err)
		return r.Messages[len(r.Messages)-1].Seq
	}
	members := func(want uint32) {
		t.Helper()
		v, err := b.Describe(ctx, 1, c)
		must(t, err)
		if v.MemberCount != want {
			t.Errorf("%d members, want %d", v.MemberCount, want)
		}
	}
	for range 3 {
		for i, s := range []*chat.Service{a, b, h.node(t)} {
			must(t, follow(s, c, 2))
			members(2)
			for _, n := range []*chat.Service{a, b, h.node(t)} {
				if got := last(n); got != before {
					t.Errorf("a follower reads to %d, want %d", got, before)
				}
			}
			_, err := []*chat.Service{b, a, a}[i].Leave(ctx, c, 2)
			must(t, err)
			members(1)
			for _, n := range []*chat.Service{a, b, h.node(t)} {
				if got := last(n); got != left {
					t.Errorf("a former member reads to %d, want %d", got, left)
				}
			}
		}
	}
	if now := h.tail(t, c).Seq; now != before {
		t.Errorf("coming back made %d entries", now-before)
	}
	must(t, follow(a, c, 2))
	_, err = b.Invite(ctx, c, 1, []uint64{2})
	must(t, err)
	members(2)
	_, err = a.Remove(ctx, c, 1, []uint64{2})
	must(t, err)
	members(1)
	if err := follow(b, c, 2); reasonOf(err) != "removed" {
		t.Errorf("a removed member follows: %v", err)
	}
}

// Lists describe a channel without queries for each row: the rows of the list have what is needed.
func TestListedChannelsNeedNoQueries(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c := h.channel(t, s)
	_, err := s.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{Handle: proto.String("news")})
	must(t, err)
	must(t, follow(s, c, 2))
	for _, u := range []id.User{1, 2} {
		want, err := s.Describe(ctx, u, c)
		must(t, err)
		list, err := s.MembershipsIn(ctx, u, []id.Conversation{c})
		must(t, err)
		h.withoutTables(t, []string{"members", "conversations"}, func() {
			got, err := s.DescribeListed(ctx, u, list[0])
			must(t, err)
			if !proto.Equal(got, want) || got.MemberCount != 2 || got.Handle != "news" {
				t.Errorf("user %d has in the list %v, and by itself %v", u, got, want)
			}
		})
	}
}
