package ranking_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// personalize turns personalization of a user on or off.
func (f *fixture) personalize(u id.User, on bool) {
	f.t.Helper()
	_, err := f.accounts.UpdateSettings(f.t.Context(), id.Caller{User: u}, &accountv1.Settings{NoPersonalization: !on})
	must(f.t, err)
}

// Of a reader who has turned personalization off, nothing is logged, what was logged before is no example, and what the reader did does not rank.
func TestNoPersonalization(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, liked, other, silent := f.user(), f.user(), f.user(), f.user()
	f.follow(reader, liked, other)
	f.follow(silent, liked, other)
	old := f.post(liked)
	for range 5 {
		f.like(f.post(liked), reader)
	}
	newer := f.post(other)
	must(t, f.engaged.RecordViews(ctx, reader, &engagementv1.RecordViewsRequest{Posts: []uint64{newer}}))
	if list := f.fresh(reader); list[0] != old {
		t.Fatalf("with personalization the order is %d, want %d first", list, old)
	}
	must(t, f.RecordClicks(ctx, reader, &rankingv1.RecordClicksRequest{Posts: []uint64{old}}))
	must(t, f.FlushImpressions(ctx))
	if n := len(f.examples(0)); n == 0 {
		t.Fatal("nothing is logged with personalization")
	}
	f.personalize(reader, false)
	if list := f.examples(0); len(list) != 0 {
		t.Errorf("the examples of a reader without personalization are %v", list)
	}
	if list := f.fresh(reader); f.WaitingImpressions() != 0 || !slices.Equal(list, f.fresh(silent)) {
		t.Errorf("without personalization the order is %d, and %d pages wait for the log; want the order of a reader who did nothing, and none", list, f.WaitingImpressions())
	}
	must(t, f.RecordClicks(ctx, reader, &rankingv1.RecordClicksRequest{Posts: []uint64{newer}, Dwells: []*rankingv1.PostDwell{{Post: newer, DwellMs: 5000}}}))
	f.personalize(reader, true)
	for _, e := range f.examples(0) {
		if e.Post == newer && (e.Clicked || e.DwellMs != 0) {
			t.Errorf("what was recorded without personalization is logged: %v", e)
		}
	}
}

// A page that was shown before its reader turned personalization off, and is not written yet, is dropped; pages of others are written. Of a reader who has turned it on again, nothing is
// noted of the time between.
func TestPagesBeforePersonalizationWasTurnedOffAreDropped(t *testing.T) {
	f := open(t)
	reader, other, returned, author := f.user(), f.user(), f.user(), f.user()
	for _, u := range []id.User{reader, other, returned} {
		f.follow(u, author)
	}
	post := f.post(author)
	click := &rankingv1.RecordClicksRequest{Posts: []uint64{post}}
	for _, u := range []id.User{reader, other, returned} {
		f.read(u, "", 20)
	}
	must(t, f.RecordClicks(t.Context(), reader, click))
	must(t, f.RecordClicks(t.Context(), other, click))
	f.personalize(returned, false)
	must(t, f.RecordClicks(t.Context(), returned, click))
	f.personalize(returned, true)
	f.personalize(reader, false)
	must(t, f.FlushImpressions(t.Context()))
	f.personalize(reader, true)
	if list := f.examples(0); len(list) != 1 || list[0].Post != post {
		t.Errorf("the examples are %v, want the one of the other reader", list)
	}
}

// A post that was on the screen for a second is an example; the longest dwell counts, whatever the order of calls, and a long one is cut.
func TestDwells(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader := f.user()
	var posts []uint64
	for range 4 {
		author := f.user()
		f.follow(reader, author)
		posts = append(posts, f.post(author))
	}
	f.read(reader, "", 20)
	dwell := func(post uint64, ms uint32) {
		t.Helper()
		must(t, f.RecordClicks(ctx, reader, &rankingv1.RecordClicksRequest{Dwells: []*rankingv1.PostDwell{{Post: post, DwellMs: ms}, {}}}))
	}
	dwell(posts[0], 1500) // before the page is written
	must(t, f.FlushImpressions(ctx))
	dwell(posts[0], 1200)
	dwell(posts[1], 999)
	dwell(posts[2], 1000)
	dwell(posts[2], 1<<31)
	f.clock.Advance(25 * time.Hour)
	dwell(posts[3], 2000) // too late
	got := map[uint64]uint32{}
	for _, e := range f.examples(0) {
		got[e.Post] = e.DwellMs
		if e.Clicked {
			t.Errorf("a dwell is a click: %v", e)
		}
	}
	if len(got) != 2 || got[posts[0]] != 1500 || got[posts[2]] != 600_000 {
		t.Errorf("the dwells of %d are %v", posts, got)
	}
	if err := f.RecordClicks(ctx, reader, &rankingv1.RecordClicksRequest{Dwells: make([]*rankingv1.PostDwell, 101)}); reason(err) != "bad_ranking" {
		t.Errorf("too many dwells are answered with %v", err)
	}
}
