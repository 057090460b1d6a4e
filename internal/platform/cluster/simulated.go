package cluster

import (
	"log/slog"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/platform/lease"
)

// Simulated is a node of a simulated cluster. It makes the decisions of a Service by the same code; its caller has the clocks, the network and the Tables.
// Work's functions are called as a Service calls them. It belongs to one goroutine.
type Simulated struct {
	decisions
	first bool // no heartbeat has succeeded
}

// SimulatedClocks are a node's clocks: the monotonic one, since any time, and the wall clock.
type SimulatedClocks func() (monotonic time.Duration, wall time.Time)

// NewSimulated returns a node that has just started. config has no zero intervals. Processes of the same name have different incarnations.
func NewSimulated(config Config, work []Work, incarnation uint64, read SimulatedClocks) *Simulated {
	c := clocks{
		now: func() time.Time {
			monotonic, _ := read()
			return time.Unix(0, int64(monotonic))
		},
		moment: func() lease.Moment { return lease.MomentAt(read()) },
	}
	return &Simulated{decisions: newDecisions(config, work, slog.New(slog.DiscardHandler), c, incarnation), first: true}
}

// ShareAssignments has nodes of one simulation keep the assignments that they compute from the same workers together. assign replaces the computation, if it
// is not nil: for tests of what a simulation finds.
func (n *Simulated) ShareAssignments(with *SharedAssignments) { n.intended.assign = with.owners }

// SharedAssignments keeps the last assignments. It belongs to one goroutine.
type SharedAssignments struct {
	assign func(kind string, parts int, nodes []string) []string
	kept   []keptAssignment // the oldest first
}

type keptAssignment struct {
	kind   string
	parts  int
	nodes  []string
	owners []string
}

// sharedAssignments is how many are kept.
const sharedAssignments = 64

// NewSharedAssignments returns an empty store of assignments. assign computes them; nil means the product's code.
func NewSharedAssignments(assign func(kind string, parts int, nodes []string) []string) *SharedAssignments {
	if assign == nil {
		assign = assignOwners
	}
	return &SharedAssignments{assign: assign}
}

func (s *SharedAssignments) owners(kind string, parts int, nodes []string) []string {
	for i := len(s.kept) - 1; i >= 0; i-- {
		if k := &s.kept[i]; k.kind == kind && k.parts == parts && slices.Equal(k.nodes, nodes) {
			return k.owners
		}
	}
	owners := s.assign(kind, parts, nodes)
	if len(s.kept) == sharedAssignments {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, keptAssignment{kind, parts, nodes, owners})
	return owners
}

// Intended returns the owners of a kind's parts if the given nodes are the workers, ordered by name.
func (s *SharedAssignments) Intended(kind string, parts int, nodes []string) []string {
	return s.owners(kind, parts, nodes)
}

// SimulatedHeartbeat is a heartbeat in progress. The order of its calls is Write, Read, Apply if Read says so, and Applied after that.
type SimulatedHeartbeat struct {
	// Timeout is how long the caller waits for the tables before the heartbeat has failed.
	Timeout time.Duration

	node    *Simulated
	row     member
	began   lease.Moment
	now     state
	changes []change
	made    []bool
	dead    []*member
}

// Begin begins a heartbeat at the node. unreachable are the names of nodes that it cannot reach, sorted; gateway is what its row says of its gateway.
func (n *Simulated) Begin(unreachable []string, gateway string) *SimulatedHeartbeat {
	h := &SimulatedHeartbeat{node: n}
	h.began, h.Timeout = n.beginHeartbeat()
	n.setUnreachable(unreachable)
	n.me.gateway = gateway
	h.row = n.me
	return h
}

// Write writes the row and reads the tables. It fails if a later process has the node's name.
func (h *SimulatedHeartbeat) Write(t *Tables) (err error) {
	h.now, err = t.heartbeat(h.row, h.node.first)
	return err
}

// Read has the node decide by what was read. It reports whether there are changes to apply. If it fails, the node stops.
func (h *SimulatedHeartbeat) Read() (changes bool, err error) {
	n := h.node
	n.first = false
	live, dead, err := n.heartbeatSucceeded(h.began, h.now)
	if err != nil {
		return false, err
	}
	h.dead, h.changes = dead, n.plan(h.now, live)
	n.forgetLog()
	return len(h.changes)+len(h.dead) > 0, nil
}

// Apply makes the changes in the tables.
func (h *SimulatedHeartbeat) Apply(t *Tables) {
	if len(h.changes) > 0 {
		h.made = t.apply(h.changes)
	}
	t.removeDead(h.dead)
}

// Applied has the node take the parts that it was given.
func (h *SimulatedHeartbeat) Applied() {
	h.node.applied(h.now.parts, h.changes, h.made)
	h.node.forgetLog()
}

// End lets the tables use the heartbeat's memory again. The caller need not call it, and does not use the heartbeat afterwards.
func (h *SimulatedHeartbeat) End(t *Tables) {
	t.spare = append(t.spare, h.now.members)
	h.now = state{}
}

// Hurries reports whether the next heartbeat does not wait for the interval.
func (n *Simulated) Hurries() bool { return n.lapsed }

// Remaining returns for how long the node's grants last; it is not positive if they have ended.
func (n *Simulated) Remaining() time.Duration { return n.remaining() }

// Expire ends all grants: the node calls it when Remaining is not positive.
func (n *Simulated) Expire() {
	n.revokeAll("no heartbeat succeeded in time")
	n.forgetLog()
}

// Holds returns how many grants the node holds.
func (n *Simulated) Holds() int { return len(n.grants) }

// Leave gives up all parts, as a node that stops; LeaveTables follows when that reaches the tables.
func (n *Simulated) Leave() {
	n.revokeEach()
	n.forgetLog()
}

// LeaveTables deletes the node's row, and releases its parts.
func (n *Simulated) LeaveTables(t *Tables) { t.leave(n.me) }

// Live calls yield with the names of the nodes that were alive at the last heartbeat, ordered by name, and what their rows say of their gateways, until it
// returns false. Those whose lease has ended since are left out, as Service.Gateways does.
func (n *Simulated) Live(yield func(name, gateway string) bool) {
	now := n.clock.now()
	for _, m := range n.live {
		if m.Name == n.me.Name || now.Before(n.aliveSince(m, now).Add(n.config.NodeTimeout)) {
			if !yield(m.Name, m.gateway) {
				return
			}
		}
	}
}

// forgetLog drops what a Service would log.
func (d *decisions) forgetLog() {
	d.unloggedAssigned, d.unloggedRevoked, d.unloggedRaised = d.unloggedAssigned[:0], d.unloggedRevoked[:0], d.unloggedRaised[:0]
}

// Sees reports whether a node was alive at the last heartbeat.
func (n *Simulated) Sees(name string) bool { return findMember(n.live, name) != nil }
