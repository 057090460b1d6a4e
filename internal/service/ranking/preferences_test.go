package ranking_test

import (
	"database/sql"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// A reader prefers what is like the posts that the reader liked. Others, and readers without personalization, prefer nothing.
func TestPreferences(t *testing.T) {
	f := open(t)
	reader, other, author, another := f.user(), f.user(), f.user(), f.user()
	publish := func(by id.User, text string) uint64 { return f.publish(by, &feedv1.PostContent{Text: text}) }
	f.like(publish(author, "a heron stands in the river at dawn"), reader)
	alike, different := publish(author, "the heron at the river again"), publish(another, "quarterly numbers of the sales team")
	of := func(u id.User) (list map[uint64]float64) {
		t.Helper()
		must(t, f.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) (err error) {
			list, err = f.Preferences(t.Context(), tx, u, []uint64{alike, different, 12345})
			return err
		}))
		return list
	}
	if p := of(reader); p[alike] < 0.3 || p[alike] > 1 || p[alike] < 2*p[different] || p[12345] != 0 {
		t.Errorf("the preferences are %v, expected %d far above %d", p, alike, different)
	}
	if p := of(other); len(p) != 0 {
		t.Errorf("a reader who has liked nothing prefers %v", p)
	}
	f.personalize(reader, false)
	if p := of(reader); len(p) != 0 {
		t.Errorf("a reader without personalization prefers %v", p)
	}
}

// Operators set the weights of searches beside the others, within their own bounds.
func TestWeightsOfSearches(t *testing.T) {
	f := open(t)
	set := func(w *rankingv1.RankingWeights) error {
		_, err := f.SetRankingWeights(t.Context(), &rankingv1.SetRankingWeightsRequest{Weights: w, By: "ann"})
		return err
	}
	expect := func(wantRecency, wantPopularity, wantPreference float64) {
		t.Helper()
		if recency, popularity, preference := f.SearchWeights(); recency != wantRecency || popularity != wantPopularity || preference != wantPreference {
			t.Errorf("the weights are %v, %v and %v, expected %v, %v and %v", recency, popularity, preference, wantRecency, wantPopularity, wantPreference)
		}
	}
	expect(0.5, 0.05, 0.5)
	zero, most, tooMuch, negative := int32(0), int32(1000), int32(101), int32(-1)
	must(t, set(&rankingv1.RankingWeights{SearchRecency: &zero, SearchPopularity: &most, SearchPreference: &zero}))
	expect(0, 10, 0)
	for _, w := range []*rankingv1.RankingWeights{{SearchRecency: &tooMuch}, {SearchRecency: &negative}, {SearchPopularity: &negative}, {SearchPreference: &negative}} {
		if err := set(w); reason(err) != "bad_ranking" {
			t.Errorf("%v: error %v, want the reason bad_ranking", w, err)
		}
	}
	expect(0, 10, 0)
}
