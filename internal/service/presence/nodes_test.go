package presence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"pgregory.net/rapid"
)

const partitions = 4

func partition(of uint64) int { return int(of % partitions) }

// member is a node of a test.
type member struct {
	*world
	name     string
	stop     func()
	sessions map[id.User]int // connections
	follows  map[id.Conversation]bool
	rechecks [partitions]atomic.Int64
}

// members are nodes that share partitions, a database, and a bus.
type nodes struct {
	t    *testing.T
	db   *sqldb.DB
	bus  bus.Bus
	live map[string]*member
	term atomic.Uint64 // of the last owner of a partition

	mu      sync.Mutex // guards the fields below
	owners  [partitions]string
	takenBy [partitions]string
	names   []string
}

// gather runs a test with nodes, in faked time.
func gather(t *testing.T, over func(bus.Bus) bus.Bus, test func(m *nodes)) {
	t.Helper()
	path := sqltest.Place(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := sqldb.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		m := &nodes{t: t, db: db, bus: over(membus.New()), live: map[string]*member{}}
		test(m)
		synctest.Wait() // as in open
		for _, name := range slices.Clone(m.names) {
			m.kill(name)
		}
		if err := errors.Join(m.bus.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}

func reliable(b bus.Bus) bus.Bus { return b }

// join starts a node; it has no partitions.
func (m *nodes) join(name string) *member {
	n := &member{name: name, sessions: map[id.User]int{}, follows: map[id.Conversation]bool{},
		world: newWorld(m.db)}
	c := &directory.Cluster{Bus: m.bus, Partition: partition, Partitions: partitions, Owner: m.owner, Nodes: m.liveNames,
		Recheck: func(p int) { n.rechecks[p].Add(1) }}
	stop, err := n.start(name, c)
	if err != nil {
		m.t.Fatal(err)
	}
	n.stop = func() {
		if err := stop(); err != nil {
			m.t.Error(err)
		}
	}
	m.live[name] = n
	m.mu.Lock()
	m.names = append(m.names, name)
	m.mu.Unlock()
	return n
}

func (m *nodes) owner(p int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[p]
}

func (m *nodes) liveNames() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.names)
}

// kill ends a node without notifying the others.
func (m *nodes) kill(name string) {
	m.live[name].stop()
	m.lose(name)
}

