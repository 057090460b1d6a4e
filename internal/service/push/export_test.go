package push

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/id"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// Interrupt has a function called between two steps.
func Interrupt(s *Service, f func(point string) error) { s.interrupt = f }

// Attempt stores an attempt.
func Attempt(t testing.TB, s *Service, of int64, owner id.User, seq uint64) {
	t.Helper()
	err := s.deps.DB.Write(context.Background(), func(tx *sql.Tx) error {
		return s.storeAttempt(context.Background(), tx, &subscription{id: of, owner: owner, provider: webPush}, delivery{of, 7}, seq, &result{kind: sent, status: 201})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Begin is begin.
func (s *Service) Begin(u id.User) bool { return s.begin(u) }

// End is end.
func (s *Service) End(u id.User, took time.Duration) { s.end(u, took) }

// SlowFrom makes deliveries count as slow that take so long.
func (s *Service) SlowFrom(d time.Duration) { s.slowAfter = d }

// Share takes all workers that a host may have now, and returns how many they are.
func (s *Service) Share(host string) (n int) {
	for s.hosts.TryAcquire(host) {
		n++
	}
	return n
}

// Sending is how many users have deliveries, or were slow.
func (s *Service) Sending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sending)
}

// AccessToken is accessToken.
type AccessToken struct{ of accessToken }

// NewAccessToken makes one with a request.
func NewAccessToken(c clock.Clock, request func(context.Context) (string, time.Duration, error)) *AccessToken {
	return &AccessToken{accessToken{clock: c, request: request}}
}

// Get is get.
func (a *AccessToken) Get(ctx context.Context) (string, error) { return a.of.get(ctx) }

// AnswerOf returns what a provider's answer means, and for how long the next attempt waits.
func AnswerOf(c clock.Clock, provider string, answer *egress.Answer, token string) (kind pushv1.PushResult, wait time.Duration, detail string) {
	r := map[string]func() result{
		"fcm": func() result { return (&fcmProvider{clock: c, access: accessToken{clock: c}}).resultOf(answer, token) },
		"huawei": func() result {
			return (&huaweiProvider{clock: c, access: accessToken{clock: c}}).resultOf(answer, token)
		},
		"xiaomi": func() result { return (&xiaomiProvider{clock: c}).resultOf(answer) },
		"getui": func() result {
			return (&getuiProvider{clock: c, access: accessToken{clock: c}}).resultOf(answer, token)
		},
		"apns": func() result { return (&apnsProvider{clock: c}).resultOf(answer, token) },
	}[provider]()
	return r.kind, r.wait, shorten(r.detail)
}

// TokensOf returns for how long the tokens of an answer to a request for one are valid, by either form; -1 if there is none.
func TokensOf(now time.Time, answer *egress.Answer) (oauth, getui time.Duration) {
	oauth, getui = -1, -1
	if token, valid, err := readOAuthToken(answer); err == nil && token != "" {
		oauth = valid
	}
	if token, valid, err := readGetuiToken(answer, now.UnixMilli()); err == nil && token != "" {
		getui = valid
	}
	return oauth, getui
}
