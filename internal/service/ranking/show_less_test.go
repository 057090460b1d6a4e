package ranking_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const day = 24 * time.Hour

// Posts of an author of whom the reader wants less are not shown for 30 days, also in an order that has begun, then below others, and after half a year as before. It can
// be taken back, and changes no other list.
func TestLessOfAnAuthor(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, a, b := f.user(), f.user(), f.user()
	f.follow(reader, a, b)
	ofB, ofA := f.post(b), f.post(a)
	first := f.read(reader, "", 1)
	if !slices.Equal(idsOf(first.Posts), []uint64{ofA}) {
		t.Fatalf("the first page is %d", idsOf(first.Posts))
	}
	must(t, f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Author: uint64(b)}))
	if rest := f.all(reader, first.Next, 1); len(rest) != 0 {
		t.Errorf("the order goes on with %d", idsOf(rest))
	}
	must(t, f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Author: uint64(a)}))
	must(t, f.ShowAgain(ctx, reader, &rankingv1.ShowAgainRequest{Author: uint64(b)}))
	must(t, f.ShowAgain(ctx, reader, &rankingv1.ShowAgainRequest{Author: uint64(b)}))
	list, err := f.ListShownLess(ctx, reader)
	must(t, err)
	if len(list.Entries) != 1 || list.Entries[0].Author != uint64(a) || list.Entries[0].SinceMs != f.clock.Now().UnixMilli() {
		t.Errorf("the list is %v", list)
	}
	home, err := f.feed.HomeTimeline(ctx, reader, &feedv1.HomeTimelineRequest{})
	must(t, err)
	if len(home.Posts) != 2 {
		t.Errorf("the home timeline has %d posts", len(home.Posts))
	}
	for _, step := range []struct {
		after time.Duration
		want  []uint64
	}{{0, []uint64{ofB}}, {30*day - time.Second, []uint64{ofB}}, {time.Second, []uint64{ofB, ofA}}, {150 * day, []uint64{ofA, ofB}}} {
		f.clock.Advance(step.after)
		if got := f.fresh(reader); !slices.Equal(got, step.want) {
			t.Errorf("%v later: %d, want %d", step.after, got, step.want)
		}
	}
	if list, err := f.ListShownLess(ctx, reader); err != nil || len(list.Entries) != 0 {
		t.Errorf("after half a year the list is %v, %v", list, err)
	}
}

// "Show less" of a kind ranks its posts below others. They are still shown.
func TestLessOfAKind(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, a, b := f.user(), f.user(), f.user()
	f.follow(reader, a, b)
	text := f.post(a)
	film := f.publish(b, &feedv1.PostContent{Text: "a film", Video: 7})
	if got := f.fresh(reader); !slices.Equal(got, []uint64{film, text}) {
		t.Errorf("at first: %d", got)
	}
	must(t, f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Kind: rankingv1.PostKind_POST_KIND_VIDEO}))
	if got := f.fresh(reader); !slices.Equal(got, []uint64{text, film}) {
		t.Errorf("with fewer videos: %d", got)
	}
	must(t, f.ShowAgain(ctx, reader, &rankingv1.ShowAgainRequest{Kind: rankingv1.PostKind_POST_KIND_VIDEO}))
	if got := f.fresh(reader); !slices.Equal(got, []uint64{film, text}) {
		t.Errorf("after it was taken back: %d", got)
	}
	for name, q := range map[string]*rankingv1.ShowLessRequest{"nothing": {}, "both": {Author: uint64(a), Kind: rankingv1.PostKind_POST_KIND_TEXT}, "oneself": {Author: uint64(reader)},
		"an unknown kind": {Kind: 99}, "a large number": {Author: 1 << 63}} {
		if err := f.ShowLess(ctx, reader, q); reason(err) != "bad_ranking" {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
	if err := f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Author: 7}); reason(err) != "no_user" {
		t.Errorf("an unknown author is answered with %v", err)
	}
}

// A reader has at most 500 requests for less: the oldest make room.
func TestRequestsForLessAreBounded(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, a := f.user(), f.user()
	must(t, f.db.Write(ctx, func(tx *sql.Tx) error {
		for i := range 510 {
			if _, err := tx.ExecContext(context.Background(), `INSERT INTO ranking_less (reader, target, subject, at_ms) VALUES ($1, 1, $2, $3)`, int64(reader), 100+i, f.clock.Now().UnixMilli()-1000+int64(i)); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Author: uint64(a)}))
	list, err := f.ListShownLess(ctx, reader)
	must(t, err)
	if n := len(list.Entries); n != 500 || list.Entries[0].Author != uint64(a) || list.Entries[n-1].Author != 111 {
		t.Errorf("%d requests, from %v to %v", n, list.Entries[0], list.Entries[n-1])
	}
}
