// Package simulator runs a cluster of many nodes, and its clients, in virtual time: the product's own decisions about members, parts, grants, gateways, new
// connections and reconnects (packages cluster, discovery, overload and reconnect), with a model of the shared tables, the bus, the network and the
// processors around them. It injects faults and checks invariants at each step.
//
// One goroutine takes events from a queue, and all chance comes from one seeded generator, so a seed always gives the same run. It does no I/O.
package simulator

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// Config of a simulation.
type Config struct {
	Nodes int
	// Zones are groups of nodes that fail together.
	Zones int
	// Clients are simulated in groups of equal size (cohorts), at most maxCohorts: the clients of one do the same at the same time.
	Clients int
	Seed    uint64
	// Duration is in virtual time.
	Duration time.Duration
	// Faults are the kinds to inject.
	Faults []string
	// HeartbeatInterval and NodeTimeout are the cluster's settings.
	HeartbeatInterval, NodeTimeout time.Duration

	cohorts int // 0 means maxCohorts
	broken  broken
}

// broken decisions, which tests inject to see that the checks find them.
type broken struct {
	ignoreTerms   bool // the tables make changes whatever the term
	ignoreFence   bool // stores accept writes of any term
	noExpiry      bool // nodes keep their grants without heartbeats
	stuck         bool // nodes take no parts after the warm-up
	anyRate       bool // nodes accept connections as fast as they come
	noReconnect   bool // clients give up after a failure
	assign        func(kind string, parts int, nodes []string) []string
	repeatedTerms bool // a new grant has the term of the last one
}

const (
	maxCohorts = 20_000
	warmUp     = 2 * time.Minute
	// ownBound after the last fault each part is owned, by its intended owner: silence that a node could not read is forgotten (node_timeout), a member is
	// dead after node_timeout, and one that was unreachable on the bus has answered for 10 s, with a probe in progress of 5 s.
	ownBound = 30 * time.Second
	// connectBound after the last fault all clients are connected: the longest wait of a client, and the 30 s in which a storm is to end.
	connectBound = time.Minute
)

// works are the kinds of work of the product.
var works = []struct { //nolint:gochecknoglobals // constant
	kind  string
	parts int
}{{"partition", 64}, {"outbox", 1}, {"search", 1}}

type simulation struct {
	config Config
	rng    *rand.Rand
	now    time.Duration
	queue  queue

	tables      *cluster.Tables
	assignments *cluster.SharedAssignments
	nodes       []*node
	number      map[string]int // of a node, by name
	troubled    map[int]bool   // nodes that may not answer probes
	parts       []*partState
	cohorts     []*cohort
	perCohort   int

	connected  int // clients
	lastFault  time.Duration
	recovered  bool // all parts are owned since the last fault
	allBack    bool // all clients are connected since the last fault
	stormBegan time.Duration
	settled    []string // owners when all was last settled
	members    []string // and the nodes then
	intended   []string // owners as all live nodes should compute them; nil: to be computed

	trace     trace
	result    Result
	violation *Violation
	progress  func(percent float64)
	gaps      []time.Duration // for which parts had no owner
}

// Run runs a simulation. progress is called now and then with the share of virtual time that has passed; it may be nil. The result has a Violation if an
// invariant does not hold: then the simulation ended there.
func Run(config Config, progress func(percent float64)) *Result {
	s := newSimulation(config, progress)
	s.start()
	step := config.Duration / 200
	for next := time.Duration(0); s.violation == nil; {
		e, ok := s.queue.pop()
		if !ok || e.at > config.Duration {
			break
		}
		s.now = e.at
		s.trace.event(&e)
		s.result.Events++
		s.handle(&e)
		if s.now >= next && progress != nil {
			progress(float64(s.now) / float64(config.Duration))
			next += step
		}
	}
	return s.finish()
}

