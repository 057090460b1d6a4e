package search_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

const postKind = searchv1.HitKind_HIT_KIND_POST

// posts returns the posts of a page, in their order, and the next page.
func (f *fixture) posts(u id.User, query, page string, limit uint32) (list []*searchv1.Hit, next string) {
	f.t.Helper()
	_, out := f.find(u, &searchv1.SearchRequest{Query: query, Kinds: []searchv1.HitKind{postKind}, Page: page, Limit: limit, Explain: true})
	for _, g := range out.Groups {
		list, next = g.Hits, g.Next
	}
	return list, next
}

// What the reader likes comes first in a page, by its weight, and the score says so.
func TestPreferencesOrderHits(t *testing.T) {
	f := open(t, 2)
	reader, author := f.users[0], f.users[1]
	var liked uint64
	f.preferences = func(_ context.Context, _ *sql.Tx, u id.User, posts []uint64) (map[uint64]float64, error) {
		if u != reader || !slices.Contains(posts, liked) {
			return nil, nil
		}
		return map[uint64]float64{liked: 0.5}, nil
	}
	f.restart()
	liked = f.publish(author, &feedv1.PostContent{Text: "heron"})
	for n := range 3 {
		f.clock.Advance(time.Hour)
		f.publish(author, &feedv1.PostContent{Text: fmt.Sprint("heron ", n)})
	}
	f.catchUp()
	hits, _ := f.posts(reader, "heron", "", 10)
	if len(hits) != 4 || hits[0].Post.Id != liked || hits[0].Score.Preference != 1.25 || hits[1].Score.Preference != 1 {
		t.Fatalf("the hits are %v", hits)
	}
	for _, h := range hits {
		if s := h.Score; s.Total != s.Text*s.Recency*s.Popularity*s.Preference {
			t.Errorf("the score is %v", s)
		}
	}
	if hits, _ := f.posts(author, "heron", "", 10); len(hits) != 4 || hits[3].Post.Id != liked {
		t.Errorf("for another reader the hits are %v", hits)
	}
	f.weights.Preference = 0
	if hits, _ := f.posts(reader, "heron", "", 10); len(hits) != 4 || hits[3].Post.Id != liked || hits[3].Score.Preference != 1 {
		t.Errorf("without the weight the hits are %v", hits)
	}
}

// Weights that are set hold for the next search. The pages of one that has begun go on by its own weights: no hit comes twice, and none is missing.
func TestPagesKeepTheirWeights(t *testing.T) {
	f := open(t, 2)
	for n := range 12 {
		f.publish(f.users[1], &feedv1.PostContent{Text: fmt.Sprint("heron ", n)})
		f.clock.Advance(20 * 24 * time.Hour)
	}
	f.catchUp()
	found, page := map[uint64]bool{}, ""
	for pages := 0; pages == 0 || page != ""; pages++ {
		hits, next := f.posts(f.users[0], "heron", page, 5)
		for _, h := range hits {
			if found[h.Post.Id] || h.Score.Recency == 1 {
				t.Errorf("page %d has the post %d again, or by other weights: %v", pages, h.Post.Id, h.Score)
			}
			found[h.Post.Id] = true
		}
		page, f.weights.Recency = next, 0
	}
	if len(found) != 12 {
		t.Errorf("the pages have %d of 12 posts", len(found))
	}
	hits, _ := f.posts(f.users[0], "heron", "", 5)
	if len(hits) != 5 || hits[4].Score.Recency != 1 {
		t.Errorf("by the new weights the hits are %v", hits)
	}
}