// lose makes the others see that a node is gone.
func (m *nodes) lose(name string) {
	delete(m.live, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names = slices.DeleteFunc(m.names, func(o string) bool { return o == name })
	for p := range partitions {
		if m.takenBy[p] == name {
			m.takenBy[p] = ""
		}
		if m.owners[p] == name {
			m.owners[p] = ""
		}
	}
}

// move changes the owner of a partition. With notify, OwnerChanged is called; without it, nodes have to find out.
func (m *nodes) move(p int, to string, notify bool) {
	m.mu.Lock()
	from := m.takenBy[p]
	m.takenBy[p], m.owners[p] = to, to
	m.mu.Unlock()
	if from != "" {
		m.live[from].Release(p)
	}
	if notify {
		for _, n := range m.live {
			n.OwnerChanged(p, to)
		}
	}
	m.live[to].TakeOver(p, m.term.Add(1))
}

func (m *nodes) ownerOf(of uint64) *member { return m.live[m.owner(partition(of))] }

func (n *member) connect(u id.User) {
	n.Connected(caller(u, id.Session(u)*10))
	n.sessions[u]++
}

func (n *member) disconnect(u id.User) {
	if n.sessions[u] > 0 {
		n.Disconnected(caller(u, id.Session(u)*10), false)
		n.sessions[u]--
	}
}

// where returns the nodes that satisfy a condition.
func (m *nodes) where(is func(*member) bool) []string {
	var list []string
	for name, n := range m.live {
		if is(n) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// wrong returns where the owners' directories differ from the facts.
func (m *nodes) wrong(users int) (faults []string) {
	for u := id.User(1); u <= id.User(users); u++ {
		want := m.where(func(n *member) bool { return n.sessions[u] > 0 })
		if got := sorted(m.ownerOf(uint64(u)).Locate(u)); !slices.Equal(got, want) {
			faults = append(faults, fmt.Sprintf("user %v is located on %v, want %v", u, got, want))
		}
		c := id.Conversation(u)
		want = m.where(func(n *member) bool { return n.follows[c] })
		if got := sorted(m.ownerOf(uint64(c)).Followers(c)); !slices.Equal(got, want) {
			faults = append(faults, fmt.Sprintf("conversation %v is followed on %v, want %v", c, got, want))
		}
	}
	return faults
}

type action struct {
	what, node, user, part int
	wait                   time.Duration
	yes                    bool
}

var actions = rapid.Custom(func(r *rapid.T) action {
	return action{rapid.IntRange(0, 9).Draw(r, "action"), rapid.IntRange(0, 2).Draw(r, "node"), rapid.IntRange(1, 8).Draw(r, "user"),
		rapid.IntRange(0, partitions-1).Draw(r, "part"), time.Duration(rapid.OneOf(rapid.IntRange(1, 3000), rapid.Just(45_000)).Draw(r, "ms")) * time.Millisecond, rapid.Bool().Draw(r, "yes")}
})

// do performs one action.
func (m *nodes) do(d action) {
	name := fmt.Sprint("n", d.node)
	n := m.live[name]
	u := id.User(d.user)
	switch {
	case n == nil && d.what != 9:
		m.join(name)
	case d.what <= 2:
		n.connect(u)
	case d.what <= 4:
		n.disconnect(u)
	case d.what == 5:
		c := id.Conversation(u)
		if n.follows[c] != d.yes {
			n.follows[c] = d.yes
			n.Follow(c, d.yes)
		}
	case d.what == 6:
		m.move(d.part, name, d.yes)
	case d.what == 7 && d.node > 0 && d.yes: // node 0 has the watcher
		m.kill(name)
	default:
		pass(d.wait)
	}
}

// After any sequence of moves, losses and returns, owners know exactly which user is connected to which node and which nodes follow which
// users, and watchers have the current status.
func TestDirectoryAndWatchersConverge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOfN(actions, 5, 60).Draw(r, "actions")
		often, seed := rapid.IntRange(2, 9).Draw(r, "loses one of"), rapid.Uint64().Draw(r, "seed")
		var faults []string
		gather(t, func(b bus.Bus) bus.Bus {
			var mu sync.Mutex // guards dice
			dice := rand.New(rand.NewPCG(seed, 7))
			return &bustest.Lossy{Bus: b, Late: 700 * time.Millisecond, Lose: func() bool {
				mu.Lock()
				defer mu.Unlock()
				return dice.IntN(often) == 0
			}}
		}, func(m *nodes) {
			first := m.join("n0")
			for p := range partitions {
				m.move(p, "n0", true)
			}
			watcher := caller(100, 1000)
			first.Connected(watcher)
			shown := map[id.User]any{}
			list8 := []id.User{1, 2, 3, 4, 5, 6, 7, 8}
			pass(time.Second)
			for _, p := range first.watch(m.t, watcher, list8...) {
				shown[id.User(p.User)] = p.Status
			}
			for _, d := range list {
				m.do(d)
				for _, p := range first.takePushes() {
					shown[id.User(p.user)] = p.status
				}
			}
			for p := range partitions {
				if m.owner(p) == "" {
					m.move(p, "n0", false)
				}
			}
			pass(90 * time.Second)
			faults = m.wrong(8)
			for _, p := range first.takePushes() {
				shown[id.User(p.user)] = p.status
			}
			for _, u := range list8 {
				want := offline
				if len(m.where(func(n *member) bool { return n.sessions[u] > 0 })) > 0 {
					want = online
				}
				if shown[u] != want {
					faults = append(faults, fmt.Sprintf("the watcher's status of user %v is %v, want %v", u, shown[u], want))
				}
			}
		})
		for _, f := range faults {
			r.Error(f)
		}
	})
}

// three starts three nodes, which own some partitions each: n1 owns that of user 1, n2 that of user 2.
func three(m *nodes) (a, b, c *member) {
	a, b, c = m.join("n0"), m.join("n1"), m.join("n2")
	for p, name := range []string{"n0", "n1", "n2", "n0"} {
		m.move(p, name, true)
	}
	pass(15 * time.Second)
	return a, b, c
}

// When Announced returns, the owner locates the connection.
func TestAnnouncedConnectionsAreLocated(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, _ := three(m)
		a.connect(1)
		a.Announced(m.t.Context(), 1)
		if got := b.Locate(1); !slices.Equal(got, []string{"n0"}) {
			m.t.Errorf("located on %v", got)
		}
		a.Follow(5, true)
		a.follows[5] = true
		if !a.Followed(m.t.Context(), 5) || !slices.Equal(b.Followers(5), []string{"n0"}) {
			m.t.Errorf("followed on %v", b.Followers(5))
		}
		b.connect(1)
		if got := sorted(b.Locate(1)); !slices.Equal(got, []string{"n0", "n1"}) {
			m.t.Errorf("located on %v", got)
		}
	})
}

