package organization_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/organization"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Users of the tests. Those up to 5000 exist.
const (
	boss = id.User(1) // owns the organizations
	anna = id.User(11)
	ben  = id.User(12)
	cleo = id.User(13)
	dan  = id.User(14)
)

var errDown = errors.New("the log is down")

// fixture has the users and groups around the services of two nodes.
type fixture struct {
	t *testing.T
	*organization.Service
	db    *sqldb.DB
	bus   *membus.Bus
	names map[*organization.Service]string // of their nodes

	mu        sync.Mutex // guards all below
	nextID    uint64
	shy       map[id.User]bool    // may not be added
	blocked   map[[2]id.User]bool // the lower one first
	byKey     map[string]id.Conversation
	groups    map[id.Conversation]*group
	entries   int // of all groups
	failAfter int // entries; -1: never
	pause     *pause
	passed    time.Duration
}

// pause stops the next caller of AlignMembers, who has read the rows: the fixture closes reached, and waits until the test closes resume. If kill is
// set, the caller's goroutine ends after its first entry, as in a crash.
type pause struct {
	reached, resume chan struct{}
	kill            bool
}

type group struct {
	owner     id.User
	members   []id.User
	dissolved bool
}

func (w *fixture) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.UnixMilli(1_800_000_000_000).Add(w.passed)
}

// pass lets time pass.
func (w *fixture) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed += d
}

func (w *fixture) Next(context.Context) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nextID++
	return w.nextID, nil
}

func (w *fixture) Exist(context.Context, []id.User) error { return nil }

func (w *fixture) GetUsers(_ context.Context, r *accountv1.GetUsersRequest) (list []*accountv1.User, err error) {
	for _, u := range r.Users {
		if u > 0 && u <= 5000 {
			list = append(list, &accountv1.User{Id: u, DisplayName: fmt.Sprint("user ", u)})
		}
	}
	return list, nil
}

func (w *fixture) MayAdd(_ context.Context, _ id.User, users []id.User) (refused, invited, nonFriends []id.User, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range users {
		if w.shy[u] {
			refused = append(refused, u)
		}
	}
	return refused, nil, nil, nil
}

func (w *fixture) BlockedAmong(_ context.Context, u id.User, users []id.User) (map[id.User]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	blocked := map[id.User]bool{}
	for _, other := range users {
		blocked[other] = w.blocked[[2]id.User{min(u, other), max(u, other)}]
	}
	return blocked, nil
}

func (w *fixture) UsersByExternalID(context.Context, []string) (map[string]id.User, error) {
	return nil, nil
}

func (w *fixture) CreateGroupFor(_ context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprint(service, by.User, r.Key)
	if w.byKey[key] == 0 {
		g := &group{owner: by.User, members: []id.User{by.User}}
		for _, u := range r.Members {
			if w.shy[id.User(u)] && !by.Server {
				return 0, errs.New(errs.Denied, "may_not_add", "")
			}
			g.members = append(g.members, id.User(u))
		}
		slices.Sort(g.members)
		w.byKey[key] = id.Conversation(100_000 + len(w.byKey))
		w.groups[w.byKey[key]] = g
	}
	return w.byKey[key], nil
}

// fail lets the log fail after n more entries; -1: it fails no more.
func (w *fixture) fail(n int) (after int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failAfter = n; n >= 0 {
		w.failAfter += w.entries
	}
	return w.failAfter
}

// pauseNext sets the pause for the next change of a group's members.
func (w *fixture) pauseNext() *pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pause = &pause{reached: make(chan struct{}), resume: make(chan struct{})}
	return w.pause
}

// append counts an entry of a group, or fails.
func (w *fixture) append() error {
	if w.entries++; w.failAfter >= 0 && w.entries > w.failAfter {
		return errDown
	}
	return nil
}

func (w *fixture) AlignMembers(_ context.Context, c id.Conversation, decide func([]id.User) []id.User) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	kill := false
	if p := w.pause; p != nil {
		w.pause, kill = nil, p.kill
		w.mu.Unlock()
		close(p.reached)
		<-p.resume
		w.mu.Lock()
	}
	g := w.groups[c]
	if g.dissolved {
		return errs.New(errs.Denied, "dissolved", "")
	}
	for {
		want := decide(slices.Clone(g.members))
		at := slices.IndexFunc(g.members, func(u id.User) bool { return u != g.owner && !slices.Contains(want, u) })
		missing := slices.IndexFunc(want, func(u id.User) bool { return !slices.Contains(g.members, u) })
		if at < 0 && missing < 0 {
			return nil
		}
		if err := w.append(); err != nil {
			return err
		}
		if at >= 0 {
			g.members = slices.Delete(g.members, at, at+1)
		} else {
			g.members = append(g.members, want[missing])
			slices.Sort(g.members)
		}
		if kill {
			runtime.Goexit()
		}
	}
}

func (w *fixture) DissolvedAmong(_ context.Context, groups []id.Conversation) (dissolved []id.Conversation, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range groups {
		if w.groups[c].dissolved {
			dissolved = append(dissolved, c)
		}
	}
	return dissolved, nil
}

