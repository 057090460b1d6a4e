package simulator

import (
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// partState is what truly happens to a part, which no node knows.
type partState struct {
	kind   string
	number int

	holders []holder      // whose grants were not revoked
	term    uint64        // of the last grant
	since   time.Duration // when the last holder ended

	// The store that the owner writes to: the highest term in which a node has acquired the part, and that node.
	fence      uint64
	fenceOwner *node
}

// holder is a process with a grant.
type holder struct {
	node  *node
	epoch uint32
	grant cluster.Grant
}

func (s *simulation) part(kind string, number int) *partState {
	for _, p := range s.parts {
		if p.kind == kind && p.number == number {
			return p
		}
	}
	panic("simulator: no such part")
}

// valid reports whether a holder may act, by its own clocks.
func (h *holder) valid() bool {
	return h.node.up && h.node.epoch == h.epoch && h.grant.Held() && h.node.decides.Remaining() > 0
}

// assigned is called when a node is granted a part.
func (s *simulation) assigned(n *node, p *partState, g cluster.Grant) {
	term := g.Term
	if s.config.broken.repeatedTerms && p.term > 0 {
		term = p.term
	}
	s.note(term<<16^uint64(n.number), "%s is granted %s in term %d", n.name, p.name(), term)
	s.result.Assignments++
	if term == p.term {
		s.violate("one grant for each part and term", "%s was granted %s in term %d, in which it was granted before", n.name, p.name(), term)
	} else if term < p.term {
		s.violate("terms rise", "%s was granted %s in term %d after term %d", n.name, p.name(), term, p.term)
	}
	for i := range p.holders {
		if h := &p.holders[i]; h.valid() {
			s.violate("one valid grant for each part", "%s was granted %s in term %d, while the grant of %s in term %d is valid for another %v", n.name, p.name(), term, h.node.name, h.grant.Term, h.node.decides.Remaining())
		}
	}
	if len(p.holders) == 0 && s.now > warmUp {
		s.gaps = append(s.gaps, s.now-p.since)
	}
	p.term = term
	p.holders = append(p.holders, holder{n, n.epoch, g})
	s.push(event{at: s.now + s.between(time.Millisecond, 50*time.Millisecond), kind: act, a: int32(n.number), b: int32(slices.Index(s.parts, p)), epoch: n.epoch})
	if !n.expiring {
		n.expiring = true
		s.pushNode(n, expire, n.decides.Remaining()+time.Microsecond)
	}
	s.checkRecovered()
}

// revoked is called when a node loses a part.
func (s *simulation) revoked(n *node, p *partState) {
	s.note(uint64(n.number)<<24, "%s loses %s", n.name, p.name())
	p.drop(n, s.now)
}

// drop removes a node from the holders.
func (p *partState) drop(n *node, now time.Duration) {
	before := len(p.holders)
	p.holders = slices.DeleteFunc(p.holders, func(h holder) bool { return h.node == n })
	if before > 0 && len(p.holders) == 0 {
		p.since = now
	}
}

func (p *partState) name() string {
	return p.kind + " " + string(rune('0'+p.number/10)) + string(rune('0'+p.number%10))
}

// act is a write of the owner to its store, which compares terms. The process may have been paused since it saw that its grant was valid.
func (s *simulation) act(n *node, p *partState) {
	i := slices.IndexFunc(p.holders, func(h holder) bool { return h.node == n && h.epoch == n.epoch })
	if i < 0 || !p.holders[i].grant.Held() {
		return
	}
	g := p.holders[i].grant
	switch {
	case g.Term > p.fence:
		p.fence, p.fenceOwner = g.Term, n
	case g.Term == p.fence && p.fenceOwner == n:
	case g.Term < p.fence && !s.config.broken.ignoreFence:
		s.result.Fenced++
		s.note(g.Term<<8, "the store of %s refuses %s in term %d", p.name(), n.name, g.Term)
		g.Superseded(p.fence)
	default:
		s.violate("one node acts on a part", "the store of %s accepted a write of %s in term %d, after %s had acquired it in term %d", p.name(), n.name, g.Term, p.fenceOwner.name, p.fence)
	}
	s.push(event{at: s.now + time.Second, kind: act, a: int32(n.number), b: int32(slices.Index(s.parts, p)), epoch: n.epoch})
}

// terms returns the owners and terms in the tables.
func (s *simulation) terms() []tableRow {
	list := make([]tableRow, len(s.parts))
	for i, p := range s.parts {
		list[i].owner, list[i].term = s.tables.Owner(p.kind, p.number)
	}
	return list
}

type tableRow struct {
	owner string
	term  uint64
}

// checkTables compares the tables before and after a node's changes.
func (s *simulation) checkTables(before []tableRow, n *node) {
	for i, now := range s.terms() {
		if was := before[i]; now.term < was.term || now.term == was.term && now.owner != was.owner {
			s.violate("terms rise", "%s changed the owner of %s from %q in term %d to %q in term %d", n.name, s.parts[i].name(), was.owner, was.term, now.owner, now.term)
		}
	}
}

// intendedOwners returns the owners that all nodes should compute, in the order of parts.
func (s *simulation) intendedOwners() []string {
	if s.intended == nil {
		up := s.up()
		for _, w := range works {
			s.intended = append(s.intended, s.assignments.Intended(w.kind, w.parts, up)...)
		}
	}
	return s.intended
}

// owners returns who truly owns each part: "" if nobody, or several.
func (s *simulation) owners() []string {
	list := make([]string, len(s.parts))
	for i, p := range s.parts {
		if len(p.holders) == 1 && p.holders[0].valid() {
			list[i] = p.holders[0].node.name
		}
	}
	return list
}

// checkRecovered notes when all parts are where they should be, after the last fault.
func (s *simulation) checkRecovered() {
	if s.recovered || s.now < s.lastFault || s.now < warmUp || !slices.Equal(s.owners(), s.intendedOwners()) {
		return
	}
	s.recovered = true
	s.result.RecoveryMaxS = max(s.result.RecoveryMaxS, (s.now - s.lastFault).Seconds())
}

// checkOwned checks ownBound.
func (s *simulation) checkOwned() {
	intended := s.intendedOwners()
	for i, owner := range s.owners() {
		if owner == "" {
			s.violate("each part is owned again", "nobody, or more than one node, owns %s at %v after the last fault", s.parts[i].name(), ownBound)
			return
		}
		if owner != intended[i] && s.config.broken.assign == nil {
			s.violate("each part is owned again", "%s owns %s at %v after the last fault, and %s should", owner, s.parts[i].name(), ownBound, intended[i])
			return
		}
	}
}

// checkSettled checks what holds a while after the last fault.
func (s *simulation) checkSettled() {
	s.checkOwned()
	s.checkLoads()
	s.checkMoves()
	if s.connected < s.config.Clients {
		s.violate("all clients are connected again", "%d of %d clients are connected at %v after the last fault", s.connected, s.config.Clients, connectBound)
	}
}

// checkLoads checks that no node has more parts of a kind than its share, rounded up.
func (s *simulation) checkLoads() {
	type key struct{ kind, node string }
	up := len(s.up())
	loads := map[key]int{}
	for i, owner := range s.owners() {
		loads[key{s.parts[i].kind, owner}]++
	}
	for _, w := range works {
		most := (w.parts + up - 1) / up
		for _, n := range s.nodes {
			if load := loads[key{w.kind, n.name}]; load > most {
				s.violate("loads are even", "%s owns %d of %d parts of kind %s, and its share is %d", n.name, load, w.parts, w.kind, most)
			}
		}
	}
}

// checkMoves compares the owners with those when all was last settled. Least is how many parts had to move: those of nodes that are gone, and those above
// the share of a node. Besides, nodes that have come take about their share.
func (s *simulation) checkMoves() {
	owners, members := s.owners(), s.up()
	defer func() { s.settled, s.members = owners, members }()
	if s.settled == nil {
		return
	}
	moved, least := 0, 0
	for i, owner := range owners {
		if owner != s.settled[i] {
			moved++
		}
		if _, stays := slices.BinarySearch(members, s.settled[i]); !stays {
			least++
		}
	}
	joined := 0
	for _, m := range members {
		if _, was := slices.BinarySearch(s.members, m); !was {
			joined++
		}
	}
	share := (len(s.parts)*joined + len(members) - 1) / len(members)
	s.result.Moved += moved
	s.result.LeastMoves += least + share
	if most := movesFactor*(least+share) + movesSlack; moved > most {
		s.violate("few parts move", "%d parts moved when %d nodes left or came; %d had to", moved, joined+len(s.members)+joined-len(members), least+share)
	}
}

const (
	// A part that moves may displace one of a node that has its share, so a few more move than must.
	movesFactor = 3
	movesSlack  = 3
)
