package account_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// eraseAll does all steps of an account's erasure.
func (r *fixture) eraseAll(u id.User) {
	r.t.Helper()
	ctx := context.Background()
	if err := r.BeginErasure(ctx, u); err != nil {
		r.t.Fatal(err)
	}
	for at, steps := "", 0; ; steps++ {
		if steps > 1000 {
			r.t.Fatal("the erasure does not end")
		}
		step, err := r.UserData().EraseUser(ctx, u, at)
		if err != nil {
			r.t.Fatal(err)
		}
		if at = step.Next; step.Done {
			break
		}
	}
	if err := r.EndErasure(ctx, u); err != nil {
		r.t.Fatal(err)
	}
}

// An account ends at the beginning of its erasure: no session, no login, no profile; and at its end it has no rows but its own.
func TestAnErasedAccount(t *testing.T) {
	r := open(t, account.Config{})
	ctx := t.Context()
	s, ann := r.register("anna")
	_, bob := r.register("bobo")
	for _, follow := range [][2]id.User{{ann.User, bob.User}, {bob.User, ann.User}} {
		if _, err := r.SetFollow(ctx, follow[0], follow[1], true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.RequestFriend(ctx, ann.User, bob.User, "a word to bob"); err != nil {
		t.Fatal(err)
	}
	r.endedSessions()
	if err := r.BeginErasure(ctx, ann.User); err != nil {
		t.Fatal(err)
	}
	if !r.Erasing()[ann.User] || len(r.Erasing()) != 1 {
		t.Errorf("those being erased are %v", r.Erasing())
	}
	if ended := r.endedSessions(); len(ended) != 1 || ended[0].Session != ann.Session {
		t.Errorf("the sessions that ended are %v", ended)
	}
	if _, err := r.Verify(ctx, s.AccessToken); err == nil {
		t.Error("the access token is still good")
	}
	if _, err := r.Refresh(ctx, &accountv1.RefreshRequest{RefreshToken: s.RefreshToken}); err == nil {
		t.Error("the refresh token is still good")
	}
	for _, handle := range []string{"anna", "~" + ann.User.String()} {
		if _, err := r.Login(ctx, &accountv1.LoginRequest{Handle: handle, Password: password}); errs.Of(err).Reason != "bad_login" {
			t.Errorf("a login as %s is answered with %v", handle, err)
		}
	}
	if _, err := r.CreateSession(ctx, &accountv1.CreateSessionRequest{User: uint64(ann.User)}); errs.Of(err).Reason != "no_user" {
		t.Errorf("a server's session is answered with %v", err)
	}
	if err := r.Exist(ctx, []id.User{ann.User}); errs.Of(err).Reason != "no_user" {
		t.Errorf("the user exists for others: %v", err)
	}
	if found, err := r.SearchUsers(ctx, bob, "anna"); err != nil || len(found) != 0 {
		t.Errorf("the user is found: %v, %v", found, err)
	}
	u, err := r.GetUser(ctx, ann.User)
	if err != nil || !u.Deleted || u.DisplayName != "Deleted account" {
		t.Errorf("the user is %v, %v", u, err)
	}

	r.eraseAll(ann.User)
	if len(r.Erasing()) != 0 {
		t.Errorf("after the end, those being erased are %v", r.Erasing())
	}
	for _, query := range []string{`SELECT count(*) FROM sessions WHERE owner = $1`, `SELECT count(*) FROM devices WHERE owner = $1`, `SELECT count(*) FROM relations WHERE owner = $1 OR other = $1`, `SELECT count(*) FROM follow_counts WHERE owner = $1`} {
		if n := r.count(query, int64(ann.User)); n != 0 {
			t.Errorf("%d rows are left of %s", n, query)
		}
	}
	if n := r.count(`SELECT followers + following FROM follow_counts WHERE owner = $1`, int64(bob.User)); n != 0 {
		t.Errorf("the other still has %d followers and followed", n)
	}
	if _, err := r.Register(ctx, &accountv1.RegisterRequest{Handle: "anna", Password: password}); err != nil {
		t.Errorf("the handle is not free: %v", err)
	}
}

// A token of the app from before the erasure does not bring the user back; a later one creates another user.
func TestTokensFromBeforeAnErasureAreRefused(t *testing.T) {
	r := openShared(t)
	sign := func(device string) string {
		return r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"device": device})
	}
	old, unused := sign("phone-1"), sign("phone-2")
	first := r.verify(old)
	r.clock.advance(time.Minute)
	r.eraseAll(first.User)
	for _, token := range []string{old, unused} {
		if c, err := r.Verify(t.Context(), token); err == nil {
			t.Errorf("a token from before the erasure yields %+v", c)
		}
	}
	r.clock.advance(time.Minute)
	if later := r.verify(sign("phone-1")); later.User == first.User {
		t.Errorf("a later token yields the erased user: %+v", later)
	}
}
