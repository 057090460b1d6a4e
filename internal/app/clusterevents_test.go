package app

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// A session that ended while this node missed events is closed as soon as the node knows that it missed some.
func TestSessionsEndAfterMissedEvents(t *testing.T) {
	h, _ := open(t)
	stays, ends := client(t, h), client(t, h)
	for name, c := range map[string]*rialto.Client{"stays": stays, "ends": ends} {
		if err := c.Register(t.Context(), name, "a good password", name); err != nil {
			t.Fatal(err)
		}
	}
	running(t, stays)
	over := make(chan error, 1)
	go func() { over <- ends.Run(t.Context()) }()
	connected := func(u uint64) bool {
		for _, c := range h.gateway.Callers() {
			if c.User == id.User(u) {
				return true
			}
		}
		return false
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !connected(stays.User()) || !connected(ends.User()) {
		select {
		case <-tick.C:
		case err := <-over:
			t.Fatalf("it ends before it is connected: %v", err)
		}
	}
	err := h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE sessions SET ended_ms = 1 WHERE owner = $1`, int64(ends.User()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.missed.signal()
	if err := <-over; !errors.Is(err, rialto.ErrSignedOut) {
		t.Errorf("the client whose session has ended ends with %v", err)
	}
	if !connected(stays.User()) {
		t.Error("the session of another user was closed")
	}
}
