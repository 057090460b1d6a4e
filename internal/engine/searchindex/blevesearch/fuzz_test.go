package blevesearch

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// The id of a stored document is refused, or read as it would be stored again.
func FuzzIDs(f *testing.F) {
	f.Add([]byte(packID(searchindex.ID{Kind: searchindex.Message, Parent: 7, Number: 1 << 40})))
	f.Add([]byte{1, 9, 0})
	f.Add([]byte{1, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, ok := unpackID(b); ok {
			if again, ok := unpackID([]byte(packID(id))); !ok || again != id {
				t.Errorf("%x was read as %v, and again as %v, %v", b, id, again, ok)
			}
		}
		if id, ok := searchindex.DecodeID(b); ok && !bytes.Equal(id.Append(nil), b) {
			t.Errorf("%x was read as %v", b, id)
		}
	})
}
