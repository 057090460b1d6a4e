package account_test

import (
	"sync"
	"testing"
	"time"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
)

// TestTabsThatRefreshAtOnce get the same, and none of them ends the session.
func TestTabsThatRefreshAtOnce(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("anna")
	token := s.RefreshToken
	for range 5 {
		var wait sync.WaitGroup
		children := make([]*accountv1.Session, 8)
		for n := range children {
			wait.Go(func() {
				var err error
				if children[n], err = refresh(r, token); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, child := range children {
			if child.GetRefreshToken() != children[0].GetRefreshToken() || child.GetRefreshToken() == token || callerOf(child) != c {
				t.Fatalf("%v and %v", children[0], child)
			}
		}
		token = children[0].RefreshToken
		r.clock.move(time.Minute)
	}
	if told := r.told(); len(told) != 0 {
		t.Errorf("told %v", told)
	}
	if n := r.count(`SELECT count(*) FROM sessions`); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestTheGraceOfARefreshEnds: to the second, also where the child was not used yet.
func TestTheGraceOfARefreshEnds(t *testing.T) {
	r := open(t, account.Config{})
	s, c := r.register("anna")
	child, err := refresh(r, s.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	r.clock.move(10 * time.Second)
	if again, err := refresh(r, s.RefreshToken); err != nil || again.RefreshToken != child.RefreshToken {
		t.Errorf("in the grace: %v, %v", again, err)
	}
	r.clock.move(time.Millisecond)
	_, err = refresh(r, s.RefreshToken)
	wants(t, "after the grace", err, errs.Unauthenticated, "bad_refresh_token")
	if told := r.told(); len(told) != 1 || told[0] != (account.Ended{User: c.User, Session: c.Session, Reason: "refresh_reused"}) {
		t.Errorf("told %v", told)
	}
	_, err = refresh(r, child.RefreshToken)
	wants(t, "the child", err, errs.Unauthenticated, "bad_refresh_token")
	_, err = refresh(r, s.RefreshToken)
	wants(t, "once more", err, errs.Unauthenticated, "bad_refresh_token")
	if told := r.told(); len(told) != 0 {
		t.Errorf("told again: %v", told)
	}
}