func (w *fixture) ReplaceOwner(_ context.Context, c id.Conversation, successor id.User, leaves func(id.User) (bool, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[c]
	if g.dissolved {
		return errs.New(errs.Denied, "dissolved", "")
	}
	must, err := leaves(g.owner)
	if err != nil || !must {
		return err
	}
	if g.owner = successor; !slices.Contains(g.members, successor) {
		g.members = append(g.members, successor)
		slices.Sort(g.members)
	}
	return w.append()
}

func open(t *testing.T) *fixture {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	w := &fixture{t: t, db: db, bus: membus.New(), nextID: 1000, failAfter: -1, shy: map[id.User]bool{}, blocked: map[[2]id.User]bool{}, byKey: map[string]id.Conversation{}, groups: map[id.Conversation]*group{}, names: map[*organization.Service]string{}}
	w.Service = w.node("node-1")
	return w
}

// node is the service of a node.
func (w *fixture) node(name string) *organization.Service {
	w.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	events, err := clusterevent.New(w.t.Context(), clusterevent.Deps{DB: w.db, Logger: logger, Handle: func(clusterevent.Event) {}})
	must(w.t, err)
	outbox, err := job.NewOutbox(w.t.Context(), w.db, logger)
	must(w.t, err)
	s, err := organization.New(w.t.Context(), organization.Deps{DB: w.db, IDs: w, Accounts: w, Groups: w, Outbox: outbox, Bus: w.bus, ClusterEvents: events, Node: name, Nodes: func() []string { return []string{"node-1", "node-2"} },
		Clock: w, Logger: logger})
	must(w.t, err)
	w.names[s] = name
	return s
}

// run runs a service until it is stopped, or the test ends. It returns when the service answers other nodes.
func (w *fixture) run(s *organization.Service) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must(w.t, <-done)
	})
	w.t.Cleanup(stop)
	eventually.True(w.t, "the service of a node answers", func() bool {
		_, err := w.bus.Request(ctx, bus.NodeSubject(w.names[s], "organization"), nil)
		return err == nil
	})
	return stop
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

func (w *fixture) refused(what string, err error, want string) {
	w.t.Helper()
	if got := reason(err); got != want {
		w.t.Errorf("%s is answered with %q, want %q", what, got, want)
	}
}

// create makes an organization of boss.
func (w *fixture) create(name string) uint64 {
	w.t.Helper()
	o, err := w.CreateOrganization(w.t.Context(), id.Caller{Server: true}, &chatv1.CreateOrganizationRequest{Name: name, Key: name, Owner: uint64(boss)})
	must(w.t, err)
	return o.Id
}

// departments adds departments, each below the one before, and returns their ids.
func (w *fixture) departments(org uint64, names ...string) (ids []uint64) {
	w.t.Helper()
	r := &chatv1.PutDepartmentsRequest{Organization: org}
	for i, name := range names {
		in := &chatv1.DepartmentInput{Name: name, ExternalId: name}
		if i > 0 {
			in.ParentExternalId = names[i-1]
		}
		r.Departments = append(r.Departments, in)
	}
	put, err := w.PutDepartments(w.t.Context(), boss, r)
	must(w.t, err)
	for _, d := range put.Departments {
		ids = append(ids, d.Id)
	}
	return ids
}

// put makes a user a member with departments.
func (w *fixture) put(org uint64, u id.User, departments ...uint64) {
	w.t.Helper()
	w.putInput(org, input(u, departments...))
}

func (w *fixture) putInput(org uint64, in ...*chatv1.OrganizationMemberInput) {
	w.t.Helper()
	_, err := w.PutOrganizationMembers(w.t.Context(), id.Caller{User: boss}, &chatv1.PutOrganizationMembersRequest{Organization: org, Members: in})
	must(w.t, err)
}

func input(u id.User, departments ...uint64) *chatv1.OrganizationMemberInput {
	in := &chatv1.OrganizationMemberInput{User: uint64(u)}
	for _, d := range departments {
		in.Departments = append(in.Departments, &chatv1.DepartmentMembership{Department: d})
	}
	return in
}

func (w *fixture) remove(org uint64, u id.User) {
	w.t.Helper()
	_, err := w.RemoveOrganizationMembers(w.t.Context(), boss, &chatv1.RemoveOrganizationMembersRequest{Organization: org, Users: []uint64{uint64(u)}})
	must(w.t, err)
}

func (w *fixture) messaging(org uint64, m chatv1.OrganizationMessaging) {
	w.t.Helper()
	_, err := w.UpdateOrganization(w.t.Context(), boss, &chatv1.UpdateOrganizationRequest{Organization: org, Messaging: &m})
	must(w.t, err)
}

// hasMembers compares the members of a group.
func (w *fixture) hasMembers(g uint64, want ...id.User) {
	w.t.Helper()
	if got := w.membersOf(g); !slices.Equal(got, want) {
		w.t.Errorf("group %d has %v, want %v", g, got, want)
	}
}

func (w *fixture) membersOf(g uint64) []id.User {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.groups[id.Conversation(g)].members)
}

// pending counts the groups that the coordinator has to look at.
func (w *fixture) pending() (n int) {
	w.t.Helper()
	return w.rows(`SELECT count(*) FROM organization_groups WHERE pending > 0`)
}

// rows returns what a query counts.
func (w *fixture) rows(query string) (n int) {
	w.t.Helper()
	must(w.t, w.db.Read().QueryRowContext(w.t.Context(), query).Scan(&n))
	return n
}
