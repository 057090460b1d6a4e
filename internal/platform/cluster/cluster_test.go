package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// table is the tables in memory, which many nodes share.
type table struct {
	mu sync.Mutex // guards all
	Tables
	disconnected map[string]bool // nodes that cannot reach the table
	reconnected  *sync.Cond      // on mu; signals that a node can reach the table again
	stuck        int             // pending calls whose node is connected again
}

func newTable() *table {
	t := &table{Tables: *NewTables(0), disconnected: map[string]bool{}}
	t.reconnected = sync.NewCond(&t.mu)
	return t
}

// row returns a node's row, or nil.
func (t *table) row(name string) *member { return findMember(t.members, name) }

// nodeTable is the table as one node reaches it.
type nodeTable struct {
	*table
	node string
}

var errAway = errors.New("the store is unreachable")

// waitReachable blocks while the node is disconnected from the store, even after the caller's timeout. When the node is connected again,
// every second waiting call fails, and the others take effect.
func (a nodeTable) waitReachable() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.disconnected[a.node] {
		return nil
	}
	for a.disconnected[a.node] {
		a.reconnected.Wait()
	}
	if a.stuck++; a.stuck%2 == 0 {
		return errAway
	}
	return nil
}

func (a nodeTable) heartbeat(_ context.Context, m member, first bool) (state, error) {
	if err := a.waitReachable(); err != nil {
		return state{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Tables.heartbeat(m, first)
}

func (a nodeTable) read(context.Context) (state, error) {
	if err := a.waitReachable(); err != nil {
		return state{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state(), nil
}

func (a nodeTable) raiseProtocol(_ context.Context, protocol int) (bool, error) {
	if err := a.waitReachable(); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Tables.raiseProtocol(protocol), nil
}

func (a nodeTable) apply(_ context.Context, changes []change) ([]bool, error) {
	if err := a.waitReachable(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Tables.apply(changes), nil
}

func (a nodeTable) leave(_ context.Context, m member) error {
	if err := a.waitReachable(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Tables.leave(m)
	return nil
}

func (a nodeTable) removeDead(_ context.Context, dead []*member) error {
	if err := a.waitReachable(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Tables.removeDead(dead)
	return nil
}

// world has nodes that join and leave, and records the owner of each part.
type world struct {
	t     *testing.T
	table *table
	nodes map[string]*testNode
	idle  bool                  // the next node to join is idle
	wrap  func(nodeTable) store // of the nodes that join; nil: the table itself
	named int

	mu          sync.Mutex          // guards the rest
	unreachable map[string][]string // nodes that a node cannot reach on the bus
	draining    map[string]bool
	owners      map[int]string
	terms       map[int]uint64 // of the last assignment
	assignments int
}

// testNode is a running node.
type testNode struct {
	*Service
	members []Node // as last passed to OnMembers; used by Run's goroutine, and by the test while that one waits
	stop    context.CancelFunc
	done    chan struct{}
	err     error // of its end; after done
}

const testParts = 16

func (w *world) join() {
	if err := w.joinAs(Version{}); err != nil {
		w.t.Fatal(err)
	}
}

// joinAs a release.
func (w *world) joinAs(v Version) error {
	w.named++
	name := fmt.Sprintf("node-%d", w.named)
	grants := map[int]Grant{} // used by Run's goroutine only
	work := Work{Kind: "fanout", Parts: testParts,
		Assigned: func(g Grant) {
			w.mu.Lock()
			defer w.mu.Unlock()
			p := g.Part
			if o := w.owners[p]; o != "" {
				w.t.Errorf("part %d was assigned to %s while %s owned it", p, name, o)
			}
			if g.Term <= w.terms[p] {
				w.t.Errorf("%s has part %d in term %d, after term %d", name, p, g.Term, w.terms[p])
			}
			if !g.Held() || g.Context().Err() != nil {
				w.t.Errorf("%s got part %d by a grant that has ended", name, p)
			}
			w.terms[p], grants[p] = g.Term, g
			w.owners[p] = name
			w.assignments++
		},
		Revoked: func(p int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.owners[p] != name {
				w.t.Errorf("part %d was revoked from %s; its owner is %q", p, name, w.owners[p])
			}
			if g := grants[p]; g.Held() || g.Context().Err() == nil {
				w.t.Errorf("part %d was revoked from %s, and its grant is still held", p, name)
			}
			delete(w.owners, p)
		}}
	a := &testNode{done: make(chan struct{})}
	onMembers := func(nodes []Node) { a.members = nodes }
	unreachable := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.unreachable[name]
	}
	s, err := New(w.t.Context(), Deps{Work: []Work{work}, OnMembers: onMembers, Unreachable: unreachable, Gateway: func() Gateway { return w.gateway(name) }, Logger: slog.New(slog.DiscardHandler)}, Config{Node: name, Address: name + ":1", Idle: w.idle, Version: v})
	if err != nil {
		w.t.Fatal(err)
	}
	reached := store(nodeTable{w.table, name})
	if w.wrap != nil {
		reached = w.wrap(nodeTable{w.table, name})
	}
	s.store = withTimeouts(reached)
	if err := s.awaitCompatible(w.t.Context()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(w.t.Context())
	a.Service, a.stop = s, stop
	go func() {
		defer close(a.done)
		if a.err = s.Run(ctx); a.err != nil && !errors.Is(a.err, errVersion) {
			w.t.Errorf("error %v, want none or %v", a.err, errVersion)
		}
	}()
	w.nodes[name] = a
	return nil
}

// stop one node; it removes its row if it can reach the store.
func (w *world) stop(name string) {
	w.nodes[name].stop()
	<-w.nodes[name].done
	delete(w.nodes, name)
}

func (w *world) setReachable(name string, can bool) {
	w.table.mu.Lock()
	w.table.disconnected[name] = !can
	w.table.reconnected.Broadcast()
	w.table.mu.Unlock()
}

// end stops all nodes, and reconnects the store, so that pending calls of stopped nodes return.
func (w *world) end() {
	for name := range w.nodes {
		w.stop(name)
	}
	w.table.mu.Lock()
	clear(w.table.disconnected)
	w.table.reconnected.Broadcast()
	w.table.mu.Unlock()
}

// checkSettled checks that live nodes own all parts in even shares, and that all nodes see the same owners.
func (w *world) checkSettled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	shares := map[string]int{}
	for p := range testParts {
		shares[w.owners[p]]++
		for name, n := range w.nodes {
			if h := n.Owner("fanout", p); h != w.owners[p] {
				w.t.Errorf("%s sees %q as the owner of part %d; it is %q", name, h, p, w.owners[p])
			}
		}
	}
	for name, n := range shares {
		if w.nodes[name] == nil || n > (testParts+len(w.nodes)-1)/len(w.nodes) {
			w.t.Errorf("%q owns %d of %d parts; %d nodes are alive", name, n, testParts, len(w.nodes))
		}
	}
	for name, n := range w.nodes {
		if len(n.Nodes()) != len(w.nodes) {
			w.t.Errorf("%s sees %v", name, n.Nodes())
		}
		if !slices.Equal(n.members, n.Nodes()) || slices.ContainsFunc(n.members, func(o Node) bool { return o.Address != o.Name+":1" }) {
			w.t.Errorf("%s: OnMembers got %v, and Nodes returns %v", name, n.members, n.Nodes())
		}
	}
}

// Nodes join, leave and lose the store at random. No two nodes ever own a part at the same time, terms rise, and once changes stop every
// part has an owner.
func TestAPartHasOneOwnerAtATime(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
			w.join()
			for range 30 {
				time.Sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
				names := make([]string, 0, len(w.nodes))
				for n := range w.nodes {
					names = append(names, n)
				}
				slices.Sort(names)
				some := names[r.IntN(len(names))]
				switch n := r.IntN(10); {
				case n < 3 && len(names) < 5:
					w.join()
				case n < 5 && len(names) > 1:
					w.stop(some)
				case n < 8:
					w.setReachable(some, false)
				default:
					for _, n := range names {
						w.setReachable(n, true)
					}
				}
			}
			for n := range w.nodes {
				w.setReachable(n, true)
			}
			time.Sleep(90 * time.Second) // long enough to delete the rows of dead nodes
			synctest.Wait()
			w.checkSettled()
			if len(w.table.members) != len(w.nodes) {
				t.Errorf("seed %d: there are rows of %d nodes; %d are alive", seed, len(w.table.members), len(w.nodes))
			}
			w.end()
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.owners) != 0 {
				t.Errorf("seed %d: stopped nodes still own parts: %v", seed, w.owners)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Parts do not move while the members stay the same, and a node that joins takes no more than its share.
func TestPartsMoveOnlyWhenMembersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		for range 3 {
			w.join()
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		before := w.assignments
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.assignments != before {
			t.Errorf("%d parts moved although the members stayed the same", w.assignments-before)
		}
		w.join()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.checkSettled()
		if moved := w.assignments - before; moved > testParts/2 {
			t.Errorf("%d of %d parts moved when one node joined", moved, testParts)
		}
		w.end()
	})
}

// The store is down for all nodes. The first node that reaches it again does not consider the others dead, since they could not send
// heartbeats.
func TestAnOutageOfTheStoreKillsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		for range 3 {
			w.join()
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		for n := range w.nodes {
			w.setReachable(n, false)
		}
		time.Sleep(30 * time.Second)
		w.setReachable("node-1", true)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if n := len(w.nodes["node-1"].Nodes()); n != 3 {
			t.Errorf("the first node that reaches the store sees %d nodes; want 3", n)
		}
		w.mu.Lock()
		for p, node := range w.owners {
			if node != "node-1" {
				t.Errorf("part %d is owned by %s, which cannot reach the store", p, node)
			}
		}
		if n := len(w.owners); n > (testParts+2)/3 {
			t.Errorf("the first node that reaches the store owns %d of %d parts", n, testParts)
		}
		w.mu.Unlock()
		w.setReachable("node-2", true)
		w.setReachable("node-3", true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.checkSettled()
		w.end()
	})
}

// Idle nodes own no parts, not even when the last worker has left, but they see the owners.
func TestIdleNodesTakeNoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}}
		w.join()
		w.idle = true
		w.join()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for p := range testParts {
			if h := w.nodes["node-2"].Owner("fanout", p); h != "node-1" {
				t.Errorf("the owner of part %d is %q; want node-1", p, h)
			}
		}
		w.stop("node-1")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(w.owners) > 0 {
			t.Errorf("idle nodes own parts: %v", w.owners)
		}
		w.stop("node-2")
	})
}

