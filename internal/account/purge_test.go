package account_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
)

func (r *room) purge() {
	r.t.Helper()
	if err := r.Purge(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

const day = 24 * time.Hour

// TestTheDeadAreDropped: sessions that ended 90 days ago and devices that have no other; never one that goes on, and none of a
// foreign token, which would come back with it.
func TestTheDeadAreDropped(t *testing.T) {
	r := openShared(t)
	_, stays := r.register("anna")
	gone := callerOf(r.login("anna", nil))
	again := r.login("anna", nil)
	back := r.login("anna", &accountv1.Client{Device: again.Device}) // it replaces the one before, on one device
	foreign := r.foreign(jwt.SigningMethodHS256, []byte(shared), "", map[string]any{"exp": r.clock.Now().Add(1000 * day).Unix()})
	stranger := r.verify(foreign)
	r.clock.move(time.Second)
	if err := r.Logout(t.Context(), gone, false); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(t.Context(), stranger, false); err != nil {
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
	r.clock.move(90*day - 2*time.Second)
	check("before 90 days", 5, 4)
	r.clock.move(3 * time.Second)
	check("after 90 days", 3, 3)
	for _, s := range []int64{int64(stays.Session), int64(back.Session), int64(stranger.Session)} {
		if r.count(`SELECT count(*) FROM sessions WHERE id = $1`, s) != 1 {
			t.Errorf("session %d is gone", s)
		}
	}
	_, err := r.Verify(t.Context(), foreign)
	wants(t, "a foreign token that was logged out", err, errs.Unauthenticated, "bad_token")
}

// TestSpentTokensAreForgotten: after 30 days, not before, and nothing that is good with them.
func TestSpentTokensAreForgotten(t *testing.T) {
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
	r.clock.move(29 * day)
	r.purge()
	_, err = refresh(r, other.RefreshToken)
	wants(t, "a spent token after 29 days", err, errs.Unauthenticated, "bad_refresh_token")
	if told := r.told(); len(told) != 1 || told[0].Reason != "refresh_reused" {
		t.Errorf("told %v", told)
	}
	r.clock.move(2 * day)
	r.purge()
	if n := r.count(`SELECT count(*) FROM refreshed`); n != 0 {
		t.Errorf("%d spent tokens are known", n)
	}
	_, err = refresh(r, first.RefreshToken)
	wants(t, "a spent token after 31 days", err, errs.Unauthenticated, "bad_refresh_token")
	if _, err := refresh(r, second.RefreshToken); err != nil {
		t.Errorf("the good token: %v", err)
	}
}

// TestTicketsAreBounded: very many have others wait for at most a life; each that was given is good all its life.
func TestTicketsAreBounded(t *testing.T) {
	r := openAlone(t, account.Config{})
	_, c := r.register("anna")
	first := ""
	for n := range account.TicketsMost {
		k, err := r.CreateTicket(t.Context(), c)
		if err != nil {
			t.Fatal(n, err)
		}
		if n == account.TicketsMost-1 {
			first = k.Ticket
		}
		if n == account.TicketsMost-2 {
			r.clock.move(50 * time.Second)
		}
	}
	_, err := r.CreateTicket(t.Context(), c)
	wants(t, "one too many", err, errs.Exhausted, "busy")
	r.clock.move(15 * time.Second)
	if _, err := r.CreateTicket(t.Context(), c); err != nil {
		t.Errorf("after a minute: %v", err)
	}
	r.clock.move(45 * time.Second)
	if got, err := r.VerifyTicket(t.Context(), first); err != nil || got != c {
		t.Errorf("a minute old: %v, %v", got, err)
	}
}
