package auth_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The signature of a token is checked once, not with each connection of its client. The token still expires, and is not valid before it was
// issued.
func TestVerifiedTokensAreRemembered(t *testing.T) {
	issued := time.Unix(1_800_000_000, 0)
	now := at(issued)
	tokens, err := auth.NewTokens(make([]byte, 32), &now)
	if err != nil {
		t.Fatal(err)
	}
	caller := id.Caller{User: 5, Device: 6, Session: 7}
	sign := func() string {
		token, _, err := tokens.Sign(caller)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	check := func(what, token string, want bool) {
		t.Helper()
		got, err := tokens.Verify(token)
		if want && (err != nil || got != caller) || !want && (!errs.Is(err, errs.Unauthenticated) || got != id.Caller{}) {
			t.Errorf("%s: got %+v, %v, want accepted = %v", what, got, err, want)
		}
	}
	first := sign()
	now = at(issued.Add(time.Second))
	other := sign()
	check("a new token", first, true)
	tokens.ReplaceKey(bytes.Repeat([]byte{1}, 32)) // no signature of before is valid
	check("a token that was not verified", other, false)
	check("one that was refused", other, false)
	check("one that was verified", first, true)
	now = at(issued.Add(-time.Hour))
	check("one from the future, after the clock was set back", first, false)
	now = at(issued.Add(auth.AccessTokenLifetime - time.Second))
	check("one that expires in a second", first, true)
	now = at(issued.Add(auth.AccessTokenLifetime))
	check("one that has expired", first, false)
}

func TestRememberedTokensAreBounded(t *testing.T) {
	now := at(time.Unix(1_800_000_000, 0))
	tokens, err := auth.NewTokens(make([]byte, 32), &now)
	if err != nil {
		t.Fatal(err)
	}
	tokens.Remember(auth.MaxVerified * 3)
	if n := tokens.Verified(); n > auth.MaxVerified || n < auth.MaxVerified/2 {
		t.Errorf("%d tokens are remembered, want %d to %d", n, auth.MaxVerified/2, auth.MaxVerified)
	}
}