// A single node without a database owns all parts at once.
func TestASingleNodeOwnsAllParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assigned, changed, revoked := 0, 0, 0
		s, err := New(t.Context(), Deps{Logger: slog.New(slog.DiscardHandler), Work: []Work{{Kind: "fanout", Parts: 4,
			Assigned: func(Grant) { assigned++ }, Revoked: func(int) { revoked++ }, OwnerChanged: func(_ int, node string) {
				if node != "only" {
					t.Errorf("the owner of a part is %q; want only", node)
				}
				changed++
			}}}}, Config{Node: "only"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if assigned != 4 || changed != 4 || s.Owner("fanout", 3) != "only" || len(s.Nodes()) != 1 {
			t.Errorf("%d parts were assigned, %d changed owner, and %q owns the last; want 4, 4 and only", assigned, changed, s.Owner("fanout", 3))
		}
		stop()
		if err := <-done; err != nil || revoked != 4 {
			t.Errorf("Run returned %v, and %d parts were revoked; want nil and 4", err, revoked)
		}
	})
}

// Of two processes with the same name, the later one keeps it, and the earlier one stops with an error.
func TestALaterProcessTakesTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := newTable()
		run := func(ctx context.Context) chan error {
			s, err := New(ctx, Deps{Logger: slog.New(slog.DiscardHandler)}, Config{Node: "same"})
			if err != nil {
				t.Fatal(err)
			}
			s.store = withTimeouts(nodeTable{shared, "same"})
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			return done
		}
		first := run(t.Context())
		time.Sleep(1500 * time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		second := run(ctx)
		if err := <-first; !errors.Is(err, errNameTaken) {
			t.Errorf("Run of the first process returned %v; want errNameTaken", err)
		}
		time.Sleep(5 * time.Second)
		stop()
		if err := <-second; err != nil {
			t.Errorf("Run of the second process returned %v; want nil", err)
		}
		if len(shared.members) != 0 {
			t.Errorf("rows remain: %v", shared.members)
		}
	})
}

