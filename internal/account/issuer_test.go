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
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const shared = "a shared key of more than 32 bytes, for tests"

// foreign makes a token of an app.
func (r *room) foreign(method jwt.SigningMethod, key any, kid string, change map[string]any) string {
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

func (r *room) verify(token string) id.Caller {
	r.t.Helper()
	c, err := r.Verify(r.t.Context(), token)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func openShared(t testing.TB) *room {
	return open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", Secret: shared}}})
}

func TestUsersOfAnAppAreMadeAtFirstSight(t *testing.T) {
	r := openShared(t)
	sign := func(change map[string]any) string {
		return r.foreign(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	first := r.verify(sign(nil))
	if first.User == 0 || first.Device == 0 || first.Session == 0 || first.Server {
		t.Fatalf("%+v", first)
	}
	u, err := r.GetUser(t.Context(), first.User)
	if err != nil || u.DisplayName != "王小明" {
		t.Errorf("%v, %v", u, err)
	}
	// A later token of the same device is the same caller; another device is another session of the same user.
	r.clock.move(time.Minute)
	if again := r.verify(sign(nil)); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	other := r.verify(sign(map[string]any{"device": "tablet"}))
	if other.User != first.User || other.Device == first.Device || other.Session == first.Session {
		t.Errorf("%+v and %+v", first, other)
	}
	// Without a device's name there is none whose messages could be counted.
	if c := r.verify(sign(map[string]any{"device": nil})); c.User != first.User || c.Device != 0 || c.Session == 0 {
		t.Errorf("%+v", c)
	}
	if c := r.verify(sign(map[string]any{"sub": "u-2", "name": "\u202e"})); c.User == first.User {
		t.Errorf("two subjects are one user: %+v", c)
	}
	// The business server knows the user by the same external id.
	p, err := r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: "shop:u-1", DisplayName: "Wang"})
	if err != nil || id.User(p.Id) != first.User || p.DisplayName != "Wang" || p.Handle != u.Handle {
		t.Errorf("%v, %v", p, err)
	}
	// Our own tokens are good beside them.
	s, c := r.register("anna")
	if got := r.verify(s.AccessToken); got != c {
		t.Errorf("%+v, not %+v", got, c)
	}
}

func TestFirstTokensThatMeetMakeOneUserAndOneSession(t *testing.T) {
	r := openShared(t)
	var tokens []string
	for n := range 24 {
		tokens = append(tokens, r.foreign(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"device": fmt.Sprint("d", n%3)}))
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
			t.Errorf("caller %d is %+v; others of its device are %+v", n, c, callers[n%3])
		}
	}
	if n := r.count(`SELECT count(*) FROM users`); n != 1 {
		t.Errorf("%d users", n)
	}
	if n := r.count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 3 {
		t.Errorf("%d sessions", n)
	}
}

func TestSessionsOfForeignTokensEnd(t *testing.T) {
	r := openShared(t)
	sign := func(change map[string]any) string {
		return r.foreign(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	old := sign(nil)
	c := r.verify(old)
	r.clock.move(time.Second)
	if err := r.Logout(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	if told := r.told(); len(told) != 1 || told[0] != (account.Ended{User: c.User, Session: c.Session, Reason: "logged_out"}) {
		t.Errorf("told %v", told)
	}
	_, err := r.Verify(t.Context(), old)
	wants(t, "a token from before the end", err, errs.Unauthenticated, "bad_token")
	_, err = r.Verify(t.Context(), sign(map[string]any{"iat": nil}))
	wants(t, "a token that does not say since when", err, errs.Unauthenticated, "bad_token")
	r.clock.move(2 * time.Second)
	again := r.verify(sign(nil))
	if again.User != c.User || again.Device != c.Device || again.Session == c.Session {
		t.Errorf("%+v, then %+v", c, again)
	}
	if _, err := r.Verify(t.Context(), old); err != nil {
		t.Errorf("the device is back, by the issuer's word: %v", err)
	}
}

func TestBadForeignTokens(t *testing.T) {
	r := openShared(t)
	now := r.clock.Now()
	hs := func(change map[string]any) string {
		return r.foreign(jwt.SigningMethodHS256, []byte(shared), "", change)
	}
	good := hs(nil)
	for what, token := range map[string]string{
		"none":              r.foreign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", nil),
		"another algorithm": r.foreign(jwt.SigningMethodHS512, []byte(shared), "", nil),
		"another key":       r.foreign(jwt.SigningMethodHS256, []byte(strings.Repeat("x", 40)), "", nil),
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
		wants(t, what, err, errs.Unauthenticated, "bad_token")
	}
	if n := r.count(`SELECT count(*) FROM users`); n != 0 {
		t.Errorf("bad tokens made %d users", n)
	}
	if c := r.verify(hs(map[string]any{"sub": 12345678901})); c.User == 0 {
		t.Error("a whole number is a user's id")
	}
	if n := r.count(`SELECT count(*) FROM users WHERE external_id = 'shop:12345678901'`); n != 1 {
		t.Error("the number is not as it was written")
	}
}

// keys of an issuer, which its server gives.
type keys struct {
	rsa  *rsa.PrivateKey
	ec   *ecdsa.PrivateKey
	ed   ed25519.PrivateKey
	body atomic.Value // string
	asks atomic.Int64
	down atomic.Bool
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	var k keys
	var err1, err2, err3 error
	k.rsa, err1 = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, err2 = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, err3 = ed25519.GenerateKey(rand.Reader)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
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
	k.asks.Add(1)
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

func TestTokensOfPublicKeys(t *testing.T) {
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
			first := r.verify(r.foreign(jwt.SigningMethodRS256, k.rsa, "r", nil))
			for what, token := range map[string]string{
				"ES256":            r.foreign(jwt.SigningMethodES256, k.ec, "e", nil),
				"EdDSA":            r.foreign(jwt.SigningMethodEdDSA, k.ed, "d", nil),
				"RS256 without id": r.foreign(jwt.SigningMethodRS256, k.rsa, "", nil),
			} {
				if c := r.verify(token); c != first {
					t.Errorf("%s: %+v, not %+v", what, c, first)
				}
			}
			der, err := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			for what, token := range map[string]string{
				"HMAC with the public key":    r.foreign(jwt.SigningMethodHS256, der, "r", nil),
				"HMAC with the key in PEM":    r.foreign(jwt.SigningMethodHS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "r", nil),
				"HMAC with the Ed25519 key":   r.foreign(jwt.SigningMethodHS256, []byte(k.ed.Public().(ed25519.PublicKey)), "d", nil),
				"none":                        r.foreign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "r", nil),
				"PS256":                       r.foreign(jwt.SigningMethodPS256, k.rsa, "r", nil),
				"another's key under this id": r.foreign(jwt.SigningMethodES256, newKeys(t).ec, "e", nil),
				"another algorithm's id":      r.foreign(jwt.SigningMethodES256, k.ec, "r", nil),
				"unknown id":                  r.foreign(jwt.SigningMethodES256, k.ec, "x", nil),
			} {
				_, err := r.Verify(t.Context(), token)
				wants(t, what, err, errs.Unauthenticated, "bad_token")
			}
		})
	}
}

