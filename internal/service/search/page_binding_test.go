package search

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// The first page may be of all kinds. The next one is of one kind, and no page is of another query, kind or reader.
func TestPagesBelongToTheirQueryKindAndReader(t *testing.T) {
	seal, err := pagetoken.New([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	binding := func(reader uint64, q *searchv1.SearchRequest, k searchv1.HitKind) []byte {
		b, err := bind(id.User(reader), q)
		if err != nil {
			t.Fatal(err)
		}
		return ofKind(b, k)
	}
	all := &searchv1.SearchRequest{Query: "lake", Typing: true}
	one := &searchv1.SearchRequest{Query: "lake", Typing: true, Kinds: []searchv1.HitKind{messageKind}, Limit: 20}
	page := encodePage(seal, &page{nowMs: 5, depth: 1, after: searchindex.Cursor{ID: searchindex.ID{Kind: searchindex.Message, Parent: 7, Number: 9}}}, binding(1, all, messageKind))
	if got, err := decodePage(seal, page, binding(1, one, messageKind)); err != nil || got.nowMs != 5 {
		t.Fatalf("the page of a search for all kinds, for one kind: %v, %v", got, err)
	}
	for name, other := range map[string][]byte{
		"kind":   binding(1, one, postKind),
		"reader": binding(2, one, messageKind),
		"query":  binding(1, &searchv1.SearchRequest{Query: "boat", Typing: true}, messageKind),
		"typing": binding(1, &searchv1.SearchRequest{Query: "lake"}, messageKind),
	} {
		if _, err := decodePage(seal, page, other); err == nil {
			t.Errorf("a page was read for another %s", name)
		}
	}
}
