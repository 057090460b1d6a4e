package searchindextest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// missing: over random histories, exactly those documents are missing that are not stored, or are stored with other words, kinds, access, authors or times.
func missing(t *testing.T, open func(dir string) searchindex.Index) {
	rng := rand.New(rand.NewPCG(7, 8))
	index := open(t.TempDir())
	defer func() { must(t, index.Close()) }()
	stored := map[searchindex.ID]searchindex.Document{}
	for range 12 {
		var b searchindex.Batch
		for range 20 {
			d := randomDocument(rng)
			if slices.ContainsFunc(b.Put, func(o searchindex.Document) bool { return o.ID == d.ID }) || slices.Contains(b.Delete, d.ID) {
				continue
			}
			if rng.IntN(4) == 0 {
				b.Delete = append(b.Delete, d.ID)
				delete(stored, d.ID)
			} else {
				b.Put = append(b.Put, d)
				stored[d.ID] = d
			}
		}
		must(t, index.Apply(t.Context(), &b))
		var list []searchindex.Document
		var want []searchindex.ID
		for _, d := range stored {
			if change := rng.IntN(12); changeDocument(&d, change) {
				want = append(want, d.ID)
			}
			list = append(list, d)
		}
		for range 5 {
			if d := randomDocument(rng); stored[d.ID].ID != d.ID && !slices.ContainsFunc(list, func(o searchindex.Document) bool { return o.ID == d.ID }) {
				list, want = append(list, d), append(want, d.ID)
			}
		}
		got, err := index.Missing(t.Context(), list)
		must(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("of %+v these are missing: %v, want %v", list, got, want)
		}
	}
	if got, err := index.Missing(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of no documents %v are missing (%v)", got, err)
	}
}

// changeDocument changes one of the things by which a document is found, and reports whether it did.
func changeDocument(d *searchindex.Document, change int) bool {
	switch change {
	case 0:
		d.Text += " otherwise"
	case 1:
		d.Text += " 另外"
	case 2:
		d.Author += 10
	case 3:
		d.TimeMs += 1000
	case 4:
		d.Access = append(slices.Clone(d.Access), "other")
	case 5:
		d.Kinds = append(slices.Clone(d.Kinds), searchindex.User)
	default:
		d.Popularity += 5 // by which nothing is found
		return false
	}
	return true
}
