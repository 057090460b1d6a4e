package account_test

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
)

// TestRefusedTokensAreLogged: the log says why an external token was rejected. Neither the log nor the error contains the token.
func TestRefusedTokensAreLogged(t *testing.T) {
	var lines bytes.Buffer
	config := account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", Secret: shared}}}
	r := openOn(t, sqltest.Place(t), 1, config, func(d *account.Deps) {
		d.SingleNode, d.Logger = true, slog.New(slog.NewTextHandler(&lines, nil))
	})
	now := r.clock.Now()
	for want, change := range map[string]map[string]any{
		"issuer=shop cause=\"token has invalid claims: token is expired\"":           {"exp": now.Add(-time.Hour).Unix()},
		"issuer=shop cause=\"token has invalid claims: token has invalid audience\"": {"aud": "mail"},
		"issuer=shop cause=\"claim sub has no user\"":                                {"sub": ""},
		"issuer=bakery cause=\"no issuer of account.issuers has this name\"":         {"iss": "bakery"},
	} {
		lines.Reset()
		token := r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", change)
		if _, err := r.Verify(t.Context(), token); err == nil {
			t.Errorf("a token with %v is accepted", change)
		}
		text := lines.String()
		if !strings.Contains(text, want) || strings.Contains(text, token[strings.LastIndexByte(token, '.')+1:]) {
			t.Errorf("a token with %v logged %s, want %s", change, text, want)
		}
	}
	// Those that no library creates: an unknown algorithm, and what only looks like a JWT.
	encode := base64.RawURLEncoding.EncodeToString
	claims := func(text string) string { return encode([]byte(text)) }
	for token, want := range map[string]string{
		claims(`{"alg":"XY999"}`) + "." + claims(`{"iss":"shop","aud":"chat"}`) + ".c2ln": "issuer=shop cause=\"token is unverifiable: signing method (alg) is unavailable\"",
		claims(`{"alg":"none"}`) + "." + claims(`{"iss":"shop","aud":"chat"}`) + ".":      "issuer=shop cause=\"token signature is invalid: signing method none is invalid\"",
		claims(`{"alg":"XY999"}`) + "." + claims(`{"iss":"bakery"}`) + ".c2ln":            "issuer=bakery cause=\"no issuer of account.issuers has this name\"",
		claims(`{"alg":"HS256"}`) + "." + claims(`{"sub":"eve"}`) + ".c2ln":               "cause=\"it names no issuer (iss)\"",
		claims(`{"alg":"HS256"}`) + "." + claims(`{"iss":`) + ".c2ln":                     "cause=\"its header or its claims cannot be decoded\"",
		"a.b.c":                          "cause=\"its header or its claims cannot be decoded\"",
		strings.Repeat("x", 9000) + "..": "cause=\"it is longer than 8192 bytes\"",
	} {
		lines.Reset()
		if _, err := r.Verify(t.Context(), token); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("%.60s: got %v, want a refusal", token, err)
		}
		if text := lines.String(); !strings.Contains(text, want) || strings.Contains(text, token) {
			t.Errorf("%.60s: logged %.300s; want %s", token, text, want)
		}
	}
	lines.Reset()
	good := r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", nil)
	alice, _ := r.register("alice")
	own := alice.AccessToken
	for _, token := range []string{good, own, own + "x", "opaque", ""} {
		_, _ = r.Verify(t.Context(), token) // only external tokens are logged
	}
	if lines.Len() > 0 {
		t.Errorf("an own token logged %s", &lines)
	}
	for range 1000 {
		_, _ = r.Verify(t.Context(), r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"iss": strings.Repeat("x", 4000)}))
	}
	if lines.Len() > 10_000 {
		t.Errorf("1,000 tokens logged %d bytes", lines.Len())
	}
}
