package ranking_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const (
	reasonFollowed = rankingv1.RankReason_RANK_REASON_FOLLOWED
	reasonNetwork  = rankingv1.RankReason_RANK_REASON_NETWORK
	reasonPopular  = rankingv1.RankReason_RANK_REASON_POPULAR
	reasonAffinity = rankingv1.RankReason_RANK_REASON_AFFINITY
	reasonRecent   = rankingv1.RankReason_RANK_REASON_RECENT
)

// Posts come from all three sources, each once, and say why they are shown. Others do not come.
func TestSources(t *testing.T) {
	f := open(t)
	reader, friend, known, unknown, alone := f.user(), f.user(), f.user(), f.user(), f.user()
	f.follow(reader, friend)
	ofFriend, ofKnown, ofUnknown := f.post(friend), f.post(known), f.post(unknown)
	f.post(alone)
	f.post(reader)
	f.like(ofKnown, friend)
	f.like(ofFriend, known)
	f.like(ofUnknown, known)
	if got := f.fresh(reader); !slices.Equal(got, []uint64{ofFriend, ofKnown}) {
		t.Errorf("before the popular posts are ranked: %d, want %d and %d", got, ofFriend, ofKnown)
	}
	must(t, f.engaged.Rank(t.Context()))
	posts := f.all(reader, "", 20)
	if got := idsOf(posts); len(got) != 3 || !slices.Contains(got, ofUnknown) {
		t.Errorf("the posts are %d", got)
	}
	for _, p := range posts {
		want := map[uint64][]rankingv1.RankReason{ofFriend: {reasonFollowed, reasonRecent}, ofKnown: {reasonNetwork, reasonRecent}, ofUnknown: {reasonPopular, reasonRecent}}[p.Post.Id]
		if !slices.Equal(p.Reasons, want) {
			t.Errorf("post %d is shown because of %v, want %v", p.Post.Id, p.Reasons, want)
		}
	}
	// Of what is old the source alone is left.
	f.clock.Advance(20 * 24 * time.Hour)
	f.Forget()
	posts = f.all(reader, "", 20)
	if i := slices.Index(idsOf(posts), ofFriend); i < 0 || !slices.Equal(posts[i].Reasons, []rankingv1.RankReason{reasonFollowed}) {
		t.Errorf("an old post of a followed author is at place %d of %v", i, posts)
	}
}

// What the reader likes and comments on brings its authors up, what was seen goes down, and each weight can be set.
func TestFeatures(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, a, b := f.user(), f.user(), f.user()
	f.follow(reader, a, b)
	liked := f.post(a)
	ofA, ofB := f.post(a), f.post(b)
	if got := f.fresh(reader); !slices.Equal(got, []uint64{ofB, ofA, liked}) {
		t.Errorf("without likes: %d", got)
	}
	f.like(liked, reader)
	f.comment(reader, liked)
	if got := f.fresh(reader); !slices.Equal(got, []uint64{ofA, ofB, liked}) {
		t.Errorf("with a like and a comment on posts of an author: %d", got)
	}
	must(t, f.engaged.RecordViews(ctx, reader, &engagementv1.RecordViewsRequest{Posts: []uint64{ofA}}))
	if got := f.fresh(reader); got[0] != ofB {
		t.Errorf("after a view: %d", got)
	}
	zero := int32(0)
	_, err := f.SetRankingWeights(ctx, &rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{Seen: &zero}, By: "ann", Reason: "try"})
	must(t, err)
	if got := f.fresh(reader); got[2] != ofB {
		t.Errorf("without a weight of views: %d", got)
	}
	w, err := f.SetRankingWeights(ctx, &rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{}, By: "ben"})
	must(t, err)
	if *w.Seen != -150 || *w.Recency != 100 {
		t.Errorf("the defaults are %v", w)
	}
	r, err := f.GetRankingWeights(ctx)
	must(t, err)
	if len(r.Changes) != 2 || r.Changes[0].By != "ben" || r.Changes[0].Value != nil || r.Changes[1].Weight != "seen" || *r.Changes[1].Value != 0 || r.Changes[1].Reason != "try" {
		t.Errorf("the records are %v", r.Changes)
	}
	f.clock.Advance(25 * time.Hour)
	all := f.all(reader, "", 20)
	if i := slices.Index(idsOf(all), ofA); i < 0 || !slices.Equal(all[i].Reasons, []rankingv1.RankReason{reasonFollowed, reasonAffinity}) {
		t.Errorf("the reader liked the author, but the post is at place %d of %v", i, all)
	}
	tooMuch := int32(1001)
	for _, c := range []struct {
		request *rankingv1.SetRankingWeightsRequest
		want    string
	}{
		{&rankingv1.SetRankingWeightsRequest{By: "ann"}, "bad_ranking"},
		{&rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{Likes: &tooMuch}, By: "ann"}, "bad_ranking"},
		{&rankingv1.SetRankingWeightsRequest{Weights: &rankingv1.RankingWeights{}}, "bad_change"},
	} {
		if _, err := f.SetRankingWeights(ctx, c.request); reason(err) != c.want {
			t.Errorf("%v is answered with %v, want %s", c.request, err, c.want)
		}
	}
}

