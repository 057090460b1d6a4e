package ranking_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

const reasonSimilar = rankingv1.RankReason_RANK_REASON_SIMILAR

// Posts that are like what a reader likes are candidates, though nobody whom the reader follows has to do with them. Those that are not for everyone, and those that were hidden or
// deleted, are not.
func TestNeighbours(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, author, other, chosen := f.user(), f.user(), f.user(), f.user()
	garden := "Tomatoes grow in the greenhouse with compost and rainwater #garden"
	liked := f.publish(author, &feedv1.PostContent{Text: garden})
	f.like(liked, reader)
	same := f.publish(other, &feedv1.PostContent{Text: "Compost and rainwater for the greenhouse: tomatoes #garden"})
	far := f.publish(other, &feedv1.PostContent{Text: "Quarterly figures of the shipping industry, with tables"})
	private := f.publish(other, &feedv1.PostContent{Text: garden, Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{uint64(chosen)}})
	hidden, deleted := f.publish(other, &feedv1.PostContent{Text: garden + " hidden"}), f.publish(other, &feedv1.PostContent{Text: garden + " deleted"})
	if got := f.fresh(reader); len(got) != 0 {
		t.Fatalf("without vectors there are %d", got)
	}
	must(t, f.RefreshNeighbours(ctx))
	if n := f.Near(); n != 5 {
		t.Errorf("%d posts have vectors, want 5", n)
	}
	must(t, f.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: hidden}))
	must(t, f.feed.DeletePost(ctx, other, deleted))
	got := f.fresh(reader)
	if i, j := slices.Index(got, same), slices.Index(got, far); i < 0 || j < i || slices.Contains(got, private) || slices.Contains(got, hidden) || slices.Contains(got, deleted) {
		t.Errorf("the posts are %d, want %d and then %d, without %d, %d and %d", got, same, far, private, hidden, deleted)
	}
	if n := f.Near(); n != 3 {
		t.Errorf("%d posts have vectors after one was hidden and one deleted, want 3", n)
	}
	for _, p := range f.all(reader, "", 20) {
		if p.Post.Id == same && !slices.Equal(p.Reasons, []rankingv1.RankReason{reasonSimilar, reasonRecent}) && !slices.Equal(p.Reasons, []rankingv1.RankReason{reasonSimilar}) {
			t.Errorf("the reasons of the similar post are %v", p.Reasons)
		}
	}
	// An edited post moves.
	before := f.likeness(reader, far)
	_, err := f.feed.EditPost(ctx, other, &feedv1.EditPostRequest{Post: far, Version: 1, Content: &feedv1.PostContent{Text: garden}})
	must(t, err)
	f.Forget()
	if after := f.likeness(reader, far); after < before+0.3 {
		t.Errorf("the likeness of the edited post is %.2f, and was %.2f", after, before)
	}
}

// likeness returns how similar a post is to what a reader likes.
func (f *fixture) likeness(reader id.User, post uint64) float64 {
	f.t.Helper()
	r, err := f.ExplainRanking(f.t.Context(), &rankingv1.ExplainRankingRequest{User: uint64(reader), Post: post})
	must(f.t, err)
	i := slices.IndexFunc(r.Score.GetParts(), func(p *rankingv1.RankingScorePart) bool { return p.Weight == "similarity" })
	if i < 0 {
		f.t.Fatalf("the score is %v", r)
	}
	return r.Score.Parts[i].Feature
}

// The vectors are those of the newest posts, however many there are and however many were published between two refreshes.
func TestVectorsAreBounded(t *testing.T) {
	f := open(t)
	must(t, f.MaxNear(300))
	author := f.user()
	for range 450 {
		f.post(author)
	}
	must(t, f.RefreshNeighbours(t.Context()))
	if n := f.Near(); n != 300 {
		t.Errorf("%d posts have vectors, want 300", n)
	}
	reader := f.user()
	f.like(f.publish(author, &feedv1.PostContent{Text: "something"}), reader)
	for i := range 250 {
		f.publish(f.user(), &feedv1.PostContent{Text: fmt.Sprint("something ", i)})
	}
	must(t, f.RefreshNeighbours(t.Context()))
	if n := f.Near(); n < 251 || n > 300 {
		t.Errorf("%d posts have vectors, want 251 to 300", n)
	}
	if got := len(f.fresh(reader)); got < 100 {
		t.Errorf("%d posts are similar", got)
	}
}
