package search

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/internal/base/pagetoken"
)

// What a page has is refused, or read as it would be sealed again. The place of a comparison likewise.
func FuzzPages(f *testing.F) {
	seal, err := pagetoken.New([]byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	binding := []byte("reader and query")
	first, _ := seal.Open(encodePage(seal, &page{nowMs: 5, depth: 1}, binding), binding)
	f.Add(first, "7 9")
	f.Add(first[1:], "18446744073709551615")
	f.Add([]byte(nil), "7 ")
	f.Fuzz(func(t *testing.T, b []byte, position string) {
		if p, err := decodePage(seal, seal.Seal(b, binding), binding); err == nil {
			if again, ok := seal.Open(encodePage(seal, p, binding), binding); !ok || !bytes.Equal(again, b) {
				t.Errorf("the page %x was read as %+v, and is written as %x", b, p, again)
			}
		}
		if p, err := parseMessagePosition(position); err == nil {
			if again, err := parseMessagePosition(p.String()); err != nil || again != p {
				t.Errorf("the position %q was read as %+v, and again as %+v, %v", position, p, again, err)
			}
		}
	})
}
