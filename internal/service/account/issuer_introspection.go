package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

const (
	activeTTL             = time.Minute      // how long a token may be accepted after its issuer revoked it
	inactiveTTL           = 10 * time.Second // how long the answer that a token is invalid is cached
	maxCachedAnswers      = 20_000
	maxConcurrentRequests = 16 // concurrent requests
)

// introspector verifies opaque tokens at an issuer's server, and caches its answers.
type introspector struct {
	issuer *issuer
	client *egress.Client
	clock  clock.Clock
	slots  chan struct{}

	mu      sync.Mutex // guards answers
	answers map[[32]byte]answer
}

type answer struct {
	identity externalIdentity
	active   bool
	expires  time.Time
}

func newIntrospector(i *issuer, c clock.Clock) (*introspector, error) {
	client, err := i.client(i.Introspection, outgoing.IssuerTokens)
	return &introspector{issuer: i, client: client, clock: c, slots: make(chan struct{}, maxConcurrentRequests), answers: map[[32]byte]answer{}}, err
}

// introspect returns a token's identity from the issuer. It never sends this server's own secrets.
func (s *introspector) introspect(ctx context.Context, token string) (externalIdentity, error) {
	for _, own := range []string{"rk_", operatorKeyPrefix, "rr_", "rt_"} {
		if strings.HasPrefix(token, own) {
			return externalIdentity{}, auth.ErrToken
		}
	}
	sum, now := sha256.Sum256([]byte(token)), s.clock.Now()
	s.mu.Lock()
	a, ok := s.answers[sum]
	s.mu.Unlock()
	if !ok || !now.Before(a.expires) {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return externalIdentity{}, ctx.Err()
		}
		var err error
		a, err = s.request(ctx, token, now)
		<-s.slots
		if err != nil {
			e := *errUnreachable
			e.Cause = err
			return externalIdentity{}, &e
		}
		s.store(sum, a, now)
	}
	if !a.active {
		return externalIdentity{}, auth.ErrToken
	}
	return a.identity, nil
}

func (s *introspector) store(sum [32]byte, a answer, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) >= maxCachedAnswers {
		for k, v := range s.answers {
			if !now.Before(v.expires) {
				delete(s.answers, k)
			}
		}
		if len(s.answers) >= maxCachedAnswers {
			clear(s.answers)
		}
	}
	s.answers[sum] = a
}

func (s *introspector) request(ctx context.Context, token string, now time.Time) (answer, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.issuer.Introspection, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.issuer.ClientID != "" {
		r.SetBasicAuth(url.QueryEscape(s.issuer.ClientID), url.QueryEscape(s.issuer.ClientSecret))
	}
	raw, err := fetchBody(s.client, r)
	if err != nil {
		return answer{}, err
	}
	claims := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return answer{}, err
	}
	refused := answer{expires: now.Add(inactiveTTL)}
	who, err := s.issuer.identity(claims)
	if active, ok := claims["active"].(bool); !ok || !active || err != nil || !audienceOf(claims["aud"], s.issuer.Audience) {
		return refused, nil
	}
	if iss, ok := claims["iss"]; ok && iss != s.issuer.Name {
		return refused, nil
	}
	until := now.Add(activeTTL)
	if _, ok := claims["exp"]; ok {
		if !now.Before(who.expires) {
			return refused, nil
		}
		if who.expires.Before(until) {
			until = who.expires
		}
	}
	return answer{identity: who, active: true, expires: until}, nil
}

// audienceOf reports whether aud, a text or a list, contains an audience. It is true if no audience is required.
func audienceOf(aud any, want string) bool {
	if list, ok := aud.([]any); ok {
		return want == "" || slices.Contains(list, any(want))
	}
	return want == "" || aud == want
}
