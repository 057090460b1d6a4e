package account

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

const (
	keySetTTL         = 10 * time.Minute // after it, the keys are fetched again
	keySetMaxStale    = 24 * time.Hour   // after it, keys are invalid if the issuer is unreachable
	keySetMinInterval = 30 * time.Second // between fetches, so that invented key ids do not load the issuer
	maxKeys           = 100
	maxAnswer         = 1 << 20 // bytes of an issuer's answer
	issuerTimeout     = 5 * time.Second
)

// keySet is an issuer's public keys, from a file or a URL.
type keySet struct {
	from   string
	client *egress.Client // nil for a file
	clock  clock.Clock

	reading chan struct{} // held by the goroutine that fetches

	mu                sync.Mutex // guards the fields below
	keys              map[keyName]crypto.PublicKey
	read, lastAttempt time.Time
}

// keyName: a key serves one algorithm only.
type keyName struct{ kid, alg string }

var (
	errNoKey       = errors.New("the issuer has no such key")
	errUnreachable = &errs.Error{Kind: errs.Unavailable, Reason: "issuer_unreachable", Message: "the token's issuer cannot be asked now; try again", Retry: 5 * time.Second}
)

func newKeySet(i *issuer, c clock.Clock) (k *keySet, err error) {
	k = &keySet{from: i.JWKS, clock: c, reading: make(chan struct{}, 1)}
	if strings.Contains(k.from, "://") {
		k.client, err = i.client(k.from, outgoing.IssuerKeys)
		return k, err // the issuer may start after this server
	}
	return k, k.refresh(context.Background())
}

// client returns the HTTP client for an issuer's URL.
func (i *issuer) client(url string, kind outgoing.Kind) (*egress.Client, error) {
	return egress.New(egress.Config{URL: url, AllowPrivate: i.AllowPrivate, Timeout: issuerTimeout, MaxAnswer: maxAnswer, Kind: kind, Calls: i.calls})
}

// find returns the key of a token. A token without a key id finds the only key of its algorithm.
func (k *keySet) find(ctx context.Context, kid, alg string) (crypto.PublicKey, error) {
	key, due := k.lookup(kid, alg)
	if !due {
		if key == nil {
			return nil, errNoKey
		}
		return key, nil
	}
	select {
	case k.reading <- struct{}{}:
	default:
		if key != nil {
			return key, nil // another goroutine fetches, and this key is still valid
		}
		select {
		case k.reading <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-k.reading }()
	if key, due = k.lookup(kid, alg); due { // no other goroutine has just fetched them
		err := k.refresh(ctx)
		if key, _ = k.lookup(kid, alg); key == nil && err != nil {
			e := *errUnreachable
			e.Cause = err
			return nil, &e
		}
	}
	if key == nil {
		return nil, errNoKey
	}
	return key, nil
}

// lookup finds a key in the cached key set. due reports whether the key set must be fetched.
func (k *keySet) lookup(kid, alg string) (key crypto.PublicKey, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	age := now.Sub(k.read)
	if age < keySetMaxStale {
		key = k.keys[keyName{kid, alg}]
		if kid == "" && key == nil {
			key = k.only(alg)
		}
	}
	return key, (key == nil || age >= keySetTTL) && now.Sub(k.lastAttempt) >= keySetMinInterval
}

// only returns the single key of an algorithm, or nil. The caller holds mu.
func (k *keySet) only(alg string) (key crypto.PublicKey) {
	for name, v := range k.keys {
		if name.alg != alg {
			continue
		}
		if key != nil {
			return nil
		}
		key = v
	}
	return key
}

func (k *keySet) refresh(ctx context.Context) error {
	raw, err := k.fetch(ctx)
	var keys map[keyName]crypto.PublicKey
	if err == nil {
		keys, err = parseKeys(raw)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastAttempt = k.clock.Now()
	if err != nil {
		return fmt.Errorf("the keys of %s: %w", k.from, err)
	}
	k.keys, k.read = keys, k.lastAttempt
	return nil
}

func (k *keySet) fetch(ctx context.Context) ([]byte, error) {
	if k.client == nil {
		f, err := os.Open(k.from)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxAnswer))
	}
	// Many callers may wait for the keys. The end of the first one's context must not fail the others.
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, k.from, nil)
	if err != nil {
		return nil, err
	}
	return fetchBody(k.client, r)
}

// fetchBody sends a request and returns the body of a response with status 200.
func fetchBody(client *egress.Client, r *http.Request) ([]byte, error) {
	r.Header.Set("Accept", "application/json")
	a, err := client.Do(r, nil)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, fmt.Errorf("status %d", a.Status)
	}
	return a.Body, nil
}

type jwk struct {
	Kty string `json:"kty"`
	Use string `json:"use"`
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	N   string `json:"n"`
	E   string `json:"e"`
}

// parseKeys reads a JWK set. It skips keys of unsupported kinds, such as shared keys.
func parseKeys(raw []byte) (map[keyName]crypto.PublicKey, error) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("a set has at most %d keys", maxKeys)
	}
	keys := map[keyName]crypto.PublicKey{}
	for _, j := range set.Keys {
		if j.Use != "" && j.Use != "sig" {
			continue
		}
		alg, key := j.public()
		if key != nil && (j.Alg == "" || j.Alg == alg) {
			keys[keyName{j.Kid, alg}] = key
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no key for RS256 (2,048 to 8,192 bits), ES256 or EdDSA (Ed25519)")
	}
	return keys, nil
}

// public returns a key and its algorithm, or nil if the key is unsupported or invalid.
func (j jwk) public() (alg string, key crypto.PublicKey) {
	switch {
	case j.Kty == "RSA":
		n, e := number(j.N), number(j.E)
		if bits := n.BitLen(); bits >= 2048 && bits <= 8192 && e.BitLen() >= 2 && e.BitLen() <= 31 && e.Bit(0) == 1 {
			return "RS256", &rsa.PublicKey{N: n, E: int(e.Int64())}
		}
	case j.Kty == "EC" && j.Crv == "P-256":
		x, y := number(j.X), number(j.Y)
		if x.BitLen() > 256 || y.BitLen() > 256 {
			return "", nil
		}
		point := make([]byte, 65)
		point[0] = 4
		x.FillBytes(point[1:33])
		y.FillBytes(point[33:])
		// This rejects a point that is not on the curve.
		if k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err == nil {
			return "ES256", k
		}
	case j.Kty == "OKP" && j.Crv == "Ed25519":
		if b, err := base64.RawURLEncoding.DecodeString(j.X); err == nil && len(b) == ed25519.PublicKeySize {
			return "EdDSA", ed25519.PublicKey(b)
		}
	}
	return "", nil
}

// number decodes base64url; the result is zero if it is invalid.
func number(text string) *big.Int {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		b = nil
	}
	return new(big.Int).SetBytes(b)
}