func TestAnIssuersKeysAreReadAgain(t *testing.T) {
	k := newKeys(t)
	server := httptest.NewServer(k)
	defer server.Close()
	r := open(t, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", JWKS: server.URL}}})
	k.down.Store(true)
	token := func(kid string) string { return r.foreign(jwt.SigningMethodES256, k.ec, kid, nil) }
	_, err := r.Verify(t.Context(), token("e"))
	wants(t, "keys that cannot be had", err, errs.Unavailable, "issuer_unreachable")
	k.down.Store(false)
	r.clock.move(time.Minute)
	r.verify(token("e"))
	// Made-up ids do not send us to the issuer each time.
	asked := k.asks.Load()
	for n := range 20 {
		_, err := r.Verify(t.Context(), token(fmt.Sprint("made up ", n)))
		wants(t, "a made-up id", err, errs.Unauthenticated, "bad_token")
	}
	if n := k.asks.Load() - asked; n > 1 {
		t.Errorf("20 made-up ids asked the issuer %d times", n)
	}
	// A new key is found soon, one that was withdrawn is refused soon.
	k.publish(jwkOf(&k.ec.PublicKey, "new"))
	r.clock.move(time.Minute)
	r.verify(token("new"))
	_, err = r.Verify(t.Context(), token("e"))
	wants(t, "a withdrawn key", err, errs.Unauthenticated, "bad_token")
	// An issuer that is down for an hour changes nothing for keys that are known, one that is down for two days does.
	k.down.Store(true)
	r.clock.move(time.Hour)
	r.verify(token("new"))
	r.clock.move(48 * time.Hour)
	_, err = r.Verify(t.Context(), token("new"))
	wants(t, "keys of two days ago", err, errs.Unavailable, "issuer_unreachable")
}

func TestOpaqueTokensAreAskedAbout(t *testing.T) {
	var asks atomic.Int64
	var revoked, down atomic.Bool
	var r *room
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asks.Add(1)
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
	if again := r.verify("opaque-good"); again != first || asks.Load() != 1 {
		t.Errorf("%+v, then %+v after %d questions", first, again, asks.Load())
	}
	for _, token := range []string{"opaque-mail", "opaque-expired", "opaque-nobody", "opaque-truthy", "opaque-unknown"} {
		_, err := r.Verify(t.Context(), token)
		wants(t, token, err, errs.Unauthenticated, "bad_token")
	}
	_, err := r.Verify(t.Context(), "opaque-html")
	wants(t, "an answer that is none", err, errs.Unavailable, "issuer_unreachable")
	asked := asks.Load()
	for _, own := range []string{"rk_x", "rr_x", "rt_x", r.foreign(jwt.SigningMethodHS256, []byte(shared), "", nil)} {
		_, err := r.Verify(t.Context(), own)
		wants(t, own, err, errs.Unauthenticated, "bad_token")
	}
	if asks.Load() != asked {
		t.Error("our own secrets, or another issuer's token, left the house")
	}
	// What is revoked there is refused here within a minute; an issuer that is down is not the caller's fault.
	revoked.Store(true)
	r.verify("opaque-good")
	r.clock.move(61 * time.Second)
	_, err = r.Verify(t.Context(), "opaque-good")
	wants(t, "a revoked token", err, errs.Unauthenticated, "bad_token")
	down.Store(true)
	r.clock.move(61 * time.Second)
	_, err = r.Verify(t.Context(), "opaque-good")
	wants(t, "an issuer that is down", err, errs.Unavailable, "issuer_unreachable")
}

func TestIssuersThatCannotBe(t *testing.T) {
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
			t.Errorf("%s: accepted", what)
		}
	}
	if _, err := account.New(t.Context(), r.deps, account.Config{Issuers: []account.Issuer{good, {Name: "https://id.example/", Audience: "chat", JWKS: "https://id.example/keys"}}}); err != nil {
		t.Error(err)
	}
}
