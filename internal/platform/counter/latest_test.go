package counter_test

import (
	"maps"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// The latest subjects of several users are counted by users; what was removed, what is older than the latest five, and other kinds are not among them.
func TestLatestOf(t *testing.T) {
	f := open(t, 1)
	s, ctx := f.nodes[0], t.Context()
	add := func(k counter.Kind, subject uint64, users ...id.User) {
		t.Helper()
		f.clock.Advance(time.Millisecond)
		for _, u := range users {
			if _, err := s.Add(ctx, k, subject, u); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(counter.PostLikes, 1, 7, 8, 9)
	for subject := uint64(2); subject <= 6; subject++ {
		add(counter.PostLikes, subject, 7)
	}
	add(counter.PostLikes, 6, 8)
	add(counter.PostLikes, 20, 8)
	add(counter.CommentLikes, 30, 8)
	_, err := s.Remove(ctx, counter.PostLikes, 20, 8)
	must(t, err)
	got, err := s.LatestOf(ctx, counter.PostLikes, []id.User{7, 8})
	must(t, err)
	if want := map[uint64]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2}; !maps.Equal(got, want) {
		t.Errorf("the latest are %v, want %v", got, want)
	}
	if got, err := s.LatestOf(ctx, counter.PostLikes, nil); err != nil || len(got) != 0 {
		t.Errorf("of nobody: %v, %v", got, err)
	}
	if _, err := s.LatestOf(ctx, counter.PostLikes, make([]id.User, counter.MaxLatestUsers+1)); err == nil {
		t.Error("too many users are answered")
	}
}
