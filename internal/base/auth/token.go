package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// AccessLife of an access token.
const AccessTokenLifetime = 15 * time.Minute

// maxToken bounds what is parsed, in bytes.
const maxToken = 8 << 10

// Issuer claim of access tokens.
const Issuer = "rialto"

const (
	audience = "rialto"
	typ      = "at+jwt"
)

// ErrToken is the error for every bad token.
var ErrToken = errs.New(errs.Unauthenticated, "bad_token", "the access token is not valid; log in again, or refresh it")

// Tokens signs and verifies access tokens: EdDSA only, by this deployment's key only.
type Tokens struct {
	key      ed25519.PrivateKey
	clock    clock.Clock
	verified verifiedTokens
}

// NewTokens uses a 32-byte seed.
func NewTokens(seed []byte, c clock.Clock) (*Tokens, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key has %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	return &Tokens{key: ed25519.NewKeyFromSeed(seed), clock: c}, nil
}

type claims struct {
	jwt.RegisteredClaims
	Device  string `json:"dev"`
	Session string `json:"sid"`
}

// Sign returns a token for a caller, and its expiry.
func (t *Tokens) Sign(c id.Caller) (token string, expires time.Time, err error) {
	now := t.clock.Now()
	expires = now.Add(AccessTokenLifetime)
	j := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{Issuer: Issuer, Audience: jwt.ClaimStrings{audience}, Subject: c.User.String(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires)},
		Device: c.Device.String(), Session: c.Session.String(),
	})
	j.Header["typ"] = typ
	token, err = j.SignedString(t.key)
	return token, expires, err
}

// Verify returns the caller of a token. It does not check that the session still exists; package account does.
func (t *Tokens) Verify(token string) (id.Caller, error) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return id.Caller{}, ErrToken
	}
	now, sum := t.clock.Now().Round(0), sha256.Sum256([]byte(token))
	if caller, ok := t.verified.get(sum, now); ok {
		return caller, nil
	}
	caller, expires, err := t.parse(token)
	if err == nil {
		t.verified.add(sum, verifiedToken{caller: caller, checked: now, expires: expires})
	}
	return caller, err
}

// parse checks a token's signature and claims.
func (t *Tokens) parse(token string) (caller id.Caller, expires time.Time, err error) {
	var c claims
	parsed, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return t.key.Public(), nil },
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithExpirationRequired(), jwt.WithAudience(audience), jwt.WithIssuer(Issuer),
		jwt.WithIssuedAt(), jwt.WithTimeFunc(t.clock.Now))
	if err != nil {
		return id.Caller{}, time.Time{}, errs.Wrap(errs.Unauthenticated, ErrToken.Reason, ErrToken.Message, err)
	}
	if parsed.Header["typ"] != typ {
		return id.Caller{}, time.Time{}, ErrToken
	}
	user, err1 := strconv.ParseUint(c.Subject, 10, 63)
	device, err2 := strconv.ParseUint(c.Device, 10, 63)
	session, err3 := strconv.ParseUint(c.Session, 10, 63)
	if errors.Join(err1, err2, err3) != nil {
		return id.Caller{}, time.Time{}, ErrToken
	}
	return id.Caller{User: id.User(user), Device: id.Device(device), Session: id.Session(session)}, c.ExpiresAt.Time, nil
}
