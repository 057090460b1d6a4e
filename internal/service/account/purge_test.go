package account_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

func (r *fixture) purge() {
	r.t.Helper()
	if err := r.Purge(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

const day = 24 * time.Hour

// TestEndedSessionsArePurged: a purge deletes sessions that ended 90 days ago, and devices without sessions. It keeps open sessions and
// those of an external token, which would otherwise start again with the same token.
func TestEndedSessionsArePurged(t *testing.T) {
	r := openShared(t)
	_, active := r.register("anna")
	gone := callerOf(r.login("anna", nil))
	again := r.login("anna", nil)
	back := r.login("anna", &accountv1.Client{Device: again.Device}) // it replaces the previous session of the device
	foreign := r.externalToken(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"exp": r.clock.Now().Add(1000 * day).Unix()})
	external := r.verify(foreign)
	r.clock.advance(time.Second)
	if err := r.Logout(t.Context(), gone, false); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(t.Context(), external, false); err != nil {
		t.Fatal(err)
	}
	const more = 1234 // in several batches
	if err := r.db.Write(t.Context(), func(tx *sql.Tx) error {
		for n := range more {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO sessions (id, owner, device, name, type, refresh, rotated_ms, created_ms, used_ms, ended_ms) VALUES ($1, $2, $1, '', '', $3, 1, 1, 1, 2)`,
				n+1, int64(gone.User), fmt.Append(nil, n)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, sessions, devices int) {
		t.Helper()
		r.purge()
		if n, d := r.count(`SELECT count(*) FROM sessions`), r.count(`SELECT count(*) FROM devices`); n != sessions || d != devices {
			t.Errorf("%s: %d sessions and %d devices, want %d and %d", when, n, d, sessions, devices)
		}
	}
	check("at once", 5, 4)
	r.clock.advance(90*day - 2*time.Second)
	check("before 90 days", 5, 4)
	r.clock.advance(3 * time.Second)
	check("after 90 days", 3, 3)
	for _, s := range []int64{int64(active.Session), int64(back.Session), int64(external.Session)} {
		if r.count(`SELECT count(*) FROM sessions WHERE id = $1`, s) != 1 {
			t.Errorf("session %d was purged", s)
		}
	}
	_, err := r.Verify(t.Context(), foreign)
	wantError(t, "a foreign token that was logged out", err, errs.Unauthenticated, "bad_token")
}

// TestUsedRefreshTokensArePurged: after 30 days, not before, and without valid tokens.
func TestUsedRefreshTokensArePurged(t *testing.T) {
	r := open(t, account.Config{})
	first, _ := r.register("anna")
	other, _ := r.register("bert")
	second, err := refresh(r, first.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refresh(r, other.RefreshToken); err != nil {
		t.Fatal(err)
	}
	r.clock.advance(29 * day)
	r.purge()
	_, err = refresh(r, other.RefreshToken)
	wantError(t, "a spent token after 29 days", err, errs.Unauthenticated, "bad_refresh_token")
	if ended := r.endedSessions(); len(ended) != 1 || ended[0].Reason != "refresh_reused" {
		t.Errorf("the ended sessions are %v", ended)
	}
	r.clock.advance(2 * day)
	r.purge()
	if n := r.count(`SELECT count(*) FROM refreshed`); n != 0 {
		t.Errorf("%d used tokens are stored", n)
	}
	_, err = refresh(r, first.RefreshToken)
	wantError(t, "a spent token after 31 days", err, errs.Unauthenticated, "bad_refresh_token")
	if _, err := refresh(r, second.RefreshToken); err != nil {
		t.Errorf("the valid token: %v", err)
	}
}

// TestTicketsAreBounded: beyond the bound, new tickets wait at most one lifetime. Each issued ticket is valid for its whole lifetime.
func TestTicketsAreBounded(t *testing.T) {
	r := openSingleNode(t, account.Config{})
	_, c := r.register("anna")
	first := ""
	for n := range account.MaxTickets {
		by := c
		if n < account.MaxTickets-1 {
			by.User += id.User(1 + n/account.MaxTicketsPerUser)
		}
		k, err := r.CreateTicket(t.Context(), by)
		if err != nil {
			t.Fatalf("ticket %d: %v", n, err)
		}
		if n == account.MaxTickets-1 {
			first = k.Ticket
		}
		if n == account.MaxTickets-2 {
			r.clock.advance(50 * time.Second)
		}
	}
	_, err := r.CreateTicket(t.Context(), c)
	wantError(t, "one too many", err, errs.Exhausted, "busy")
	r.clock.advance(15 * time.Second)
	if _, err := r.CreateTicket(t.Context(), c); err != nil {
		t.Errorf("a ticket after a minute: %v", err)
	}
	r.clock.advance(45 * time.Second)
	if got, err := r.VerifyTicket(t.Context(), first); err != nil || got != c {
		t.Errorf("a ticket that is a minute old yields %v (%v)", got, err)
	}
}

// TestTicketsPerUserAreBounded: one user's tickets, over all sessions, leave capacity for other users. Used tickets do not count.
func TestTicketsPerUserAreBounded(t *testing.T) {
	r := openSingleNode(t, account.Config{})
	_, anna := r.register("anna")
	_, bert := r.register("bert")
	var last string
	for n := range account.MaxTicketsPerUser {
		k, err := r.CreateTicket(t.Context(), anna)
		if err != nil {
			t.Fatalf("ticket %d: %v", n, err)
		}
		last = k.Ticket
	}
	other := anna
	other.Session++
	_, err := r.CreateTicket(t.Context(), other)
	wantError(t, "one too many", err, errs.Exhausted, "busy")
	if _, err := r.CreateTicket(t.Context(), bert); err != nil {
		t.Errorf("a ticket of another user: %v", err)
	}
	for range 2 { // the ticket works once
		_, _ = r.VerifyTicket(t.Context(), last) // the second time it is invalid
	}
	if _, err := r.CreateTicket(t.Context(), anna); err != nil {
		t.Errorf("a ticket after one was used: %v", err)
	}
	_, err = r.CreateTicket(t.Context(), anna)
	wantError(t, "one too many again", err, errs.Exhausted, "busy")
	r.clock.advance(time.Minute)
	if _, err := r.CreateTicket(t.Context(), anna); err != nil {
		t.Errorf("a ticket after a minute: %v", err)
	}
}
