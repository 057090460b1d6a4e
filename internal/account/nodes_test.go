package account_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/news"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// node is a room among others, which it is told of as each node is.
type node struct {
	*room
	news *news.Service

	mu       sync.Mutex // guards all below
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
			d.room = openOn(t, place, uint64(i+1), config, func(deps *account.Deps) {
				deps.Nodes = func() int { return n }
				deps.SettingsChanged = func(u id.User) {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.settings = append(d.settings, u)
				}
				deps.FriendshipElsewhere = func(a, b id.User) {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.friends = append(d.friends, [2]id.User{a, b})
				}
				var err error
				d.news, err = news.New(t.Context(), news.Deps{DB: deps.DB, Logger: deps.Logger, Tell: func(i news.Item) { d.Told(i) }})
				if err != nil {
					t.Error(err)
				}
				deps.News = d.news
			})
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return nodes
}

// running has nodes read what the others tell.
func running(t *testing.T, nodes []*node) {
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for _, n := range nodes {
		wait.Go(func() {
			if err := n.news.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		wait.Wait()
	})
}

// eventually waits until a node was told what it has to be.
func eventually(n *node, ok func() bool) {
	for {
		n.news.Wake()
		n.mu.Lock()
		done := ok()
		n.mu.Unlock()
		if done {
			return
		}
		if n.t.Context().Err() != nil {
			n.t.Fatal("nothing was told")
		}
	}
}

// Nodes that start at once on an empty database have the same keys: what one signs the others take.
func TestNodesHaveTheSameSecrets(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{})
	s, c := nodes[0].register("anna")
	for i, n := range nodes {
		if got, err := n.Verify(t.Context(), s.AccessToken); err != nil || got != c {
			t.Errorf("node %d: %v (%v)", i, got, err)
		}
	}
	next, err := refresh(nodes[1].room, s.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := refresh(nodes[2].room, s.RefreshToken); err != nil || same.RefreshToken != next.RefreshToken {
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
		t.Error("nodes that draw a secret at once have different ones")
	}
}

// A ticket that one node made is taken once by all of them together.
func TestATicketIsTakenOnceByAllNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{})
	s, c := nodes[0].register("anna")
	for range 20 {
		k, err := nodes[0].CreateTicket(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var wait sync.WaitGroup
		taken := 0
		for i := range 9 {
			wait.Go(func() {
				got, err := nodes[i%3].VerifyTicket(t.Context(), k.Ticket)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && got == c:
					taken++
				case !errs.Is(err, errs.Unauthenticated):
					t.Errorf("%v (%v)", got, err)
				}
			})
		}
		wait.Wait()
		if taken != 1 {
			t.Fatalf("a ticket was taken %d times", taken)
		}
	}
	k, err := nodes[0].CreateTicket(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(k.Ticket) { // each of its bits counts
		bad := []byte(k.Ticket)
		bad[i] ^= 1
		_, err := nodes[1].VerifyTicket(t.Context(), string(bad))
		wants(t, "a ticket that was changed", err, errs.Unauthenticated, "bad_token")
	}
	if err := nodes[2].Logout(t.Context(), callerOf(s), false); err != nil {
		t.Fatal(err)
	}
	_, err = nodes[1].VerifyTicket(t.Context(), k.Ticket)
	wants(t, "a ticket of a session that ended elsewhere", err, errs.Unauthenticated, "bad_token")
}

