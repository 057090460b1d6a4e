package simulator

import (
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// peer is what a node knows of another one by probes. A node that always answered has none: its probes change nothing.
type peer struct {
	cluster.Reachability
	failsAt time.Duration // when the probe in progress fails; 0: there is none
}

// probe probes the nodes that may not answer, and those that did not. The other probes are answered, and change nothing.
func (s *simulation) probe(n *node) {
	s.pushNode(n, probe, cluster.ProbeInterval)
	if len(s.troubled) == 0 && len(n.peers) == 0 {
		return
	}
	before := len(n.unreachable)
	targets := make([]int, 0, len(s.troubled)+len(n.peers))
	if n.busCut || n.busLoss > 0 {
		for i := range s.nodes {
			targets = append(targets, i)
		}
	} else {
		for i := range s.troubled {
			targets = append(targets, i)
		}
		for i := range n.peers {
			targets = append(targets, i)
		}
		slices.Sort(targets)
		targets = slices.Compact(targets)
	}
	waits := false
	for _, i := range targets {
		m := s.nodes[i]
		p := n.peers[i]
		switch {
		case m == n:
		case !n.decides.Sees(m.name): // forgotten, as by a Prober
			delete(n.peers, i)
		case p != nil && p.failsAt > s.now: // the probe before is in progress
		case s.answers(n, m):
			if p == nil {
				continue
			}
			if p.Record(true, s.clock()); !p.Unreachable() {
				delete(n.peers, i)
			}
		default:
			if p == nil {
				p = &peer{}
				n.peers[i] = p
			}
			p.failsAt, waits = s.now+cluster.ProbeTimeout, true
		}
	}
	if waits {
		s.pushNode(n, probed, cluster.ProbeTimeout)
	}
	s.publish(n, before)
}

// answers reports whether a node's probe of another one is answered.
func (s *simulation) answers(n, m *node) bool {
	return m.up && m.pausedUntil <= s.now && !n.busCut && !m.busCut && !(n.busLoss+m.busLoss > 0 && s.rng.Float64() < n.busLoss+m.busLoss)
}

// probed lets the probes fail whose time is over.
func (s *simulation) probed(n *node) {
	before := len(n.unreachable)
	for _, p := range n.peers {
		if p.failsAt > 0 && p.failsAt <= s.now {
			p.failsAt = 0
			p.Record(false, s.clock())
		}
	}
	s.publish(n, before)
}

// publish updates the list of unreachable nodes.
func (s *simulation) publish(n *node, before int) {
	var list []string
	for i, p := range n.peers {
		if p.Unreachable() {
			list = append(list, s.nodes[i].name)
		}
	}
	slices.Sort(list)
	n.unreachable = list
	if len(list) != before {
		s.note(uint64(len(list))<<32, "%s does not reach %d nodes on the bus", n.name, len(list))
	}
}
