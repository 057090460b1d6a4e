package cluster

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/platform/lease"
)

// decisions is what a node decides about members and parts: who is alive, which parts it gives up and which it wants. It does no I/O, and reads no clock
// but the one that it is given, so a simulation runs the same code as a Service (Simulated). It belongs to one goroutine.
//
// A heartbeat is a series of steps: beginHeartbeat, then the caller writes the row and reads the tables, heartbeatSucceeded, plan, then the caller makes the
// changes, and applied.
type decisions struct {
	config Config
	work   []Work
	logger *slog.Logger
	clock  clocks
	me     member

	// lapsed: this heartbeat's row says that no heartbeat succeeded until this node's grants had ended. Others do not count such heartbeats, so that they take
	// over the parts of a node whose heartbeats are stored but answered too late.
	lapsed bool
	// resumes: the next heartbeat is counted again, since the last one succeeded, or there was none.
	resumes bool

	heartbeats lease.Heartbeats // of the members
	live       []*member        // of the last heartbeat; the next one uses it again
	grants     map[part]heldGrant
	validity   *lease.Validity // of all grants
	subsets    *subsets
	intended   *assignments

	unloggedAssigned, unloggedRevoked, unloggedRaised []part
}

// newDecisions returns the decisions of a node without grants, whose validity has ended. config has no zero values.
func newDecisions(config Config, work []Work, logger *slog.Logger, c clocks, incarnation uint64) decisions {
	me := member{Node: Node{Name: config.Node, Address: config.Address, Idle: config.Idle, Version: config.Version}, incarnation: incarnation}
	return decisions{config: config, work: work, logger: logger, clock: c, me: me, grants: map[part]heldGrant{}, validity: lease.NewValidity(), resumes: true, subsets: &subsets{}, intended: newAssignments()}
}

// clocks of a node.
type clocks struct {
	// now is for intervals. moment reads the clocks of the grants' validity.
	now    func() time.Time
	moment func() lease.Moment
}

// remaining returns for how long this node's grants last, unless another heartbeat succeeds.
func (d *decisions) remaining() time.Duration { return d.validity.Remaining(d.clock.moment()) }

// beginHeartbeat counts the heartbeat in the node's row. It returns the moment before the heartbeat is sent, and how long the store may take.
func (d *decisions) beginHeartbeat() (began lease.Moment, timeout time.Duration) {
	began = d.clock.moment()
	timeout = d.config.NodeTimeout / 2
	if len(d.grants) > 0 {
		timeout = min(timeout, d.validity.Remaining(began))
	}
	d.me.heartbeat++
	d.lapsed = !d.resumes && d.validity.Remaining(began) <= 0
	d.resumes = false
	return began, timeout
}

// heartbeatSucceeded prolongs the grants after a heartbeat that began at a moment, and separates live members from dead ones in what it read. It fails if
// this node cannot run beside a live one.
func (d *decisions) heartbeatSucceeded(began lease.Moment, now state) (live, dead []*member, err error) {
	if d.resumes = d.lapsed; !d.lapsed {
		// Other nodes measure NodeTimeout from the moment at which they see this heartbeat, which is later than began.
		d.validity.Extend(began, d.config.NodeTimeout*3/4)
	}
	live, dead = d.observe(now, d.clock.now())
	return live, dead, d.checkVersions(now, live)
}

// observe separates live members from dead ones. If this node could not read the rows for a while, the silence before proves nothing.
func (d *decisions) observe(now state, at time.Time) (live, dead []*member) {
	d.heartbeats.Begin(at, d.config.NodeTimeout/2)
	live = d.live[:0]
	leastLive, leastKept := at.Add(-d.config.NodeTimeout), at.Add(-10*d.config.NodeTimeout)
	for _, m := range now.members {
		switch since := d.aliveSince(m, at); {
		case m.Name == d.me.Name || !since.Before(leastLive):
			live = append(live, m)
		case since.Before(leastKept):
			dead = append(dead, m)
		}
	}
	d.live = live
	return live, dead
}

// aliveSince returns when the member's last heartbeat was first read.
func (d *decisions) aliveSince(m *member, at time.Time) time.Time {
	beat := lease.Beat{Incarnation: m.incarnation, Count: m.heartbeat}
	if m.lapsed() {
		beat.Count = 0
	}
	return d.heartbeats.Seen(m.Name, beat, at)
}

// plan revokes the grants of parts that this node has lost or must give up, and returns the changes that move parts towards their intended owners, as far
// as this node can: it gives up parts that should belong to another node, and takes over parts that should be its own if nobody owns them or their owner
// is dead.
func (d *decisions) plan(now state, live []*member) (changes []change) {
	if d.lapsed { // others may take over its parts
		return nil
	}
	idle := func(m *member) bool { return m.Idle }
	workers := live
	if slices.ContainsFunc(live, idle) {
		workers = slices.DeleteFunc(slices.Clone(live), idle)
	}
	workers = d.subsets.connected(workers)
	d.intended.follow(workers)
	for _, w := range d.work {
		for number, intended := range d.intended.owners(w.Kind, w.Parts) {
			p := part{w.Kind, number}
			o := now.parts[p]
			next := o.term + 1
			ours := o.node == d.me.Name
			held, granted := d.grants[p]
			switch {
			case !ours && granted: // another node took it
				d.revoke(p)
			case ours && intended != d.me.Name:
				d.revoke(p)
				changes = append(changes, change{p, o.term, next, ""})
			case granted && held.Latest() >= o.term:
				next = held.Latest() + 1
				d.unloggedRaised = append(d.unloggedRaised, p)
				d.revoke(p)
			}
			if intended != d.me.Name {
				continue
			}
			_, granted = d.grants[p]
			if !granted && (ours || o.node == "" || findMember(live, o.node) == nil) {
				changes = append(changes, change{p, o.term, next, d.me.Name})
			}
		}
	}
	return changes
}

// applied takes the parts that the store has given to this node. It returns the owners of parts after the changes that were made.
func (d *decisions) applied(parts map[part]ownership, changes []change, made []bool) map[part]ownership {
	after := maps.Clone(parts)
	if after == nil {
		after = map[part]ownership{}
	}
	for i, c := range changes {
		if !made[i] {
			continue
		}
		after[c.part] = ownership{c.owner, c.next}
		if c.owner == d.me.Name && d.remaining() > 0 {
			d.assign(c.part, c.next)
		}
	}
	return after
}

// names returns the names of members.
func names(members []*member) []string {
	list := make([]string, len(members))
	for i, m := range members {
		list[i] = m.Name
	}
	return list
}

// setUnreachable says in the node's row which nodes it cannot reach: first itself, while its heartbeats have lapsed.
func (d *decisions) setUnreachable(nodes []string) {
	d.me.unreachable = strings.Join(nodes, " ")
	if d.lapsed {
		d.me.unreachable = strings.TrimSuffix(d.me.Name+" "+d.me.unreachable, " ")
	}
}

// lapsed reports whether the node says that its heartbeats have lapsed.
func (m *member) lapsed() bool {
	rest, found := strings.CutPrefix(m.unreachable, m.Name)
	return found && (rest == "" || rest[0] == ' ')
}
