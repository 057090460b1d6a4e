package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// table is the store in memory, which many nodes share. Its answers are compared with the database's in store_test.go.
type table struct {
	mu      sync.Mutex // guards all
	members map[string]member
	parts   map[part]holding
	agreed  int
	away    map[string]bool // nodes that cannot reach it
	back    *sync.Cond      // on mu: one of them can again
	stuck   int             // calls that were
}

func newTable() *table {
	t := &table{members: map[string]member{}, parts: map[part]holding{}, away: map[string]bool{}}
	t.back = sync.NewCond(&t.mu)
	return t
}

// at is the table as a node reaches it.
type at struct {
	*table
	node string
}

var errAway = errors.New("the store cannot be reached")

// reach waits for the store as over a cable that was pulled out, whatever the caller's time. What was under way is lost, or does its work
// when the cable is in again.
func (a at) reach() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.away[a.node] {
		return nil
	}
	for a.away[a.node] {
		a.back.Wait()
	}
	if a.stuck++; a.stuck%2 == 0 {
		return errAway
	}
	return nil
}

func (a at) beat(_ context.Context, m member, first bool) (state, error) {
	if err := a.reach(); err != nil {
		return state{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.members[m.Name]; ok && !first && o.incarnation != m.incarnation {
		return state{}, errOther
	}
	a.members[m.Name] = m
	return a.state(), nil
}

// state is a copy; a.mu is locked.
func (a at) state() state {
	return state{maps.Clone(a.members), maps.Clone(a.parts), a.agreed}
}

func (a at) peek(context.Context) (state, error) {
	if err := a.reach(); err != nil {
		return state{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state(), nil
}

func (a at) agree(_ context.Context, protocol int) (bool, error) {
	if err := a.reach(); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if protocol <= a.agreed {
		return false, nil
	}
	for _, m := range a.members {
		if m.Speaks < protocol {
			return false, nil
		}
	}
	a.agreed = protocol
	return true, nil
}

func (a at) apply(_ context.Context, changes []change) ([]bool, error) {
	if err := a.reach(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	made := make([]bool, len(changes))
	for i, c := range changes {
		if a.parts[c.part].term == c.term {
			a.parts[c.part], made[i] = holding{c.to, c.term + 1}, true
		}
	}
	return made, nil
}

func (a at) leave(_ context.Context, m member) error {
	if err := a.reach(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.members[m.Name]; !ok || o.incarnation != m.incarnation {
		return nil
	}
	delete(a.members, m.Name)
	for p, h := range a.parts {
		if h.node == m.Name {
			a.parts[p] = holding{"", h.term + 1}
		}
	}
	return nil
}

func (a at) forget(_ context.Context, dead []member) error {
	if err := a.reach(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range dead {
		if a.members[m.Name] == m {
			delete(a.members, m.Name)
		}
	}
	return nil
}

// world has nodes that come and go, and sees who works what.
type world struct {
	t     *testing.T
	table *table
	nodes map[string]*actor
	idle  bool // the next to join takes no parts
	named int

	mu     sync.Mutex          // guards the rest
	cut    map[string][]string // whom a node does not reach on the bus
	works  map[int]string
	begins int
}

// actor is a node that runs.
type actor struct {
	*Service
	met  []Node // last; of Run's goroutine, and the test's while that waits
	stop context.CancelFunc
	done chan struct{}
	err  error // of its end; after done
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
	work := Work{Kind: "carry", Parts: testParts,
		Begin: func(p int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if o := w.works[p]; o != "" {
				w.t.Errorf("%s began part %d while %s had it", name, p, o)
			}
			w.works[p] = name
			w.begins++
		},
		End: func(p int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.works[p] != name {
				w.t.Errorf("%s ended part %d, which %q had", name, p, w.works[p])
			}
			delete(w.works, p)
		}}
	a := &actor{done: make(chan struct{})}
	met := func(nodes []Node) { a.met = nodes }
	cut := func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.cut[name]
	}
	s, err := New(w.t.Context(), Deps{Work: []Work{work}, Met: met, Cut: cut, Logger: slog.New(slog.DiscardHandler)}, Config{Node: name, Address: name + ":1", Idle: w.idle, Version: v})
	if err != nil {
		w.t.Fatal(err)
	}
	s.store = promptly(at{w.table, name})
	if err := s.meet(w.t.Context()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(w.t.Context())
	a.Service, a.stop = s, stop
	go func() {
		defer close(a.done)
		if a.err = s.Run(ctx); a.err != nil && !errors.Is(a.err, errVersion) {
			w.t.Error(a.err)
		}
	}()
	w.nodes[name] = a
	return nil
}

// stop one node, which says so if it can.
func (w *world) stop(name string) {
	w.nodes[name].stop()
	<-w.nodes[name].done
	delete(w.nodes, name)
}

func (w *world) reach(name string, can bool) {
	w.table.mu.Lock()
	w.table.away[name] = !can
	w.table.back.Broadcast()
	w.table.mu.Unlock()
}

// end stops all nodes, and lets go what is under way of those that were stopped.
func (w *world) end() {
	for name := range w.nodes {
		w.stop(name)
	}
	w.table.mu.Lock()
	clear(w.table.away)
	w.table.back.Broadcast()
	w.table.mu.Unlock()
}

// settled wants each part to be worked, by living nodes in even shares, and all to agree on it.
func (w *world) settled() {
	w.mu.Lock()
	defer w.mu.Unlock()
	shares := map[string]int{}
	for p := range testParts {
		shares[w.works[p]]++
		for name, n := range w.nodes {
			if h := n.Holder("carry", p); h != w.works[p] {
				w.t.Errorf("%s believes that part %d is %q's; %q has it", name, p, h, w.works[p])
			}
		}
	}
	for name, n := range shares {
		if w.nodes[name] == nil || n > (testParts+len(w.nodes)-1)/len(w.nodes) {
			w.t.Errorf("%q has %d parts of %d; %d nodes live", name, n, testParts, len(w.nodes))
		}
	}
	for name, n := range w.nodes {
		if len(n.Nodes()) != len(w.nodes) {
			w.t.Errorf("%s sees %v", name, n.Nodes())
		}
		if !slices.Equal(n.met, n.Nodes()) || slices.ContainsFunc(n.met, func(o Node) bool { return o.Address != o.Name+":1" }) {
			w.t.Errorf("%s was told of %v, and sees %v", name, n.met, n.Nodes())
		}
	}
}

// TestOneNodeAtATime has nodes come, go, and lose sight of the store at random moments: no two ever work one part, and when all is
// quiet every part is worked.
func TestOneNodeAtATime(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}}
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
					w.reach(some, false)
				default:
					for _, n := range names {
						w.reach(n, true)
					}
				}
			}
			for n := range w.nodes {
				w.reach(n, true)
			}
			time.Sleep(90 * time.Second) // also for the rows of the dead
			synctest.Wait()
			w.settled()
			if len(w.table.members) != len(w.nodes) {
				t.Errorf("seed %d: the rows of %d nodes are there; %d live", seed, len(w.table.members), len(w.nodes))
			}
			w.end()
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.works) != 0 {
				t.Errorf("seed %d: parts are worked by nodes that stopped: %v", seed, w.works)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestNobodyIsMovedForNothing: in quiet times parts stay, and one more node takes no more than its share.
func TestNobodyIsMovedForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}}
		for range 3 {
			w.join()
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		before := w.begins
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.begins != before {
			t.Errorf("%d parts moved while nothing happened", w.begins-before)
		}
		w.join()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.settled()
		if moved := w.begins - before; moved > testParts/2 {
			t.Errorf("%d of %d parts moved for one node more", moved, testParts)
		}
		w.end()
	})
}

