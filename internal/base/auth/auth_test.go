package auth_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

type at time.Time

func (a *at) Now() time.Time { return time.Time(*a) }

func TestBadTokensGetTheSameError(t *testing.T) {
	now := at(time.Now())
	seed := make([]byte, 32)
	tokens, err := auth.NewTokens(seed, &now)
	if err != nil {
		t.Fatal(err)
	}
	caller := id.Caller{User: 5, Device: 6, Session: 7}
	good, _, err := tokens.Sign(caller)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tokens.Verify(good); err != nil || got != caller {
		t.Fatalf("a good token gives %+v, %v, want its caller", got, err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))
	// A key that a token names is never fetched.
	var fetched atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer trap.Close()
	sign := func(method jwt.SigningMethod, key any, typ string, change func(jwt.MapClaims)) string {
		c := jwt.MapClaims{"iss": "rialto", "aud": "rialto", "sub": "5", "dev": "6", "sid": "7", "exp": time.Now().Add(time.Minute).Unix()}
		if change != nil {
			change(c)
		}
		j := jwt.NewWithClaims(method, c)
		j.Header["typ"] = typ
		j.Header["kid"] = "../../dev/null"
		j.Header["jwk"] = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(other.Public().(ed25519.PublicKey))}
		j.Header["jku"], j.Header["x5u"] = trap.URL, trap.URL
		s, err := j.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// raw signs any header and claims with the right key.
	raw := func(header, claims string) string {
		e := base64.RawURLEncoding
		text := e.EncodeToString([]byte(header)) + "." + e.EncodeToString([]byte(claims))
		return text + "." + e.EncodeToString(ed25519.Sign(key, []byte(text)))
	}
	const header = `{"alg":"EdDSA","typ":"at+jwt"}`
	claims := func(sub, exp string) string {
		return `{"iss":"rialto","aud":"rialto","sub":` + sub + `,"dev":"6","sid":"7","exp":` + exp + `}`
	}
	if got, err := tokens.Verify(raw(header, claims(`"5"`, "99999999999"))); err != nil || got != caller {
		t.Fatalf("the second control: %+v, %v", got, err)
	}
	if _, err := tokens.Verify(sign(jwt.SigningMethodEdDSA, key, "at+jwt", nil)); err != nil {
		t.Fatalf("a token that is valid was refused: %v", err)
	}
	set := func(k string, v any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[k] = v } }
	for name, token := range map[string]string{
		"empty": "", "dots": strings.Repeat(".", 1<<20), "two parts": "a.b", "not base64": "!.!.!",
		"none":                 sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "at+jwt", nil),
		"HMAC with public key": sign(jwt.SigningMethodHS256, []byte(key.Public().(ed25519.PublicKey)), "at+jwt", nil),
		"another key":          sign(jwt.SigningMethodEdDSA, other, "at+jwt", nil),
		"another type":         sign(jwt.SigningMethodEdDSA, key, "JWT", nil),
		"expired":              sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("exp", time.Now().Add(-time.Minute).Unix())),
		"no expiry":            sign(jwt.SigningMethodEdDSA, key, "at+jwt", func(c jwt.MapClaims) { delete(c, "exp") }),
		"not yet":              sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("nbf", time.Now().Add(time.Hour).Unix())),
		"other audience":       sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("aud", "other")),
		"other issuer":         sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("iss", "other")),
		"from the future":      sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("iat", time.Now().Add(time.Hour).Unix())),
		"no user":              sign(jwt.SigningMethodEdDSA, key, "at+jwt", func(c jwt.MapClaims) { delete(c, "sub") }),
		"no session":           sign(jwt.SigningMethodEdDSA, key, "at+jwt", func(c jwt.MapClaims) { delete(c, "sid") }),
		"no audience":          sign(jwt.SigningMethodEdDSA, key, "at+jwt", func(c jwt.MapClaims) { delete(c, "aud") }),
		"no type":              raw(`{"alg":"EdDSA"}`, claims(`"5"`, "99999999999")),
		"a type in a list":     raw(`{"alg":"EdDSA","typ":["at+jwt"]}`, claims(`"5"`, "99999999999")),
		"none in the header":   raw(`{"alg":"none","typ":"at+jwt"}`, claims(`"5"`, "99999999999")),
		"nOnE in the header":   raw(`{"alg":"nOnE","typ":"at+jwt"}`, claims(`"5"`, "99999999999")),
		"another in it":        raw(`{"alg":"ES256","typ":"at+jwt"}`, claims(`"5"`, "99999999999")),
		"no algorithm":         raw(`{"typ":"at+jwt"}`, claims(`"5"`, "99999999999")),
		"a number as user":     raw(header, claims(`5`, "99999999999")),
		"a huge expiry":        raw(header, claims(`"5"`, "1e999")),
		"a negative expiry":    raw(header, claims(`"5"`, "-1")),
		"no JSON":              raw(header, `{"sub":`),
		"null":                 raw(header, `null`),
		"deep":                 raw(header, strings.Repeat("[", 5000)),
		"a blank after":        good + " ",
		"a line before":        "\n" + good,
		"padding":              good + "==",
		"no signature":         good[:strings.LastIndexByte(good, '.')+1],
		"four parts":           good + ".x",
		"more than 8 KiB":      raw(header, `{"pad":"`+strings.Repeat("x", 8<<10)+`",`+claims(`"5"`, "99999999999")[1:]),
		"negative user":        sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("sub", "-5")),
		"user over 63 bits":    sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("sub", "18446744073709551615")),
		"cut":                  good[:len(good)-4],
	} {
		if got, err := tokens.Verify(token); errs.Of(err) == nil || errs.Of(err).Reason != "bad_token" || got != (id.Caller{}) {
			t.Errorf("the token %q gives %+v, %v, want bad_token and no caller", name, got, err)
		}
	}
	if fetched.Load() != 0 {
		t.Errorf("%d keys were fetched from a URL in a token, want none", fetched.Load())
	}
	now = at(time.Now().Add(auth.AccessTokenLifetime + time.Second))
	if _, err := tokens.Verify(good); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("after its life: %v", err)
	}
}

