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

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

const (
	keysFresh   = 10 * time.Minute // then they are read again
	keysStale   = 24 * time.Hour   // then they are good no more, where the issuer cannot be reached
	keysBetween = 30 * time.Second // reads, so that made-up key ids cost the issuer nothing
	keysMax     = 100
	maxAnswer   = 1 << 20 // bytes of an issuer's answer
	askTime     = 5 * time.Second
)

// keySet is an issuer's public keys, from a file or a URL.
type keySet struct {
	from   string
	client *http.Client
	clock  clock.Clock

	reading chan struct{} // held by the one who reads

	mu          sync.Mutex // guards all below
	keys        map[keyName]crypto.PublicKey
	read, tried time.Time
}

// keyName: a key serves one algorithm only.
type keyName struct{ kid, alg string }

var (
	errNoKey       = errors.New("the issuer has no such key")
	errUnreachable = &errs.Error{Kind: errs.Unavailable, Reason: "issuer_unreachable", Message: "the token's issuer cannot be asked now; try again", Retry: 5 * time.Second}
)

func newKeySet(from string, c clock.Clock) (*keySet, error) {
	k := &keySet{from: from, client: newAsker(), clock: c, reading: make(chan struct{}, 1)}
	if strings.Contains(from, "://") {
		return k, checkURL(from) // the issuer may start after us
	}
	return k, k.refresh(context.Background())
}

// newAsker is a client that goes where it was sent and nowhere else.
func newAsker() *http.Client {
	return &http.Client{Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// find gives the key of a token. A token without a key id finds the only key of its algorithm.
func (k *keySet) find(ctx context.Context, kid, alg string) (crypto.PublicKey, error) {
	key, wants := k.look(kid, alg)
	if !wants {
		if key == nil {
			return nil, errNoKey
		}
		return key, nil
	}
	select {
	case k.reading <- struct{}{}:
	default:
		if key != nil {
			return key, nil // another reads, and this one is good still
		}
		select {
		case k.reading <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-k.reading }()
	if key, wants = k.look(kid, alg); wants { // another has not just read them
		err := k.refresh(ctx)
		if key, _ = k.look(kid, alg); key == nil && err != nil {
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

// look finds a key among those read, and says whether it is time to read them.
func (k *keySet) look(kid, alg string) (key crypto.PublicKey, wants bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock.Now()
	age := now.Sub(k.read)
	if age < keysStale {
		key = k.keys[keyName{kid, alg}]
		if kid == "" && key == nil {
			key = k.only(alg)
		}
	}
	return key, (key == nil || age >= keysFresh) && now.Sub(k.tried) >= keysBetween
}

// only gives the one key of an algorithm, or nil. The caller holds mu.
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
	k.tried = k.clock.Now()
	if err != nil {
		return fmt.Errorf("the keys of %s: %w", k.from, err)
	}
	k.keys, k.read = keys, k.tried
	return nil
}

func (k *keySet) fetch(ctx context.Context) ([]byte, error) {
	if !strings.Contains(k.from, "://") {
		f, err := os.Open(k.from)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxAnswer))
	}
	// Those who wait for the keys are many; the first one's leaving must not fail them.
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, k.from, nil)
	if err != nil {
		return nil, err
	}
	return ask(k.client, r)
}

// ask gives the body of an answer with status 200.
func ask(client *http.Client, r *http.Request) ([]byte, error) {
	r.Header.Set("Accept", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxAnswer))
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

// parseKeys reads a JWK set. Keys of kinds that are not used here are passed over, shared keys among them.
func parseKeys(raw []byte) (map[keyName]crypto.PublicKey, error) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > keysMax {
		return nil, fmt.Errorf("a set has at most %d keys", keysMax)
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

// public gives a key and the algorithm it serves; nil for one that is not used here, or is wrong.
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
		// A point that is not on the curve is refused here.
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

// number of base64url; zero for what is none.
func number(text string) *big.Int {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		b = nil
	}
	return new(big.Int).SetBytes(b)
}
