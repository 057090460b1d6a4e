package account_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// A canary has a session that connections accept, and the next one ends it. Each node has a canary of its own.
func TestCanariesHaveOneSession(t *testing.T) {
	f := open(t, account.Config{})
	canaryOf := func(node string) id.Caller {
		t.Helper()
		f.clock.advance(time.Second)
		c, err := f.OpenCanary(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	verify := func(c id.Caller) error {
		t.Helper()
		token, err := f.CanaryToken(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Verify(t.Context(), token)
		if err == nil && got != c {
			t.Errorf("its token is that of %v, want %v", got, c)
		}
		return err
	}
	first, other := canaryOf("a"), canaryOf("b")
	if !first.User.IsCanary() || !other.User.IsCanary() || first.User == other.User || first.Device == other.Device {
		t.Fatalf("the canaries are %v and %v", first, other)
	}
	if err := verify(first); err != nil {
		t.Fatal(err)
	}
	again := canaryOf("a")
	if again.User != first.User || again.Device != first.Device || again.Session == first.Session {
		t.Errorf("the canary was %v, and is %v", first, again)
	}
	if err := verify(first); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("the earlier session: %v", err)
	}
	for _, c := range []id.Caller{again, other} {
		if err := verify(c); err != nil {
			t.Errorf("the session of %v: %v", c, err)
		}
	}
}

// Canaries are bounded: when all have a node, the one that was not opened for longest goes to the next.
func TestCanariesAreReused(t *testing.T) {
	f := open(t, account.Config{})
	err := f.db.Write(t.Context(), func(tx *sql.Tx) error {
		for n := 1; n < id.MaxCanaries; n++ {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO canaries (number, node, used_ms) VALUES ($1, $2, $3)`, n, fmt.Sprint("node ", n), f.clock.Now().UnixMilli()+int64(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.advance(time.Hour)
	for _, step := range []struct {
		node   string
		number int
	}{{"new", id.MaxCanaries}, {"node 1", 1}, {"newer", 2}, {"newest", 3}, {"node 2", 4}, {"new", id.MaxCanaries}} {
		f.clock.advance(time.Second)
		if c, err := f.OpenCanary(t.Context(), step.node); err != nil || c.User != id.CanaryUser(step.number) {
			t.Errorf("%s has the canary %d (%v), want %d", step.node, c.User, err, id.CanaryUser(step.number))
		}
	}
}

// Nobody finds a canary, writes to it or becomes it: it is no row of users.
func TestCanariesAreNoUsers(t *testing.T) {
	f := open(t, account.Config{})
	c, err := f.OpenCanary(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.CreateSession(t.Context(), &accountv1.CreateSessionRequest{User: uint64(c.User)}); !errs.Is(err, errs.NotFound) {
		t.Errorf("a session for a server: %v", err)
	}
	for _, handle := range []string{"canary", c.User.String(), strconv.FormatUint(uint64(c.Device), 10)} {
		if _, err := f.Login(t.Context(), &accountv1.LoginRequest{Handle: handle}); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("a login as %q: %v", handle, err)
		}
	}
	if err := f.Exist(t.Context(), []id.User{c.User}); !errs.Is(err, errs.NotFound) {
		t.Errorf("it exists: %v", err)
	}
	if list, err := f.UsersAfter(t.Context(), 0, 100); err != nil || len(list) != 0 {
		t.Errorf("the search indexes %v (%v)", list, err)
	}
}