func TestPasswords(t *testing.T) {
	ctx := context.Background()
	p := auth.NewPasswords(2, auth.DefaultCost())
	phc, err := p.Hash(ctx, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	check := func(phc, password string, wantOK, wantRehash bool) {
		t.Helper()
		ok, rehash, err := p.Check(ctx, phc, password)
		if err != nil || ok != wantOK || rehash != wantRehash {
			t.Errorf("the check of a password returned %v, rehash %v, error %v, want the given values and no error", ok, rehash, err)
		}
	}
	check(phc, "correct horse", true, false)
	check(phc, "Correct horse", false, false)
	check(phc, "correct horse ", false, false)
	check(phc, "correct horse\x00", false, false)
	check(phc, "", false, false)
	accents, err := p.Hash(ctx, "une clé à molette")
	if err != nil {
		t.Fatal(err)
	}
	check(accents, norm.NFD.String("une clé à molette"), true, false)
	check(accents, "une cle a molette", false, false)
	// Parameters of before: right, and to be hashed anew.
	salt := []byte("sixteen bytes...")
	old := fmt.Sprintf("$argon2id$v=19$m=8192,t=1,p=1$%s$%s", base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte("of before"), salt, 1, 8192, 1, 32)))
	check(old, "of before", true, true)
	check(old, "of now", false, true)
	check("", "a password that nobody has", false, false)
	for _, bad := range []string{"$2a$10$abc", "plain", "$argon2i$v=19$m=8,t=1,p=1$YQ$YQ", "$argon2id$v=19$m=8,t=1$YQ$YQ", "$argon2id$v=19$m=8,t=1,p=1$?$YQ"} {
		if ok, _, err := p.Check(ctx, bad, "x"); ok || err == nil {
			t.Errorf("the invalid hash %s was accepted", bad)
		}
	}
	if first, second := auth.NewSecret("a"), auth.NewSecret("a"); first == second {
		t.Error("two secrets are the same")
	}
}

