package account_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/service/account"
)

// Redirects of an issuer's server are not followed, neither for keys nor for introspection.
func TestIssuerRedirectsAreNotFollowed(t *testing.T) {
	canary := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s: a redirect was followed", r.Method, r.URL)
	}))
	defer canary.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.RedirectHandler(canary.URL, status))
		defer server.Close()
		r := open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", JWKS: server.URL}, {Name: "bank", Introspection: server.URL}}})
		for what, token := range map[string]string{"keys": r.externalToken(jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), "k", nil), "a question": "opaque"} {
			_, err := r.Verify(t.Context(), token)
			wantError(t, what, err, errs.Unavailable, "issuer_unreachable")
		}
	}
	for _, url := range []string{"https://169.254.169.254/keys", "https://[fe80::1]/keys", "https://0.0.0.0/keys", "https://2130706433/keys", "https://127.1/keys", "file://localhost/etc/passwd", "unix:///run/x", "gopher://127.0.0.1:6379"} {
		for _, i := range []account.Issuer{{Name: "shop", Audience: "chat", JWKS: url}, {Name: "bank", Introspection: url}} {
			if err := (account.Config{Issuers: []account.Issuer{i}}).Check(); err == nil {
				t.Errorf("issuer %+v is accepted", i)
			}
		}
	}
}