func newSimulation(config Config, progress func(float64)) *simulation {
	s := &simulation{config: config, rng: rand.New(rand.NewPCG(config.Seed, 0x5ee7)), tables: cluster.NewTables(cluster.Speaks), number: map[string]int{}, troubled: map[int]bool{},
		assignments: cluster.NewSharedAssignments(config.broken.assign), progress: progress, trace: newTrace()}
	s.tables.IgnoreTerms = config.broken.ignoreTerms
	for _, w := range works {
		for i := range w.parts {
			s.parts = append(s.parts, &partState{kind: w.kind, number: i})
		}
	}
	for i := range config.Nodes {
		n := &node{number: i, name: fmt.Sprintf("node-%04d", i), zone: i % config.Zones, slow: 1, drift: 1 + (s.rng.Float64()-0.5)*1e-3, offset: s.between(-time.Minute, time.Minute)}
		n.address = "wss://" + n.name + ".example.com/v1/socket"
		s.nodes = append(s.nodes, n)
		s.number[n.name], s.number[n.address] = i, i
	}
	cohorts := cmp.Or(config.cohorts, maxCohorts)
	s.perCohort = (config.Clients + cohorts - 1) / cohorts
	for left := config.Clients; left > 0; left -= s.perCohort {
		s.cohorts = append(s.cohorts, s.newCohort(len(s.cohorts), min(s.perCohort, left)))
	}
	s.result = Result{Seed: config.Seed, Nodes: config.Nodes, Clients: config.Clients, Cohorts: len(s.cohorts), Faults: map[string]int{}, VirtualS: config.Duration.Seconds()}
	return s
}

// start schedules what happens by itself.
func (s *simulation) start() {
	for _, n := range s.nodes {
		s.at(s.between(0, 10*time.Second), func() { s.startNode(n) })
	}
	for _, c := range s.cohorts {
		s.push(event{at: s.between(30*time.Second, 75*time.Second), kind: attempt, a: int32(c.number)})
	}
	s.lastFault = warmUp - connectBound
	s.at(warmUp-connectBound+ownBound, s.checkOwned)
	s.at(warmUp, func() {
		s.checkSettled()
		s.nextEpisode()
	})
}

// handle handles an event.
func (s *simulation) handle(e *event) {
	switch e.kind {
	case call:
		e.do()
		return
	case attempt:
		s.attempt(s.cohorts[e.a], e.epoch)
		return
	case opened:
		s.opened(s.cohorts[e.a], e.epoch)
		return
	}
	n := s.nodes[e.a]
	if !n.up || n.epoch != e.epoch {
		return // of a process that has ended
	}
	if n.pausedUntil > s.now && e.kind != write && e.kind != apply {
		e.at = n.pausedUntil + s.between(0, 10*time.Millisecond)
		s.push(*e)
		return
	}
	switch e.kind {
	case tick:
		s.tick(n)
	case write:
		s.write(n, e.beat)
	case read:
		s.read(n, e.beat)
	case apply:
		s.apply(n, e.beat)
	case applied:
		s.appliedTo(n, e.beat)
	case expire:
		s.expire(n)
	case act:
		s.act(n, s.parts[e.b])
	case probe:
		s.probe(n)
	case probed:
		s.probed(n)
	case accept:
		s.accept(n)
	}
}

// between returns a random duration of at least least and below most.
func (s *simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64(most-least)))
}

func (s *simulation) push(e event) { s.queue.push(e) }

// at calls a function after a duration.
func (s *simulation) at(after time.Duration, do func()) {
	s.push(event{at: s.now + after, kind: call, do: do})
}

// clock is virtual time as decisions take it.
func (s *simulation) clock() time.Time { return time.Unix(0, int64(s.now)) }

// up returns the names of the nodes whose processes run, in order.
func (s *simulation) up() (list []string) {
	for _, n := range s.nodes {
		if n.up {
			list = append(list, n.name)
		}
	}
	return list
}

// finish completes the result.
func (s *simulation) finish() *Result {
	r := &s.result
	r.Trace = fmt.Sprintf("%016x", s.trace.hash)
	r.Violation = s.violation
	r.VirtualS = min(s.now, s.config.Duration).Seconds()
	if s.violation == nil {
		r.VirtualS = s.config.Duration.Seconds()
	}
	slices.Sort(s.gaps)
	if n := len(s.gaps); n > 0 {
		r.UnownedP50S, r.UnownedMaxS = s.gaps[n/2].Seconds(), s.gaps[n-1].Seconds()
	}
	return r
}