// A session that ended on one node is refused on all at once, and all are told, whatever ended it.
func TestAnEndIsToldToAllNodes(t *testing.T) {
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
			return n.ChangePassword(t.Context(), other, &accountv1.ChangePasswordRequest{OldPassword: password, NewPassword: "another password"})
		},
		"replaced": func(n *node, handle string, _ *accountv1.Session) error {
			n.login(handle, &accountv1.Client{Type: "web"})
			return nil
		},
		"refresh_reused": func(n *node, _ string, s *accountv1.Session) error {
			if _, err := refresh(n.room, s.RefreshToken); err != nil {
				return err
			}
			n.clock.move(day)
			if _, err := refresh(n.room, s.RefreshToken); err == nil {
				return errors.New("a spent token was taken")
			}
			return nil
		},
	} {
		handle := reason
		s, c := nodes[0].register(handle)
		if err := end(nodes[1], handle, s); err != nil {
			t.Fatal(reason, err)
		}
		want := account.Ended{User: c.User, Session: c.Session, Reason: reason}
		for i, n := range nodes {
			if err := n.Live(t.Context(), c); !errs.Is(err, errs.Unauthenticated) {
				t.Errorf("%s: on node %d it goes on (%v)", reason, i, err)
			}
			if over, err := n.Over(t.Context(), []id.Session{c.Session, 1}); err != nil || !slices.Equal(over, []id.Session{c.Session, 1}) {
				t.Errorf("%s: over are %v (%v)", reason, over, err)
			}
			eventually(n, func() bool {
				n.room.mu.Lock()
				defer n.room.mu.Unlock()
				return slices.Contains(n.ended, want)
			})
		}
	}
}

// What is kept of a user in memory is looked at again on all nodes.
func TestChangesOfUsersAreToldToAllNodes(t *testing.T) {
	nodes := openNodes(t, 2, account.Config{})
	running(t, nodes)
	_, anna := nodes[0].register("anna")
	_, bert := nodes[0].register("bert")
	if _, err := nodes[0].UpdateSettings(t.Context(), anna, &accountv1.Settings{HidePresence: true}); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		eventually(n, func() bool { return slices.Contains(n.settings, anna.User) })
	}
	if _, err := nodes[0].RequestFriend(t.Context(), anna.User, bert.User, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].AnswerFriend(t.Context(), bert.User, anna.User, true); err != nil {
		t.Fatal(err)
	}
	eventually(nodes[0], func() bool { return slices.Contains(nodes[0].friends, [2]id.User{bert.User, anna.User}) })
	if _, err := nodes[0].SetBlock(t.Context(), anna.User, bert.User, true); err != nil {
		t.Fatal(err)
	}
	if blocked, err := nodes[1].Blocked(t.Context(), bert.User, anna.User); err != nil || !blocked {
		t.Errorf("a block that was answered: %v (%v)", blocked, err)
	}
	eventually(nodes[1], func() bool { return slices.Contains(nodes[1].friends, [2]id.User{anna.User, bert.User}) })
}

// A foreign token's first requests, which reach all nodes at once, make one user and one session; and so do those with a new token after
// a logout.
func TestAForeignTokenMakesOneSessionOnAllNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{Issuers: []account.Issuer{{Name: "shop", Audience: "chat", Secret: shared}}})
	for round := range 4 {
		token := nodes[0].foreign(jwt.SigningMethodHS256, []byte(shared), "", nil)
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
				t.Fatalf("round %d: %+v and %+v", round, c, callers[0])
			}
		}
		if n := nodes[0].count(`SELECT count(*) FROM sessions WHERE ended_ms = 0`); n != 1 {
			t.Fatalf("round %d: %d sessions go on", round, n)
		}
		if err := nodes[round%3].Logout(t.Context(), callers[0], false); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			n.clock.move(2e9)
		}
	}
}

// Who guesses through all nodes has no more than the limit, rounded up for each node.
func TestLoginsAreLimitedOverNodes(t *testing.T) {
	nodes := openNodes(t, 3, account.Config{LoginsPerMinute: 20})
	admitted := 0
	for _, n := range nodes {
		for range 30 {
			if n.Admit("anna") == nil {
				admitted++
			}
		}
	}
	if admitted != 21 {
		t.Errorf("%d logins a minute are admitted over 3 nodes", admitted)
	}
	for _, test := range []struct{ most, nodes, want int }{{20, 0, 20}, {20, 1, 20}, {20, 4, 5}, {20, 30, 5}, {3, 30, 3}, {100, 7, 15}} {
		if got := account.Share(test.most, test.nodes); got != test.want {
			t.Errorf("of %d over %d nodes each has %d, want %d", test.most, test.nodes, got, test.want)
		}
	}
}

// A handle that is registered on all nodes at once is one user's.
func TestAHandleIsOneUsersOnAllNodes(t *testing.T) {
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
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("%d users have the handle", made)
	}
}
