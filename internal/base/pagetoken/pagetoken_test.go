package pagetoken_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/rialto-im/rialto/internal/base/pagetoken"
)

func sealer(t *testing.T, secret string) pagetoken.Sealer {
	t.Helper()
	s, err := pagetoken.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokensAreReadWithTheirSecretAndBindingOnly(t *testing.T) {
	s, place := sealer(t, "a secret"), []byte("after user 17")
	for _, binding := range [][]byte{nil, []byte("alice")} {
		token := s.Seal(place, binding)
		if got, ok := s.Open(token, binding); !ok || !bytes.Equal(got, place) {
			t.Errorf("binding %q: got %q, %v, want the place", binding, got, ok)
		}
		if got, ok := s.Open(token, []byte("bob")); ok {
			t.Errorf("binding %q: another binding reads %q", binding, got)
		}
		if got, ok := sealer(t, "another secret").Open(token, binding); ok {
			t.Errorf("binding %q: another secret reads %q", binding, got)
		}
	}
}

// Equal places have unequal tokens, so that a token does not tell whether a reader has come to the same place again.
func TestTokensTellNothing(t *testing.T) {
	s := sealer(t, "a secret")
	place := []byte("after user 17")
	one, two := s.Seal(place, nil), s.Seal(place, nil)
	if one == two {
		t.Error("a place has the same token twice")
	}
	if raw, err := base64.RawURLEncoding.DecodeString(one); err != nil || bytes.Contains(raw, place) {
		t.Errorf("the token %q names its place, error %v", one, err)
	}
}

func TestOtherTextsAreNoTokens(t *testing.T) {
	s := sealer(t, "a secret")
	token := s.Seal([]byte("after user 17"), nil)
	for n := range len(token) {
		if _, ok := s.Open(token[:n], nil); ok {
			t.Errorf("the first %d characters are a token", n)
		}
		changed := []byte(token)
		changed[n]++
		if _, ok := s.Open(string(changed), nil); ok {
			t.Errorf("a token whose character %d is changed is read", n)
		}
	}
	for _, text := range []string{"", " ", token + "A", token + "\n", "=" + token, "🙂"} {
		if _, ok := s.Open(text, nil); ok {
			t.Errorf("%q is read as a token", text)
		}
	}
}
