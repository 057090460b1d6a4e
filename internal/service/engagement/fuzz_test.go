package engagement

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/internal/base/pagetoken"
)

// A stored list, and the place of a page, are refused, or read as they would be written again.
func FuzzStored(f *testing.F) {
	seal, err := pagetoken.New([]byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encodeEntries([]entry{{9, 3}, {7, 1}}))
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, b []byte) {
		if posts, likes, err := DecodeEntries(b); err == nil {
			list := make([]entry, len(posts))
			for i := range posts {
				list[i] = entry{posts[i], likes[i]}
			}
			if !bytes.Equal(encodeEntries(list), b) {
				t.Errorf("the list %x was read as %v", b, list)
			}
		}
		if at, err := decodeLiker(seal, seal.Seal(b, nil)); err == nil {
			if again, ok := seal.Open(encodeLiker(seal, at), nil); !ok || !bytes.Equal(again, b) {
				t.Errorf("the place %x was read as %+v", b, at)
			}
		}
	})
}
