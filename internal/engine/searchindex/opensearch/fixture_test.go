package opensearch_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// user makes a document that the queries of query find.
func user(n uint64, text string) searchindex.Document {
	return searchindex.Document{ID: searchindex.ID{Kind: searchindex.User, Number: n}, Text: text, Access: []string{"x"}}
}

func query(word string) *searchindex.Query {
	return &searchindex.Query{Kind: searchindex.User, Terms: []searchindex.Term{{Word: word}}, Access: []string{"x"}, Limit: 10}
}

// hits checks the numbers of what a search finds, in any order.
func hits(t *testing.T, index searchindex.Index, q *searchindex.Query, want ...uint64) {
	t.Helper()
	r, err := index.Search(t.Context(), q)
	must(t, err)
	var got []uint64
	for _, h := range r.Hits {
		got = append(got, h.ID.Number)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
