package account_test

import (
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
	users := map[id.User]string{}
	for n := range id.MaxCanaries + 2 {
		f.clock.advance(time.Second)
		if n == id.MaxCanaries { // the first node is in use
			if _, err := f.OpenCanary(t.Context(), "node 0"); err != nil {
				t.Fatal(err)
			}
		}
		c, err := f.OpenCanary(t.Context(), fmt.Sprint("node ", n))
		if err != nil {
			t.Fatal(err)
		}
		if n < id.MaxCanaries && users[c.User] != "" {
			t.Fatalf("node %d has the canary of %s", n, users[c.User])
		}
		if n >= id.MaxCanaries && users[c.User] != fmt.Sprint("node ", n-id.MaxCanaries+1) {
			t.Errorf("node %d has the canary of %q", n, users[c.User])
		}
		users[c.User] = fmt.Sprint("node ", n)
	}
	if len(users) != id.MaxCanaries {
		t.Errorf("there are %d canaries", len(users))
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
