package account_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// TestConcurrentRefreshes return the same token, and none of them ends the session.
func TestConcurrentRefreshes(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("anna")
	token := s.RefreshToken
	for range 5 {
		var wait sync.WaitGroup
		results := make([]*accountv1.Session, 8)
		for n := range results {
			wait.Go(func() {
				var err error
				if results[n], err = refresh(r, token); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, next := range results {
			if next.GetRefreshToken() != results[0].GetRefreshToken() || next.GetRefreshToken() == token || callerOf(next) != c {
				t.Fatalf("concurrent refreshes returned %v and %v", results[0], next)
			}
		}
		token = results[0].RefreshToken
		r.clock.advance(time.Minute)
	}
	if ended := r.endedSessions(); len(ended) != 0 {
		t.Errorf("the ended sessions are %v", ended)
	}
	if n := r.count(`SELECT count(*) FROM sessions`); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
}

// TestRefreshGraceEnds: to the second, also if the new token was not used yet.
func TestRefreshGraceEnds(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("anna")
	next, err := refresh(r, s.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	r.clock.advance(10 * time.Second)
	if again, err := refresh(r, s.RefreshToken); err != nil || again.RefreshToken != next.RefreshToken {
		t.Errorf("a refresh within the grace period returned %v (%v)", again, err)
	}
	r.clock.advance(time.Millisecond)
	_, err = refresh(r, s.RefreshToken)
	wantError(t, "after the grace", err, errs.Unauthenticated, "bad_refresh_token")
	if ended := r.endedSessions(); len(ended) != 1 || ended[0] != (account.Ended{User: c.User, Session: c.Session, Reason: "refresh_reused"}) {
		t.Errorf("the ended sessions are %v", ended)
	}
	_, err = refresh(r, next.RefreshToken)
	wantError(t, "the child", err, errs.Unauthenticated, "bad_refresh_token")
	_, err = refresh(r, s.RefreshToken)
	wantError(t, "once more", err, errs.Unauthenticated, "bad_refresh_token")
	if ended := r.endedSessions(); len(ended) != 0 {
		t.Errorf("the session ended twice: %v", ended)
	}
}