// TestNobodyDiesOfAnOutage: the store is away for all nodes. The first that reaches it again does not take the others, who could not
// beat, for dead.
func TestNobodyDiesOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}}
		for range 3 {
			w.join()
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		for n := range w.nodes {
			w.reach(n, false)
		}
		time.Sleep(30 * time.Second)
		w.reach("node-1", true)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if n := len(w.nodes["node-1"].Nodes()); n != 3 {
			t.Errorf("the first that comes back sees %d nodes", n)
		}
		w.mu.Lock()
		for p, node := range w.works {
			if node != "node-1" {
				t.Errorf("part %d is worked by %s, who cannot reach the store", p, node)
			}
		}
		if n := len(w.works); n > (testParts+2)/3 {
			t.Errorf("the first that comes back has taken %d parts of %d", n, testParts)
		}
		w.mu.Unlock()
		w.reach("node-2", true)
		w.reach("node-3", true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.settled()
		w.end()
	})
}

// TestIdleNodesTakeNoParts, also not those of the last worker that goes; they see who has what.
func TestIdleNodesTakeNoParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}}
		w.join()
		w.idle = true
		w.join()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for p := range testParts {
			if h := w.nodes["node-2"].Holder("carry", p); h != "node-1" {
				t.Errorf("part %d is %q's", p, h)
			}
		}
		w.stop("node-1")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(w.works) > 0 {
			t.Errorf("parts are worked: %v", w.works)
		}
		w.stop("node-2")
	})
}

