package pagetoken_test

import (
	"bytes"
	"testing"

	"github.com/rialto-im/rialto/internal/base/pagetoken"
)

// No text but the token itself opens, and with its binding only.
func FuzzOpen(f *testing.F) {
	seal, err := pagetoken.New([]byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", []byte("place"), []byte("binding"))
	f.Add(seal.Seal([]byte("place"), nil)+"\n", []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, text string, place, binding []byte) {
		if got, ok := seal.Open(text, append(binding, "other"...)); ok {
			t.Errorf("%q opens as %x", text, got)
		}
		token := seal.Seal(place, binding)
		if got, ok := seal.Open(token, binding); !ok || !bytes.Equal(got, place) {
			t.Errorf("the token of %x opens as %x, %v", place, got, ok)
		}
		if got, ok := seal.Open(token, append(binding, 0)); ok {
			t.Errorf("the token of %x opens with another binding as %x", place, got)
		}
		for _, other := range []string{token + "A", token[1:], token + "\n", text + token} {
			if got, ok := seal.Open(other, binding); ok && other != token {
				t.Errorf("%q opens as %x", other, got)
			}
		}
		if n, err := pagetoken.Start(text, uint64(7)); err == nil && n > 1<<63-1 {
			t.Errorf("the page %q begins at %d", text, n)
		}
	})
}
