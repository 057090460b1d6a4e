package chat_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// TestHistoryBounds reads with the least and greatest numbers, on both logs.
func TestHistoryBounds(t *testing.T) {
	ctx := context.Background()
	pebble, err := pebblelog.Open(t.TempDir(), pebblelog.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, pebble.Close()) })
	for name, log := range map[string]timeline.Log{"memory": memlog.New(nil), "pebble": pebble} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, chat.Config{})
			h.log = log
			s := h.node(t)
			c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
			must(t, err)
			for n := range uint64(3) {
				h.clock.ms.Add(10)
				must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
			}
			_, err = s.Leave(ctx, c, 2) // at 5
			must(t, err)
			must(t, s.Send(ctx, draftOf(c, 1, 4, "x")))
			now := h.clock.ms.Load()
			for _, test := range []struct {
				name     string
				u        id.User
				q        *chatv1.HistoryRequest
				from, to uint64
				reason   string
			}{
				{"all", 1, &chatv1.HistoryRequest{}, 1, 6, ""},
				{"all of one who left", 2, &chatv1.HistoryRequest{}, 1, 5, ""},
				{"before the first", 1, &chatv1.HistoryRequest{Before: 1}, 1, 0, ""},
				{"before the greatest", 1, &chatv1.HistoryRequest{Before: math.MaxUint64}, 1, 6, ""},
				{"before the greatest, of one who left", 2, &chatv1.HistoryRequest{Before: math.MaxUint64}, 1, 5, ""},
				{"after the last", 1, &chatv1.HistoryRequest{After: 6}, 1, 0, ""},
				{"after the last of one who left", 2, &chatv1.HistoryRequest{After: 5}, 1, 0, ""},
				{"after the greatest", 1, &chatv1.HistoryRequest{After: math.MaxUint64}, 1, 0, ""},
				{"after a half of it", 1, &chatv1.HistoryRequest{After: 1 << 63}, 1, 0, ""},
				{"a great limit", 1, &chatv1.HistoryRequest{Limit: math.MaxUint32}, 1, 6, ""},
				{"from the first time", 1, &chatv1.HistoryRequest{TimeMs: 1}, 1, 6, ""},
				{"from now", 1, &chatv1.HistoryRequest{TimeMs: now}, 4, 6, ""},
				{"from now, of one who left", 2, &chatv1.HistoryRequest{TimeMs: now}, 4, 5, ""},
				{"from the last time", 1, &chatv1.HistoryRequest{TimeMs: math.MaxInt64}, 1, 0, ""},
				{"from a time before all", 1, &chatv1.HistoryRequest{TimeMs: -1}, 0, 0, "bad_history"},
				{"both ways", 1, &chatv1.HistoryRequest{Before: 3, After: 1}, 0, 0, "bad_history"},
				{"numbers that sum to nothing", 1, &chatv1.HistoryRequest{Before: math.MaxUint64, TimeMs: 1}, 0, 0, "bad_history"},
				{"a non-member", 3, &chatv1.HistoryRequest{}, 0, 0, "no_conversation"},
			} {
				test.q.Conversation = uint64(c)
				page, err := s.History(ctx, test.u, test.q)
				if reasonOf(err) != test.reason {
					t.Errorf("%s: error is %v, want %q", test.name, err, test.reason)
				}
				if err != nil {
					continue
				}
				want := between(test.from, test.to)
				if len(page.Messages) != len(want) || page.More {
					t.Errorf("%s: page is %v, want %v", test.name, page, want)
					continue
				}
				for i, m := range page.Messages {
					if m.Seq != want[i] {
						t.Errorf("%s: seq %d at index %d, want %v", test.name, m.Seq, i, want)
					}
				}
			}
			if _, err := s.History(ctx, 1, &chatv1.HistoryRequest{Conversation: 77}); reasonOf(err) != "no_conversation" {
				t.Errorf("history of an unknown conversation returned %v", err)
			}
			for _, page := range []string{"x", "-1", "18446744073709551615", "1 "} {
				if _, err := s.ListMembers(ctx, c, 1, 1, page); reasonOf(err) != "bad_page" {
					t.Errorf("page token %q returned %v", page, err)
				}
			}
		})
	}
}

