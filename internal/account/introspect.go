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

	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/clock"
)

const (
	answerLife  = time.Minute      // a token that its issuer revokes is good for so long at most
	refusalLife = 10 * time.Second // of an answer that a token is not good
	answersMax  = 20_000
	asksMax     = 16 // at once
)

// introspector asks an issuer's server about opaque tokens, and keeps its answers for a while.
type introspector struct {
	issuer *issuer
	client *http.Client
	clock  clock.Clock
	asks   chan struct{}

	mu      sync.Mutex // guards answers
	answers map[[32]byte]answer
}

type answer struct {
	who   stranger
	good  bool
	until time.Time
}

func newIntrospector(i *issuer, c clock.Clock) *introspector {
	return &introspector{issuer: i, client: newAsker(), clock: c, asks: make(chan struct{}, asksMax), answers: map[[32]byte]answer{}}
}

// ask gives whom a token speaks of. Our own secrets go to nobody.
func (s *introspector) ask(ctx context.Context, token string) (stranger, error) {
	for _, own := range []string{"rk_", "rr_", "rt_"} {
		if strings.HasPrefix(token, own) {
			return stranger{}, auth.ErrToken
		}
	}
	sum, now := sha256.Sum256([]byte(token)), s.clock.Now()
	s.mu.Lock()
	a, ok := s.answers[sum]
	s.mu.Unlock()
	if !ok || !now.Before(a.until) {
		select {
		case s.asks <- struct{}{}:
		case <-ctx.Done():
			return stranger{}, ctx.Err()
		}
		var err error
		a, err = s.request(ctx, token, now)
		<-s.asks
		if err != nil {
			e := *errUnreachable
			e.Cause = err
			return stranger{}, &e
		}
		s.keep(sum, a, now)
	}
	if !a.good {
		return stranger{}, auth.ErrToken
	}
	return a.who, nil
}

func (s *introspector) keep(sum [32]byte, a answer, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) >= answersMax {
		for k, v := range s.answers {
			if !now.Before(v.until) {
				delete(s.answers, k)
			}
		}
		if len(s.answers) >= answersMax {
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
	raw, err := ask(s.client, r)
	if err != nil {
		return answer{}, err
	}
	claims := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return answer{}, err
	}
	refused := answer{until: now.Add(refusalLife)}
	who, err := s.issuer.stranger(claims)
	if active, ok := claims["active"].(bool); !ok || !active || err != nil || !audienceOf(claims["aud"], s.issuer.Audience) {
		return refused, nil
	}
	if iss, ok := claims["iss"]; ok && iss != s.issuer.Name {
		return refused, nil
	}
	until := now.Add(answerLife)
	if _, ok := claims["exp"]; ok {
		if !now.Before(who.ends) {
			return refused, nil
		}
		if who.ends.Before(until) {
			until = who.ends
		}
	}
	return answer{who: who, good: true, until: until}, nil
}

// audienceOf tells whether aud, a text or a list, names an audience; any does where none is wanted.
func audienceOf(aud any, want string) bool {
	if list, ok := aud.([]any); ok {
		return want == "" || slices.Contains(list, any(want))
	}
	return want == "" || aud == want
}
