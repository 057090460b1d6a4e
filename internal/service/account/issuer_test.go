package account_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

const shared = "a shared key of more than 32 bytes, for tests"

// externalToken creates a token of an app.
func (r *fixture) externalToken(method jwt.SigningMethod, key any, kid string, change map[string]any) string {
	r.t.Helper()
	now := r.clock.Now()
	c := jwt.MapClaims{"iss": "shop", "aud": "chat", "sub": "u-1", "device": "phone-1", "name": "王小明", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for k, v := range change {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	j := jwt.NewWithClaims(method, c)
	if kid != "" {
		j.Header["kid"] = kid
	}
	s, err := j.SignedString(key)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *fixture) verify(token string) id.Caller {
	r.t.Helper()
	c, err := r.Verify(r.t.Context(), token)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func openShared(t testing.TB) *fixture {
	return open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", Secret: shared}}})
}

func TestAFirstTokenCreatesTheUser(t *testing.T) {
	r := openShared(t)
	sign := func(change map[string]any) string {
		return r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	first := r.verify(sign(nil))
	if first.User == 0 || first.Device == 0 || first.Session == 0 || first.Server {
		t.Fatalf("the caller is %+v", first)
	}
	u, err := r.GetUser(t.Context(), first.User)
	if err != nil || u.DisplayName != "王小明" {
		t.Errorf("the user is %v (%v)", u, err)
	}
	// A later token of the same device yields the same caller. Another device is another session of the same user.
	r.clock.advance(time.Minute)
	if again := r.verify(sign(nil)); again != first {
		t.Errorf("the first token yields %+v, the next %+v", first, again)
	}
	other := r.verify(sign(map[string]any{"device": "tablet"}))
	if other.User != first.User || other.Device == first.Device || other.Session == first.Session {
		t.Errorf("two devices yield %+v and %+v", first, other)
	}
	// Without a device name, messages have no counter.
	if c := r.verify(sign(map[string]any{"device": nil})); c.User != first.User || c.Device != 0 || c.Session == 0 {
		t.Errorf("a token without a device yields %+v", c)
	}
	if c := r.verify(sign(map[string]any{"sub": "u-2", "name": "\u202e"})); c.User == first.User {
		t.Errorf("two subjects yield one user: %+v", c)
	}
	// The business server uses the same external id.
	p, err := r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: "shop:u-1", DisplayName: "Wang"})
	if err != nil || id.User(p.Id) != first.User || p.DisplayName != "Wang" || p.Handle != u.Handle {
		t.Errorf("PutUser with the external id returned %v (%v)", p, err)
	}
	// The server's own tokens remain valid.
	s, c := r.register("anna")
	if got := r.verify(s.AccessToken); got != c {
		t.Errorf("the server's own token yields %+v, want %+v", got, c)
	}
}

func TestConcurrentFirstTokensCreateOneUserAndSession(t *testing.T) {
	r := openShared(t)
	var tokens []string
	for n := range 24 {
		tokens = append(tokens, r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"device": fmt.Sprint("d", n%3)}))
	}
	var wait sync.WaitGroup
	callers := make([]id.Caller, len(tokens))
	for n, token := range tokens {
		wait.Go(func() {
			var err error
			if callers[n], err = r.Verify(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for n, c := range callers {
		if c != callers[n%3] || c.User != callers[0].User {
			t.Errorf("caller %d is %+v, but others of its device are %+v", n, c, callers[n%3])
		}
	}
	if n := r.count(`SELECT count(*) FROM users`); n != 1 {
		t.Errorf("%d users were created", n)
	}
	if n := r.count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 3 {
		t.Errorf("%d sessions were created", n)
	}
}

func TestExternalSessionsEnd(t *testing.T) {
	r := openShared(t)
	sign := func(change map[string]any) string {
		return r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	old := sign(nil)
	c := r.verify(old)
	r.clock.advance(time.Second)
	if err := r.Logout(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	if ended := r.endedSessions(); len(ended) != 1 || ended[0] != (account.Ended{User: c.User, Session: c.Session, Reason: "logged_out"}) {
		t.Errorf("the ended sessions are %v", ended)
	}
	_, err := r.Verify(t.Context(), old)
	wantError(t, "a token from before the end", err, errs.Unauthenticated, "bad_token")
	_, err = r.Verify(t.Context(), sign(map[string]any{"iat": nil}))
	wantError(t, "a token that does not say since when", err, errs.Unauthenticated, "bad_token")
	r.clock.advance(2 * time.Second)
	again := r.verify(sign(nil))
	if again.User != c.User || again.Device != c.Device || again.Session == c.Session {
		t.Errorf("the caller was %+v, then %+v", c, again)
	}
	if _, err := r.Verify(t.Context(), old); err != nil {
		t.Errorf("after a logout a newer token of the device returned %v", err)
	}
}

func TestBadExternalTokens(t *testing.T) {
	r := openShared(t)
	now := r.clock.Now()
	hs := func(change map[string]any) string {
		return r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	good := hs(nil)
	for what, token := range map[string]string{
		"none":              r.externalToken(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", nil),
		"another algorithm": r.externalToken(jwt.SigningMethodHS512, []byte(shared), "", nil),
		"another key":       r.externalToken(jwt.SigningMethodHS256, []byte(strings.Repeat("x", 40)), "", nil),
		"no signature":      good[:strings.LastIndexByte(good, '.')+1],
		"cut":               good[:len(good)-3],
		"expired":           hs(map[string]any{"exp": now.Add(-time.Minute).Unix()}),
		"no expiry":         hs(map[string]any{"exp": nil}),
		"not yet":           hs(map[string]any{"nbf": now.Add(time.Minute).Unix()}),
		"from the future":   hs(map[string]any{"iat": now.Add(time.Hour).Unix()}),
		"another audience":  hs(map[string]any{"aud": "mail"}),
		"no audience":       hs(map[string]any{"aud": nil}),
		"another issuer":    hs(map[string]any{"iss": "shop2"}),
		"our own issuer":    hs(map[string]any{"iss": "rialto", "aud": "rialto"}),
		"no user":           hs(map[string]any{"sub": nil}),
		"empty user":        hs(map[string]any{"sub": ""}),
		"a list of users":   hs(map[string]any{"sub": []string{"u-1"}}),
		"half a user":       hs(map[string]any{"sub": 1.5}),
		"long user":         hs(map[string]any{"sub": strings.Repeat("u", 200)}),
		"zero byte":         hs(map[string]any{"sub": "u\x00"}),
		"long device":       hs(map[string]any{"device": strings.Repeat("d", 200)}),
		"long":              hs(map[string]any{"pad": strings.Repeat("p", 9000)}),
		"empty":             "",
		"dots":              "..",
		"no text":           "\xff.\xfe.\x00",
		"opaque":            "0123456789abcdef",
	} {
		_, err := r.Verify(t.Context(), token)
		wantError(t, what, err, errs.Unauthenticated, "bad_token")
	}
	if n := r.count(`SELECT count(*) FROM users`); n != 0 {
		t.Errorf("bad tokens created %d users", n)
	}
	if c := r.verify(hs(map[string]any{"sub": 12345678901})); c.User == 0 {
		t.Error("a number with a fraction is accepted as a user's id")
	}
	if n := r.count(`SELECT count(*) FROM users WHERE external_id = 'shop:12345678901'`); n != 1 {
		t.Error("the number is not kept in its original form")
	}
}

// keys are the keys that an issuer's server returns.
type keys struct {
	rsa      *rsa.PrivateKey
	ec       *ecdsa.PrivateKey
	ed       ed25519.PrivateKey
	body     atomic.Value // string
	requests atomic.Int64
	down     atomic.Bool
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	var k keys
	var err1, err2, err3 error
	k.rsa, err1 = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, err2 = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, err3 = ed25519.GenerateKey(rand.Reader)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatalf("the keys could not be generated: %v, %v, %v", err1, err2, err3)
	}
	k.publish(jwkOf(&k.rsa.PublicKey, "r"), jwkOf(&k.ec.PublicKey, "e"), jwkOf(k.ed.Public(), "d"))
	return &k
}

func (k *keys) publish(set ...map[string]any) {
	b, err := json.Marshal(map[string]any{"keys": set})
	if err != nil {
		panic(err)
	}
	k.body.Store(string(b))
}

func (k *keys) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	k.requests.Add(1)
	if k.down.Load() {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	fmt.Fprint(w, k.body.Load())
}

func jwkOf(public crypto.PublicKey, kid string) map[string]any {
	text := base64.RawURLEncoding.EncodeToString
	switch p := public.(type) {
	case *rsa.PublicKey:
		return map[string]any{"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": text(p.N.Bytes()), "e": text(big.NewInt(int64(p.E)).Bytes())}
	case *ecdsa.PublicKey:
		b, err := p.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]any{"kty": "EC", "crv": "P-256", "kid": kid, "x": text(b[1:33]), "y": text(b[33:])}
	case ed25519.PublicKey:
		return map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": text(p)}
	}
	panic("no such key")
}

func TestTokensSignedWithPublicKeys(t *testing.T) {
	k := newKeys(t)
	server := httptest.NewServer(k)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(k.body.Load().(string)), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, source := range map[string]string{"file": file, "url": server.URL} {
		t.Run(from, func(t *testing.T) {
			r := open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", JWKS: source}}})
			first := r.verify(r.externalToken(jwt.SigningMethodRS256, k.rsa, "r", nil))
			for what, token := range map[string]string{
				"ES256":            r.externalToken(jwt.SigningMethodES256, k.ec, "e", nil),
				"EdDSA":            r.externalToken(jwt.SigningMethodEdDSA, k.ed, "d", nil),
				"RS256 without id": r.externalToken(jwt.SigningMethodRS256, k.rsa, "", nil),
			} {
				if c := r.verify(token); c != first {
					t.Errorf("%s: the caller is %+v, want %+v", what, c, first)
				}
			}
			der, err := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			for what, token := range map[string]string{
				"HMAC with the public key":    r.externalToken(jwt.SigningMethodHS256, der, "r", nil),
				"HMAC with the key in PEM":    r.externalToken(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "r", nil),
				"HMAC with the Ed25519 key":   r.externalToken(jwt.SigningMethodHS256, []byte(k.ed.Public().(ed25519.PublicKey)), "d", nil),
				"none":                        r.externalToken(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "r", nil),
				"PS256":                       r.externalToken(jwt.SigningMethodPS256, k.rsa, "r", nil),
				"another's key under this id": r.externalToken(jwt.SigningMethodES256, newKeys(t).ec, "e", nil),
				"another algorithm's id":      r.externalToken(jwt.SigningMethodES256, k.ec, "r", nil),
				"unknown id":                  r.externalToken(jwt.SigningMethodES256, k.ec, "x", nil),
			} {
				_, err := r.Verify(t.Context(), token)
				wantError(t, what, err, errs.Unauthenticated, "bad_token")
			}
		})
	}
}

func TestIssuerKeysAreRefreshed(t *testing.T) {
	k := newKeys(t)
	server := httptest.NewServer(k)
	defer server.Close()
	r := open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", JWKS: server.URL}}})
	k.down.Store(true)
	token := func(kid string) string { return r.externalToken(jwt.SigningMethodES256, k.ec, kid, nil) }
	_, err := r.Verify(t.Context(), token("e"))
	wantError(t, "keys that cannot be had", err, errs.Unavailable, "issuer_unreachable")
	k.down.Store(false)
	r.clock.advance(time.Minute)
	r.verify(token("e"))
	// Invented key ids do not cause a request each.
	before := k.requests.Load()
	for n := range 20 {
		_, err := r.Verify(t.Context(), token(fmt.Sprint("made up ", n)))
		wantError(t, "a made-up id", err, errs.Unauthenticated, "bad_token")
	}
	if n := k.requests.Load() - before; n > 1 {
		t.Errorf("20 invented key ids caused %d requests", n)
	}
	// A new key is accepted soon, and a withdrawn one rejected soon.
	k.publish(jwkOf(&k.ec.PublicKey, "new"))
	r.clock.advance(time.Minute)
	r.verify(token("new"))
	_, err = r.Verify(t.Context(), token("e"))
	wantError(t, "a withdrawn key", err, errs.Unauthenticated, "bad_token")
	// Known keys remain valid while an issuer is down for an hour, but not for two days.
	k.down.Store(true)
	r.clock.advance(time.Hour)
	r.verify(token("new"))
	r.clock.advance(48 * time.Hour)
	_, err = r.Verify(t.Context(), token("new"))
	wantError(t, "keys of two days ago", err, errs.Unavailable, "issuer_unreachable")
}

func TestOpaqueTokensAreIntrospected(t *testing.T) {
	var requests atomic.Int64
	var revoked, down atomic.Bool
	var r *fixture
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		requests.Add(1)
		user, secret, _ := q.BasicAuth()
		if down.Load() || user != "rialto" || secret != "the+secret" /* form-encoded: RFC 6749, 2.3.1 */ || q.Method != http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer := map[string]any{"active": !revoked.Load(), "sub": "u-7", "aud": []string{"chat", "mail"}, "device": "one", "exp": r.clock.Now().Add(time.Hour).Unix()}
		switch token := q.FormValue("token"); token {
		case "opaque-good":
		case "opaque-mail":
			answer["aud"] = "mail"
		case "opaque-expired":
			answer["exp"] = r.clock.Now().Add(-time.Second).Unix()
		case "opaque-nobody":
			delete(answer, "sub")
		case "opaque-truthy":
			answer["active"] = "true"
		case "opaque-html":
			fmt.Fprint(w, "<html>")
			return
		default:
			answer = map[string]any{"active": false}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	r = open(t, account.Config{Issuers: []account.Issuer{{Name: "bank", Audience: "chat", Introspection: server.URL, ClientID: "rialto", ClientSecret: "the secret"}}})
	first := r.verify("opaque-good")
	if again := r.verify("opaque-good"); again != first || requests.Load() != 1 {
		t.Errorf("the caller was %+v, then %+v after %d requests", first, again, requests.Load())
	}
	for _, token := range []string{"opaque-mail", "opaque-expired", "opaque-nobody", "opaque-truthy", "opaque-unknown"} {
		_, err := r.Verify(t.Context(), token)
		wantError(t, token, err, errs.Unauthenticated, "bad_token")
	}
	_, err := r.Verify(t.Context(), "opaque-html")
	wantError(t, "an answer that is none", err, errs.Unavailable, "issuer_unreachable")
	before := requests.Load()
	for _, own := range []string{"rk_x", "rr_x", "rt_x", r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", nil)} {
		_, err := r.Verify(t.Context(), own)
		wantError(t, own, err, errs.Unauthenticated, "bad_token")
	}
	if requests.Load() != before {
		t.Error("the server's own secrets, or another issuer's token, were sent to the introspection endpoint")
	}
	// A revoked token is rejected within a minute. If the issuer is down, the error is retryable.
	revoked.Store(true)
	r.verify("opaque-good")
	r.clock.advance(61 * time.Second)
	_, err = r.Verify(t.Context(), "opaque-good")
	wantError(t, "a revoked token", err, errs.Unauthenticated, "bad_token")
	down.Store(true)
	r.clock.advance(61 * time.Second)
	_, err = r.Verify(t.Context(), "opaque-good")
	wantError(t, "an issuer that is down", err, errs.Unavailable, "issuer_unreachable")
}

func TestInvalidIssuersAreRejected(t *testing.T) {
	r := open(t, account.Config{})
	k := newKeys(t)
	file := func(body string) string {
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // too small on purpose
	if err != nil {
		t.Fatal(err)
	}
	set := func(j map[string]any) string {
		k.publish(j)
		return file(k.body.Load().(string))
	}
	off := jwkOf(&k.ec.PublicKey, "e")
	off["x"] = off["y"]
	encryption := jwkOf(&k.rsa.PublicKey, "r")
	encryption["use"] = "enc"
	good := account.Issuer{Name: "a", Audience: "chat", Secret: shared}
	for what, list := range map[string][]account.Issuer{
		"no name":            {{Audience: "chat", Secret: shared}},
		"our own name":       {{Name: "rialto", Audience: "chat", Secret: shared}},
		"twice":              {good, good},
		"one goes on":        {good, {Name: "a:b", Audience: "chat", Secret: shared}},
		"no audience":        {{Name: "a", Secret: shared}},
		"short secret":       {{Name: "a", Audience: "chat", Secret: "short"}},
		"no keys":            {{Name: "a", Audience: "chat"}},
		"two kinds":          {{Name: "a", Audience: "chat", Secret: shared, JWKS: "https://keys.example"}},
		"plain http":         {{Name: "a", Audience: "chat", JWKS: "http://keys.example/x"}},
		"plain question":     {{Name: "a", Introspection: "http://keys.example/x"}},
		"credentials in URL": {{Name: "a", Audience: "chat", JWKS: "https://u:p@keys.example/x"}},
		"no file":            {{Name: "a", Audience: "chat", JWKS: filepath.Join(t.TempDir(), "none")}},
		"no JSON":            {{Name: "a", Audience: "chat", JWKS: file("{")}},
		"no key":             {{Name: "a", Audience: "chat", JWKS: file(`{"keys":[]}`)}},
		"shared key":         {{Name: "a", Audience: "chat", JWKS: set(map[string]any{"kty": "oct", "k": "c2VjcmV0"})}},
		"small RSA key":      {{Name: "a", Audience: "chat", JWKS: set(jwkOf(&small.PublicKey, "s"))}},
		"not on the curve":   {{Name: "a", Audience: "chat", JWKS: set(off)}},
		"for encryption":     {{Name: "a", Audience: "chat", JWKS: set(encryption)}},
	} {
		if _, err := account.New(t.Context(), r.deps, account.Config{Issuers: list}); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	// All problems of all issuers are reported together, as rialto check shows them.
	err = account.Config{Issuers: []account.Issuer{{Name: "a", Secret: "short", JWKS: "http://keys.example/x"}, {Name: "rialto", Audience: "chat"}}}.Check()
	var got []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		got = append(got, strings.TrimSpace(line))
	}
	for n, want := range []string{`issuer 1 ("a"): give exactly one of`, `issuer 1 ("a"): audience is missing`, `issuer 1 ("a"): secret has at least`, `issuer 1 ("a"): the address begins with https`,
		`issuer 2 ("rialto"): this name is the server's own`, `issuer 2 ("rialto"): give exactly one of`} {
		if n >= len(got) || !strings.HasPrefix(got[n], "account.issuers: "+want) {
			t.Errorf("problem %d of\n%s\nis not about %s", n, strings.Join(got, "\n"), want)
		}
	}
	if len(got) != 6 {
		t.Errorf("got %d problems: %v", len(got), err)
	}
	if _, err := account.New(t.Context(), r.deps, account.Config{Issuers: []account.Issuer{good, {Name: "https://id.example/", Audience: "chat", JWKS: "https://id.example/keys"}}}); err != nil {
		t.Error(err)
	}
}