// The password of an unknown user is hashed with the same parameters, so that the time does not reveal whether the user exists. The test counts
// the 7 MiB of memory that a hash needs.
func TestPasswordsOfUnknownUsersAreHashed(t *testing.T) {
	p := auth.NewPasswords(1, auth.DefaultCost())
	phc, err := p.Hash(t.Context(), "a good password")
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range []string{phc, ""} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if ok, _, err := p.Check(t.Context(), stored, "a wrong password"); ok || err != nil {
			t.Errorf("the check of a wrong password returned %v, %v, want false and no error", ok, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used < 7<<20 || used > 14<<20 {
			t.Errorf("check against %q: allocated %d bytes, want 7 to 14 MiB", stored, used)
		}
	}
}

// TestHashesLeaveBusyProcessorsToOthers: while the processors are busy, a slot rests after a hash.
func TestHashesLeaveBusyProcessorsToOthers(t *testing.T) {
	p := auth.NewPasswords(1, auth.DefaultCost())
	for _, busy := range []bool{true, false} {
		end := func() {}
		p.SetBusy(func() bool { return busy }, func(rest time.Duration, then func()) *time.Timer {
			if rest <= 0 || rest > 100*time.Millisecond {
				t.Errorf("the slot rests for %v", rest)
			}
			end = then
			return nil
		})
		if _, err := p.Hash(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if n := p.Occupied(); (n == 1) != busy {
			t.Errorf("busy %v: %d slots are occupied after the hash", busy, n)
		}
		end()
		if n := p.Occupied(); n != 0 {
			t.Errorf("busy %v: %d slots are occupied after the rest", busy, n)
		}
	}
}

// TestTheQueueOfHashesIsBounded: concurrent logins wait, and those beyond the bound are refused with a retry delay.
func TestTheQueueOfHashesIsBounded(t *testing.T) {
	p := auth.NewPasswords(1, auth.DefaultCost())
	release := p.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 100)
	for range 63 { // 64 with the one that holds the slot
		go func() {
			_, err := p.Hash(ctx, "x")
			ended <- err
		}()
	}
	eventually.True(t, "64 wait", func() bool { return p.Waiting() >= 64 })
	for range 3 {
		if _, err := p.Hash(ctx, "x"); !errors.Is(err, auth.ErrBusy) {
			t.Errorf("beyond the bound: %v", err)
		}
		if _, _, err := p.Check(ctx, "", "x"); !errors.Is(err, auth.ErrBusy) {
			t.Errorf("beyond the bound: %v", err)
		}
	}
	cancel()
	for range 63 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled login: %v", err)
		}
	}
	release()
	if p.Waiting() != 0 {
		t.Errorf("waiting hashes: got %d, want 0", p.Waiting())
	}
	if _, err := p.Hash(t.Context(), "x"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// FuzzVerify: no token that we did not sign is good, and none is more than refused.
func FuzzVerify(f *testing.F) {
	now := at(time.Unix(1_800_000_000, 0))
	tokens, err := auth.NewTokens(make([]byte, 32), &now)
	if err != nil {
		f.Fatal(err)
	}
	good, _, err := tokens.Sign(id.Caller{User: 5, Device: 6, Session: 7})
	if err != nil {
		f.Fatal(err)
	}
	for _, token := range []string{"", "..", "a.b.c", good, good + "x", strings.ToUpper(good), "eyJhbGciOiJub25lIn0.e30."} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, err := tokens.Verify(token)
		// The last character of base64 has bits that mean nothing.
		if err == nil && !strings.HasPrefix(token, good[:len(good)-1]) || err != nil && c != (id.Caller{}) {
			t.Errorf("%q was verified as %+v, %v; want the caller of the good token, or no caller with an error", token, c, err)
		}
		if err != nil && (errs.Of(err).Reason != "bad_token" || errs.Of(err).Message != auth.ErrToken.Message) {
			t.Errorf("%q: error %v, want %v", token, err, auth.ErrToken)
		}
	})
}