// A page is bounded in bytes too, in both directions, and no message is missing between pages.
func TestPagesAreBoundedInBytes(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	for n := range uint64(20) {
		must(t, s.Send(ctx, draftOf(c, 1, n+1, strings.Repeat("字", 100_000))))
	}
	for _, forward := range []bool{true, false} {
		var seqs []uint64
		q := &chatv1.HistoryRequest{Conversation: uint64(c), Limit: 200}
		if forward {
			q.After = 1
		}
		for more := true; more; {
			page, err := s.History(ctx, 2, q)
			must(t, err)
			if size := proto.Size(page); size > 1<<20+310_000 || len(page.Messages) == 0 {
				t.Fatalf("a page has %d bytes and %d messages", size, len(page.Messages))
			}
			var part []uint64
			for _, m := range page.Messages {
				part = append(part, m.Seq)
			}
			if more = page.More; forward {
				seqs, q.After = append(seqs, part...), part[len(part)-1]
			} else {
				seqs, q.Before = append(part, seqs...), part[0]
			}
		}
		want := between(1, 21)
		if forward {
			want = between(2, 21)
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("forward %v: seqs are %v", forward, seqs)
		}
	}
}

// A former member does not see later changes of the group, on the node of the change and on one that loads the rows.
func TestLeftMemberSeesGroupAsItWas(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 4}})
	must(t, err)
	update := func(title, announcement string, avatar uint64) {
		t.Helper()
		_, err := s.UpdateGroup(ctx, c, 1, &chatv1.UpdateGroupRequest{Title: &title, Announcement: &announcement, Avatar: &avatar})
		must(t, err)
	}
	update("then", "for all", 5)
	_, err = s.Leave(ctx, c, 2)
	must(t, err)
	then, err := s.Describe(ctx, 2, c)
	must(t, err)
	if then.Title != "then" || then.Announcement != "for all" || then.Avatar != 5 || then.MemberCount != 3 {
		t.Errorf("a member who just left gets %v", then)
	}
	update("now", "for those who stayed", 6)
	_, err = s.Leave(ctx, c, 3)
	must(t, err)
	_, err = s.MuteMembers(ctx, c, 1, &chatv1.MuteMembersRequest{UntilMs: math.MaxInt64})
	must(t, err)
	_, err = s.Dissolve(ctx, c, 1)
	must(t, err)
	for name, node := range map[string]*chat.Service{"here": s, "from the rows": h.node(t)} {
		if later, err := node.Describe(ctx, 2, c); err != nil || !proto.Equal(later, then) {
			t.Errorf("%s: a former member gets %v (%v), when leaving it was %v", name, later, err, then)
		}
		if v, err := node.Describe(ctx, 4, c); err != nil || v.Title != "now" || v.MemberCount != 2 || !v.Dissolved || !v.MutedAll {
			t.Errorf("%s: a member gets %v (%v)", name, v, err)
		}
	}
}

// A long page lets others go on after each 32 entries that it reads, and that it converts. A short one does not.
func TestLongPagesYield(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	deps, yields := h.deps(h.db), 0
	deps.Yield = func() { yields++ }
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	for n := range uint64(120) {
		must(t, s.Send(ctx, draftOf(c, 1, n+1, "x")))
	}
	for name, test := range map[string]struct {
		request *chatv1.HistoryRequest
		yields  int
	}{
		"forward":  {&chatv1.HistoryRequest{After: 1, Limit: 100}, 6},
		"backward": {&chatv1.HistoryRequest{Limit: 100}, 6},
		"short":    {&chatv1.HistoryRequest{Limit: 31}, 0},
	} {
		yields = 0
		test.request.Conversation = uint64(c)
		page, err := s.History(ctx, 2, test.request)
		must(t, err)
		if len(page.Messages) != int(test.request.Limit) || yields != test.yields {
			t.Errorf("%s: %d messages with %d yields, want %d with %d", name, len(page.Messages), yields, test.request.Limit, test.yields)
		}
	}
}