// TestAloneHasAll: a node that has no others has all parts at once.
func TestAloneHasAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, moved, ended := 0, 0, 0
		s, err := New(t.Context(), Deps{Logger: slog.New(slog.DiscardHandler), Work: []Work{{Kind: "carry", Parts: 4,
			Begin: func(int) { began++ }, End: func(int) { ended++ }, Moved: func(_ int, node string) {
				if node != "only" {
					t.Errorf("a part is %q's", node)
				}
				moved++
			}}}}, Config{Node: "only"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if began != 4 || moved != 4 || s.Holder("carry", 3) != "only" || len(s.Nodes()) != 1 {
			t.Errorf("%d parts began, %d moved, the last is %q's", began, moved, s.Holder("carry", 3))
		}
		stop()
		if err := <-done; err != nil || ended != 4 {
			t.Errorf("%v, and %d parts ended", err, ended)
		}
	})
}

// TestASecondOfOneName: the later process has the name; the earlier one stops and says why.
func TestASecondOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := newTable()
		run := func(ctx context.Context) chan error {
			s, err := New(ctx, Deps{Logger: slog.New(slog.DiscardHandler)}, Config{Node: "same"})
			if err != nil {
				t.Fatal(err)
			}
			s.store = promptly(at{shared, "same"})
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			return done
		}
		first := run(t.Context())
		time.Sleep(1500 * time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		second := run(ctx)
		if err := <-first; !errors.Is(err, errOther) {
			t.Errorf("the first one ended with %v", err)
		}
		time.Sleep(5 * time.Second)
		stop()
		if err := <-second; err != nil {
			t.Errorf("the second one ended with %v", err)
		}
		if len(shared.members) != 0 {
			t.Errorf("rows are left: %v", shared.members)
		}
	})
}

func TestSpread(t *testing.T) {
	nodes := []string{"a", "b", "c", "d", "e"}
	for n := 1; n <= len(nodes); n++ {
		out := spread("x", 64, nodes[:n])
		load := map[string]int{}
		for _, o := range out {
			load[o]++
		}
		for name, l := range load {
			if l > (64+n-1)/n {
				t.Errorf("%d nodes: %s has %d", n, name, l)
			}
		}
		turned := slices.Clone(nodes[:n])
		slices.Reverse(turned)
		if again := spread("x", 64, turned); !slices.Equal(again, out) {
			t.Errorf("%d nodes: the order in which they are named matters", n)
		}
	}
	if out := spread("x", 3, nil); out != nil {
		t.Errorf("nobody has %v", out)
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{}, {Node: "a", Every: time.Second, Patience: 3 * time.Second}} {
		if _, err := New(t.Context(), Deps{}, c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