// An absent owner delays a connection only briefly. The connection is rechecked when there is an owner again, also a different one.
func TestAnAbsentOwnerOnlyDelays(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, _, _ := three(m)
		m.kill("n1")
		began, before := time.Now(), a.rechecks[1].Load()
		a.connect(1)
		a.Announced(m.t.Context(), 1)
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			m.t.Errorf("it took %v", took)
		}
		if _, err := a.Get(m.t.Context(), 9, []id.User{5}); !errs.Is(err, errs.Unavailable) {
			m.t.Errorf("Get without an owner returned %v; want Unavailable", err)
		}
		if a.rechecks[1].Load() != before {
			m.t.Error("rechecked without an owner")
		}
		m.move(1, "n2", false)
		pass(2 * time.Second)
		if got := m.ownerOf(1).Locate(1); !slices.Equal(got, []string{"n0"}) || a.rechecks[1].Load() == before {
			m.t.Errorf("located on %v, rechecked %d times", got, a.rechecks[1].Load()-before)
		}
		before = a.rechecks[1].Load()
		m.move(1, "n0", false) // to one's own
		pass(2 * time.Second)
		if got := a.Locate(1); !slices.Equal(got, []string{"n0"}) || a.rechecks[1].Load() == before {
			m.t.Errorf("located on %v, rechecked %d times", got, a.rechecks[1].Load()-before)
		}
	})
}

// Friends see each other, whichever nodes they are connected to, and whichever nodes own their partitions.
func TestFriendsOnOtherNodesAreSeen(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		two := caller(2, 20)
		b.Connected(two)
		if got := b.watch(m.t, two, 1, 4)[0].Status; got != offline {
			m.t.Errorf("before: %v", got)
		}
		c.connect(1)
		pass(3 * time.Second)
		b.checkPushes(m.t, push{2, 1, online})
		c.connect(4) // owned by n0
		pass(3 * time.Second)
		b.checkPushes(m.t, push{2, 4, online})
		for _, n := range []*member{a, b, c} {
			if n.status(m.t, 9, 1) != online || n.status(m.t, 9, 4) != online || n.status(m.t, 9, 5) != offline {
				m.t.Errorf("%s does not see who is online", n.name)
			}
		}
		c.Active(caller(1, 10))
		c.disconnect(1)
		a.connect(1) // reconnects to another node within the grace
		pass(40 * time.Second)
		b.checkPushes(m.t)
		for _, n := range m.live {
			n.LoggedOut(1)
		}
		a.disconnect(1)
		pass(3 * time.Second)
		b.checkPushes(m.t, push{2, 1, offline})

		b.set(b.hidden, 4, true)
		a.VisibilityChanged(4) // on another node than the watcher's
		pass(3 * time.Second)
		b.checkPushes(m.t, push{2, 4, offline})
	})
}

// The users of a dead node have their grace, whichever node owns their partition, and are shown offline if they do not come back.
func TestUsersOfADeadNodeHaveGrace(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		two := caller(2, 20)
		b.Connected(two)
		for _, u := range []id.User{1, 4, 6, 5} { // owned by n1, n0, and n2 itself
			c.connect(u)
		}
		b.watch(m.t, two, 1, 4, 5, 6)
		pass(3 * time.Second)
		b.takePushes()
		m.kill("n2")
		pass(5 * time.Second) // the cluster's node_timeout
		m.move(2, "n0", true)
		a.connect(1)
		pass(20 * time.Second)
		b.checkPushes(m.t)
		pass(20 * time.Second)
		got := b.takePushes()
		slices.SortFunc(got, func(a, b push) int { return int(a.user) - int(b.user) })
		if want := []push{{2, 4, offline}, {2, 5, offline}, {2, 6, offline}}; !slices.Equal(got, want) {
			m.t.Errorf("pushed %v, want %v", got, want)
		}
	})
}

// After a restart of a node, its earlier connections are gone from the directory.
func TestARestartedNodeStartsEmpty(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		_, b, _ := three(m)
		m.live["n0"].connect(1)
		pass(time.Second)
		if len(b.Locate(1)) != 1 {
			m.t.Fatal("not located")
		}
		m.kill("n0")
		m.join("n0") // before the others noticed
		for _, p := range []int{0, 3} {
			m.move(p, "n0", true)
		}
		pass(3 * time.Second)
		if got := b.Locate(1); got != nil {
			m.t.Errorf("located on %v", got)
		}
	})
}