// The order of the first page stays, whatever happens to scores, and is the same at each retry. Its token is of one reader.
func TestOrdersAreStable(t *testing.T) {
	f := open(t)
	reader, other := f.user(), f.user()
	for range 12 {
		author := f.user()
		f.follow(reader, author)
		f.post(author)
		f.post(author)
	}
	first := f.read(reader, "", 5)
	before := idsOf(f.all(reader, first.Next, 5))
	if len(first.Posts) != 5 || len(before) != 19 {
		t.Fatalf("pages of %d and %d posts", len(first.Posts), len(before))
	}
	for _, n := range before[10:] {
		f.like(n, f.user(), reader)
	}
	f.post(f.user())
	f.Forget()
	f.clock.Advance(time.Hour)
	if after := idsOf(f.all(reader, first.Next, 5)); !slices.Equal(after, before) {
		t.Errorf("the order goes on with %d, and went on with %d", after, before)
	}
	if got := f.fresh(reader); slices.Equal(got[5:], before) {
		t.Error("a new order is the old one")
	}
	for name, token := range map[string]string{"another reader's": first.Next, "a forged one": first.Next[:len(first.Next)-4] + "AAAA", "a short one": "AAAA"} {
		of := reader
		if name == "another reader's" {
			of = other
		}
		if _, err := f.ForYou(t.Context(), of, &rankingv1.ForYouRequest{Page: token}); reason(err) != "bad_page" {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
}

// Authors and kinds alternate, as long as there are others.
func TestVariety(t *testing.T) {
	f := open(t)
	reader, one := f.user(), f.user()
	f.follow(reader, one)
	for range 30 {
		author := f.user()
		f.follow(reader, author)
		f.publish(author, &feedv1.PostContent{Video: 7})
	}
	for range 10 {
		author := f.user()
		f.follow(reader, author)
		f.post(author)
	}
	for range 60 {
		f.post(one) // the newest, and so the best
	}
	posts := f.all(reader, "", 20)
	if len(posts) != 100 {
		t.Fatalf("%d posts, want 100", len(posts))
	}
	texts := 0
	for i := range 20 {
		if posts[i].Kind == rankingv1.PostKind_POST_KIND_TEXT {
			texts++
		}
		if i >= 2 && i < 18 && posts[i].Kind == posts[i-1].Kind && posts[i-1].Kind == posts[i-2].Kind {
			t.Errorf("three posts of the kind %s in a row, at %d", posts[i].Kind, i)
		}
	}
	if texts < 6 || texts > 14 {
		t.Errorf("%d of the first 20 posts are texts", texts)
	}
	for start := 0; start < 40; start += 20 {
		if n := countOf(posts[start:start+20], one); n > 2 {
			t.Errorf("%d of the 20 posts from %d on are of one author", n, start)
		}
	}
	if got := f.read(reader, "", 0); len(got.Posts) != 20 {
		t.Errorf("a page without a limit has %d posts", len(got.Posts))
	}
	// An author who is alone fills the page.
	single := f.user()
	f.follow(single, one)
	if got := f.read(single, "", 10); len(got.Posts) != 10 {
		t.Errorf("a page of one author has %d posts", len(got.Posts))
	}
}

// A page takes few rounds, also where one author has all posts, and a full page of all authors takes one.
func TestPagesTakeFewRounds(t *testing.T) {
	f := open(t)
	reader, one := f.user(), f.user()
	f.follow(reader, one)
	var want []uint64
	for range 200 {
		want = append(want, f.post(one))
	}
	slices.Reverse(want)
	first := f.read(reader, "", 2)
	if got := idsOf(first.Posts); !slices.Equal(got, want[:2]) || len(f.rounds) > 4 {
		t.Errorf("the posts are %d, want %d, in rounds of %d", got, want[:2], f.rounds)
	}
	f.rounds = nil
	second := f.read(reader, first.Next, 50)
	if got := idsOf(second.Posts); !slices.Equal(got, want[2:52]) || len(f.rounds) > 4 {
		t.Errorf("the posts go on with %d, want %d, in rounds of %d", got, want[2:52], f.rounds)
	}
	if got := idsOf(f.all(reader, second.Next, 50)); !slices.Equal(got, want[52:]) {
		t.Errorf("the posts end with %d, want %d", got, want[52:])
	}
	for range 30 {
		author := f.user()
		f.follow(reader, author)
		f.post(author)
	}
	f.rounds = nil
	if got := f.read(reader, "", 20); len(got.Posts) != 20 || !slices.Equal(f.rounds, []int{25}) {
		t.Errorf("a page of several authors has %d posts, in rounds of %d", len(got.Posts), f.rounds)
	}
}

func countOf(posts []*rankingv1.RankedPost, author id.User) (n int) {
	for _, p := range posts {
		if p.Post.Author == uint64(author) {
			n++
		}
	}
	return n
}

// Operators see the parts of any score, and why a post is not shown.
func TestExplanations(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, a, b, muted := f.user(), f.user(), f.user(), f.user()
	f.follow(reader, a, muted)
	ofA, ofB, own, ofMuted := f.post(a), f.post(b), f.post(reader), f.post(muted)
	_, err := f.accounts.SetMute(ctx, reader, muted, true)
	must(t, err)
	chosen := f.publish(a, &feedv1.PostContent{Text: "not for the reader", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{uint64(b)}})
	f.like(ofA, b)
	f.Forget()
	r, err := f.ForYou(ctx, reader, &rankingv1.ForYouRequest{Explain: true})
	must(t, err)
	if len(r.Posts) != 1 || r.Posts[0].Score == nil {
		t.Fatalf("the page is %v", r)
	}
	sum := 0.0
	for _, p := range r.Posts[0].Score.Parts {
		sum += p.Points
	}
	if parts := r.Posts[0].Score.Parts; len(parts) != 9 || parts[0].Weight != "recency" || parts[4].Feature != 1 || parts[4].Points != 0.8 || fmt.Sprintf("%.9f", sum) != fmt.Sprintf("%.9f", r.Posts[0].Score.Total) {
		t.Errorf("the score is %v", r.Posts[0].Score)
	}
	for post, want := range map[uint64]rankingv1.RankExclusion{ofA: 0, ofB: rankingv1.RankExclusion_RANK_EXCLUSION_NO_CANDIDATE, own: rankingv1.RankExclusion_RANK_EXCLUSION_OWN,
		ofMuted: rankingv1.RankExclusion_RANK_EXCLUSION_MUTED, chosen: rankingv1.RankExclusion_RANK_EXCLUSION_NOT_VISIBLE, 7: rankingv1.RankExclusion_RANK_EXCLUSION_NOT_VISIBLE} {
		got, err := f.ExplainRanking(ctx, &rankingv1.ExplainRankingRequest{User: uint64(reader), Post: post})
		must(t, err)
		if got.Exclusion != want || (got.Score == nil) != (want == rankingv1.RankExclusion_RANK_EXCLUSION_NOT_VISIBLE) {
			t.Errorf("post %d is explained with %v, want %v", post, got, want)
		}
	}
	must(t, f.ShowLess(ctx, reader, &rankingv1.ShowLessRequest{Author: uint64(a)}))
	got, err := f.ExplainRanking(ctx, &rankingv1.ExplainRankingRequest{User: uint64(reader), Post: ofA})
	must(t, err)
	if got.Exclusion != rankingv1.RankExclusion_RANK_EXCLUSION_SHOWN_LESS || got.Score.Parts[7].Feature != 1 || !slices.Equal(got.Sources, []rankingv1.RankReason{reasonFollowed}) {
		t.Errorf("ShowLess of the author is explained with %v", got)
	}
	if _, err := f.ExplainRanking(ctx, &rankingv1.ExplainRankingRequest{User: 7, Post: ofA}); reason(err) != "no_user" {
		t.Errorf("an unknown user is explained with %v", err)
	}
}
