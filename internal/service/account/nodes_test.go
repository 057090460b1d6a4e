package account_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// node is one of several services that receive each other's cluster events.
type node struct {
	*fixture
	events *clusterevent.Service

	mu       sync.Mutex // guards the fields below
	settings []id.User
	friends  [][2]id.User
}

func openNodes(t *testing.T, n int, config account.Config) []*node {
	t.Helper()
	place := sqltest.Schema(t, sqltest.Postgres(t))
	nodes := make([]*node, n)
	var opening sync.WaitGroup
	for i := range nodes {
		opening.Go(func() { // at once, on an empty database
			d := &node{}
			nodes[i] = d
			d.fixture = openOn(t, place, uint64(i+1), config, func(deps *account.Deps) {
				deps.Nodes = func() int { return n }
				deps.SettingsChanged = func(u id.User) {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.settings = append(d.settings, u)
				}
				deps.FriendshipEvent = func(a, b id.User) {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.friends = append(d.friends, [2]id.User{a, b})
				}
				var err error
				d.events, err = clusterevent.New(t.Context(), clusterevent.Deps{DB: deps.DB, Logger: deps.Logger, Handle: func(i clusterevent.Event) { d.HandleEvent(i) }})
				if err != nil {
					t.Error(err)
				}
				deps.ClusterEvents = d.events
			})
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return nodes
}

// running makes nodes handle each other's events.
func running(t *testing.T, nodes []*node) {
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for _, n := range nodes {
		wait.Go(func() {
			if err := n.events.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		wait.Wait()
	})
}

// awaitEvent waits until a node received the expected event.
func (n *node) awaitEvent(is func() bool) {
	n.t.Helper()
	eventually.True(n.t, "the node is told", func() bool {
		n.events.Wake()
		n.mu.Lock()
		defer n.mu.Unlock()
		return is()
	})
}

// Nodes that start concurrently on an empty database have the same keys: each accepts the others' signatures.
func TestNodesHaveTheSameSecrets(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{})
	s, c := nodes[0].register("anna")
	for i, n := range nodes {
		if got, err := n.Verify(t.Context(), s.AccessToken); err != nil || got != c {
			t.Errorf("node %d: the caller is %v (%v)", i, got, err)
		}
	}
	next, err := refresh(nodes[1].fixture, s.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := refresh(nodes[2].fixture, s.RefreshToken); err != nil || same.RefreshToken != next.RefreshToken {
		t.Errorf("two tabs that refresh on two nodes: %v", err)
	}
	secrets := make([][]byte, len(nodes))
	var wait sync.WaitGroup
	for i, n := range nodes {
		wait.Go(func() {
			var err error
			if secrets[i], err = n.Secret(t.Context(), "fresh"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if !slices.Equal(secrets[0], secrets[1]) || !slices.Equal(secrets[0], secrets[2]) {
		t.Error("nodes that generate a secret concurrently have different ones")
	}
}

// A ticket of one node is redeemed once by all nodes together.
func TestTicketIsRedeemedOnceAcrossNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{})
	s, c := nodes[0].register("anna")
	for range 20 {
		k, err := nodes[0].CreateTicket(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		redeemed := 0
		for i := range 9 {
			wait.Go(func() {
				got, err := nodes[i%3].VerifyTicket(t.Context(), k.Ticket)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && got == c:
					redeemed++
				case !errs.Is(err, errs.Unauthenticated):
					t.Errorf("the ticket yields %v (%v)", got, err)
				}
			})
		}
		wait.Wait()
		if redeemed != 1 {
			t.Fatalf("a ticket was redeemed %d times", redeemed)
		}
	}
	k, err := nodes[0].CreateTicket(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(k.Ticket) { // a change of any bit invalidates it
		bad := []byte(k.Ticket)
		bad[i] ^= 1
		_, err := nodes[1].VerifyTicket(t.Context(), string(bad))
		wantError(t, "a ticket that was changed", err, errs.Unauthenticated, "bad_token")
	}
	if err := nodes[2].Logout(t.Context(), callerOf(s), false); err != nil {
		t.Fatal(err)
	}
	_, err = nodes[1].VerifyTicket(t.Context(), k.Ticket)
	wantError(t, "a ticket of a session that ended elsewhere", err, errs.Unauthenticated, "bad_token")
}

// A session that ended on one node is rejected on all at once, and all nodes are notified, whatever ended it.
func TestEndedSessionIsRejectedOnAllNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{DevicePolicy: "one_per_type"})
	running(t, nodes)
	for reason, end := range map[string]func(n *node, handle string, s *accountv1.Session) error{
		"logged_out": func(n *node, _ string, s *accountv1.Session) error {
			return n.Logout(t.Context(), callerOf(s), true)
		},
		"revoked": func(n *node, _ string, s *accountv1.Session) error {
			return n.RevokeSession(t.Context(), callerOf(s), id.Session(s.Session))
		},
		"password_changed": func(n *node, _ string, s *accountv1.Session) error {
			other := callerOf(s)
			other.Session++
			return n.ChangePassword(t.Context(), other, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "seven green bottles"})
		},
		"replaced": func(n *node, handle string, _ *accountv1.Session) error {
			n.login(handle, &accountv1.Client{Type: "web"})
			return nil
		},
		"refresh_reused": func(n *node, _ string, s *accountv1.Session) error {
			if _, err := refresh(n.fixture, s.RefreshToken); err != nil {
				return err
			}
			n.clock.advance(day)
			if _, err := refresh(n.fixture, s.RefreshToken); err == nil {
				return errors.New("a used token was accepted")
			}
			return nil
		},
	} {
		handle := reason
		s, c := nodes[0].register(handle)
		if err := end(nodes[1], handle, s); err != nil {
			t.Fatalf("ending a session by %v failed: %v", reason, err)
		}
		want := account.Ended{User: c.User, Session: c.Session, Reason: reason}
		for i, n := range nodes {
			if err := n.Live(t.Context(), c); !errs.Is(err, errs.Unauthenticated) {
				t.Errorf("%s: node %d still accepts the session (%v)", reason, i, err)
			}
			if ended, err := n.EndedSessions(t.Context(), []id.Session{c.Session, 1}); err != nil || !slices.Equal(ended, []id.Session{c.Session, 1}) {
				t.Errorf("%s: the ended sessions are %v (%v)", reason, ended, err)
			}
			n.awaitEvent(func() bool {
				n.fixture.mu.Lock()
				defer n.fixture.mu.Unlock()
				return slices.Contains(n.ended, want)
			})
		}
	}
}

// A change of a user is visible on all nodes: they drop what they cached.
func TestUserChangesReachAllNodes(t *testing.T) {
	nodes := openNodes(t, 2, account.Config{})
	running(t, nodes)
	_, anna := nodes[0].register("anna")
	_, bert := nodes[0].register("bert")
	if _, err := nodes[0].UpdateSettings(t.Context(), anna, &accountv1.Settings{WhoMaySeePresence: accountv1.WhoMaySee_WHO_MAY_SEE_NOBODY}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.awaitEvent(func() bool { return slices.Contains(n.settings, anna.User) })
	}
	if _, err := nodes[0].RequestFriend(t.Context(), anna.User, bert.User, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].AnswerFriend(t.Context(), bert.User, anna.User, true); err != nil {
		t.Fatal(err)
	}
	nodes[0].awaitEvent(func() bool { return slices.Contains(nodes[0].friends, [2]id.User{bert.User, anna.User}) })
	if _, err := nodes[0].SetBlock(t.Context(), anna.User, bert.User, true); err != nil {
		t.Fatal(err)
	}
	if blocked, err := nodes[1].Blocked(t.Context(), bert.User, anna.User); err != nil || !blocked {
		t.Errorf("after a block returned, Blocked is %v (%v)", blocked, err)
	}
	nodes[1].awaitEvent(func() bool { return slices.Contains(nodes[1].friends, [2]id.User{anna.User, bert.User}) })
}

// Concurrent first requests with an external token on all nodes create one user and one session. So do requests with a new token after a
// logout.
func TestExternalTokenCreatesOneSessionAcrossNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", Secret: shared}}})
	for round := range 4 {
		token := nodes[0].externalToken(jwt.SigningMethodHS256, []byte(shared), "", nil)
		callers := make([]id.Caller, 9)
		var wait sync.WaitGroup
		for i := range callers {
			wait.Go(func() {
				var err error
				if callers[i], err = nodes[i%3].Verify(t.Context(), token); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for _, c := range callers {
			if c != callers[0] {
				t.Fatalf("round %d: the callers are %+v and %+v", round, c, callers[0])
			}
		}
		if n := nodes[0].count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 1 {
			t.Fatalf("round %d: %d sessions are open", round, n)
		}
		if err := nodes[round%3].Logout(t.Context(), callers[0], false); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			n.clock.advance(2e9)
		}
	}
}

// Guesses through all nodes have the limit of one, rounded up for each node.
func TestLoginsAreLimitedOverNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{LoginsPerMinute: 20})
	admitted := 0
	for _, n := range nodes {
		for range 30 {
			if n.Admit(t.Context(), "anna", 0, nil) == nil {
				admitted++
			}
		}
	}
	if admitted != 21 {
		t.Errorf("3 nodes together admitted %d logins a minute", admitted)
	}
}

// A handle that is registered on all nodes concurrently belongs to one user.
func TestConcurrentRegistrationsAcrossNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{})
	var wait sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for _, n := range nodes {
		wait.Go(func() {
			_, err := n.Register(t.Context(), &accountv1.RegisterRequest{Handle: "anna", Password: password})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			} else if errs.Of(err).Reason != "handle_taken" {
				t.Errorf("error %v, want the reason handle_taken", err)
			}
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("%d registrations of the handle succeeded", made)
	}
}
