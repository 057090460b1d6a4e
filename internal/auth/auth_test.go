package auth_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

type at time.Time

func (a *at) Now() time.Time { return time.Time(*a) }

func TestBadTokensAreRefusedAlike(t *testing.T) {
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
		t.Fatalf("%+v, %v", got, err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))
	sign := func(method jwt.SigningMethod, key any, typ string, change func(jwt.MapClaims)) string {
		c := jwt.MapClaims{"iss": "rialto", "aud": "rialto", "sub": "5", "dev": "6", "sid": "7", "exp": time.Now().Add(time.Minute).Unix()}
		if change != nil {
			change(c)
		}
		j := jwt.NewWithClaims(method, c)
		j.Header["typ"] = typ
		j.Header["kid"] = "../../dev/null"
		j.Header["jwk"] = map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(other.Public().(ed25519.PublicKey))}
		s, err := j.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := tokens.Verify(sign(jwt.SigningMethodEdDSA, key, "at+jwt", nil)); err != nil {
		t.Fatalf("the control: %v", err)
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
		"negative user":        sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("sub", "-5")),
		"user over 63 bits":    sign(jwt.SigningMethodEdDSA, key, "at+jwt", set("sub", "18446744073709551615")),
		"cut":                  good[:len(good)-4],
	} {
		if got, err := tokens.Verify(token); errs.Of(err) == nil || errs.Of(err).Reason != "bad_token" || got != (id.Caller{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	now = at(time.Now().Add(auth.AccessLife + time.Second))
	if _, err := tokens.Verify(good); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("after its life: %v", err)
	}
}

func TestPasswords(t *testing.T) {
	ctx := context.Background()
	p := auth.NewPasswords(2)
	phc, err := p.Hash(ctx, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	check := func(phc, password string, wantOK, wantRehash bool) {
		t.Helper()
		ok, rehash, err := p.Check(ctx, phc, password)
		if err != nil || ok != wantOK || rehash != wantRehash {
			t.Errorf("%v %v %v", ok, rehash, err)
		}
	}
	check(phc, "correct horse", true, false)
	check(phc, "Correct horse", false, false)
	check("", "a password that nobody has", false, false)
	if _, _, err := p.Check(ctx, "$2a$10$abc", "x"); err == nil {
		t.Error("a hash of another kind was taken")
	}
	if first, second := auth.NewSecret("a"), auth.NewSecret("a"); first == second {
		t.Error("two secrets are the same")
	}
}