func TestAssignOwnersIsEvenAndStable(t *testing.T) {
	nodes := []string{"a", "b", "c", "d", "e"}
	for n := 1; n <= len(nodes); n++ {
		out := assignOwners("x", 64, nodes[:n])
		load := map[string]int{}
		for _, o := range out {
			load[o]++
		}
		for name, l := range load {
			if l > (64+n-1)/n {
				t.Errorf("%d nodes: %s has %d", n, name, l)
			}
		}
		reversed := slices.Clone(nodes[:n])
		slices.Reverse(reversed)
		if again := assignOwners("x", 64, reversed); !slices.Equal(again, out) {
			t.Errorf("%d nodes: the result depends on their order", n)
		}
	}
	if out := assignOwners("x", 3, nil); out != nil {
		t.Errorf("without nodes the owners are %v; want none", out)
	}
}

// The owners are those by the definition of rendezvous hashing with bounded loads, in any release.
func TestAssignOwnersByDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		nodes := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,2}[0-9]`), 1, 9, rapid.ID[string]).Draw(r, "nodes")
		parts := rapid.IntRange(1, 30).Draw(r, "parts")
		load := map[string]int{}
		for i, got := range assignOwners("k", parts, nodes) {
			ranked := slices.Clone(nodes)
			slices.SortFunc(ranked, func(a, b string) int {
				return cmp.Or(cmp.Compare(weight(hashNode("k", b), i), weight(hashNode("k", a), i)), cmp.Compare(a, b))
			})
			at := slices.IndexFunc(ranked, func(n string) bool { return load[n] < (parts+len(nodes)-1)/len(nodes) })
			if load[ranked[at]]++; got != ranked[at] {
				r.Fatalf("part %d belongs to %s, want %s", i, got, ranked[at])
			}
		}
	})
	want := []string{"node-3", "node-4", "node-3", "node-2", "node-4", "node-2"}
	if got := assignOwners("partition", 6, []string{"node-1", "node-2", "node-3", "node-4"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	for _, c := range []Config{{}, {Node: "a", HeartbeatInterval: time.Second, NodeTimeout: 3 * time.Second}} {
		if _, err := New(t.Context(), Deps{}, c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