// An announcement that arrives after a later one is ignored.
func TestALateAnnouncementIsIgnored(t *testing.T) {
	var lose atomic.Bool
	gather(t, func(b bus.Bus) bus.Bus {
		return &bustest.Lossy{Bus: b, Late: 500 * time.Millisecond, Lose: func() bool { return lose.Swap(false) }}
	}, func(m *nodes) {
		a, b, _ := three(m)
		lose.Store(true)
		a.connect(1)
		a.Announced(m.t.Context(), 1)
		a.disconnect(1)
		a.Announced(m.t.Context(), 1)
		if lose.Load() || b.Locate(1) != nil {
			m.t.Fatalf("located on %v; an announcement was delayed: %v", b.Locate(1), !lose.Load())
		}
		pass(time.Second) // the late announcement arrives
		if got := b.Locate(1); got != nil {
			m.t.Errorf("located on %v", got)
		}
	})
}

// An owner that lost a partition and got it back knows nothing of its earlier ownership.
func TestRegainedPartitionStartsEmpty(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, _ := three(m)
		a.connect(1)
		a.Follow(5, true)
		pass(time.Second)
		m.move(1, "n2", true)
		pass(time.Second)
		a.disconnect(1)
		a.Follow(5, false)
		pass(time.Minute)
		m.move(1, "n1", true)
		pass(3 * time.Second)
		if got, followers := b.Locate(1), b.Followers(5); got != nil || followers != nil {
			m.t.Errorf("located on %v, followed on %v", got, followers)
		}
		if got := b.status(m.t, 9, 1); got != offline {
			m.t.Errorf("the status is %v, want offline", got)
		}
	})
}

// More users than fit in one announcement are reported in several, and an owner without a full sync reports nobody as offline.
func TestManyUsersAreReportedInBatches(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b, c := three(m)
		const users = 5_000
		for n := range id.User(users) {
			a.connect(1 + partitions*n)
		}
		pass(5 * time.Second)
		check := func() {
			m.t.Helper()
			for n := range id.User(users) {
				u := 1 + partitions*n
				if got := m.ownerOf(1).Locate(u); len(got) != 1 || got[0] != "n0" {
					m.t.Fatalf("user %v is located on %v", u, got)
				}
			}
		}
		check()
		before := a.rechecks[1].Load()
		m.move(1, "n2", true)
		pass(5 * time.Second)
		check()
		if a.rechecks[1].Load() == before {
			m.t.Error("not rechecked")
		}
		if b.status(m.t, 2, 1) != online || c.status(m.t, 2, 5) != online || c.Online() != 0 || a.Online() != users {
			m.t.Errorf("%d users are online on n0 and %d on n2", a.Online(), c.Online())
		}
	})
}

// An owner whose wall clock is set forgets no user.
func TestStatusSurvivesAClockChange(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b := m.join("a"), m.join("b")
		for p := range partitions {
			m.move(p, "a", true)
		}
		b.connect(1)
		pass(15 * time.Second)
		a.clock.set(time.Hour)
		for range 30 {
			pass(100 * time.Millisecond)
			if got := a.Locate(1); !slices.Equal(got, []string{"b"}) {
				t.Fatalf("located on %v", got)
			}
		}
	})
}

// A dead node's registration is removed although times of last activity wait for the database.
func TestADeadNodeIsForgottenWhileTheDatabaseHangs(t *testing.T) {
	gather(t, reliable, func(m *nodes) {
		a, b := m.join("a"), m.join("b")
		for p := range partitions {
			m.move(p, "a", true)
		}
		a.connect(1)
		b.connect(2)
		pass(15 * time.Second)
		release, held := make(chan struct{}), make(chan error, 1)
		go func() { held <- m.db.Write(context.Background(), func(*sql.Tx) error { <-release; return nil }) }()
		a.disconnect(1)
		pass(35 * time.Second)
		m.lose("b")
		stopped := make(chan struct{})
		go func() { b.stop(); close(stopped) }() // this waits for the database too
		pass(5 * time.Second)
		if got := a.Locate(2); len(got) != 0 {
			t.Errorf("located on %v", got)
		}
		close(release)
		<-held // it may have timed out
		<-stopped
		pass(2 * time.Second)
		list, err := a.Get(m.t.Context(), 1, []id.User{1})
		if err != nil || list[0].LastActiveMs == 0 {
			t.Errorf("statuses %v, want a time of the last activity; error %v", list, err)
		}
	})
}
