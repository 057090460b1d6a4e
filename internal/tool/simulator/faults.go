package simulator

import (
	"slices"
	"time"
)

// FaultKinds are all kinds of faults, in the order of documentation.
func FaultKinds() []string {
	return []string{"crash", "zone", "pause", "slow", "store", "outage", "bus", "clock", "rolling", "resize", "storm"}
}

const (
	// pauseBetween is the longest time between the end of an episode and the next one.
	pauseBetween = 20 * time.Second
	// A rolling restart restarts rollingShare of the nodes at once, one of so many, each rollingStep.
	rollingShare = 50
	rollingStep  = 10 * time.Second
)

// nextEpisode injects one to three faults, which may overlap, and checks afterwards that all has recovered. It does nothing when there is too little time.
func (s *simulation) nextEpisode() {
	if len(s.config.Faults) == 0 {
		s.at(pauseBetween, func() { s.checkSettled(); s.nextEpisode() })
		return
	}
	over := s.now
	for n := 1 + s.rng.IntN(3); n > 0; n-- {
		what := s.config.Faults[s.rng.IntN(len(s.config.Faults))]
		begins := s.between(0, 10*time.Second)
		lasts := s.duration(what)
		if s.now+begins+lasts+connectBound > s.config.Duration {
			continue
		}
		over = max(over, s.now+begins+lasts)
		s.at(begins, func() {
			s.result.Faults[what]++
			s.inject(what, lasts)
		})
	}
	if over == s.now {
		return // the rest of the time is quiet
	}
	s.lastFault, s.recovered = over, false
	s.at(over-s.now, s.checkRecovered)
	s.at(over-s.now+ownBound, s.checkOwned)
	s.at(over-s.now+connectBound, func() {
		s.result.Episodes++
		s.checkSettled()
		s.at(s.between(0, pauseBetween), s.nextEpisode)
	})
}

// duration returns how long a fault lasts, from its beginning until all nodes work again.
func (s *simulation) duration(what string) time.Duration {
	switch what {
	case "pause":
		return s.between(time.Second, 15*time.Second)
	case "outage":
		return s.between(time.Second, 20*time.Second)
	case "rolling":
		batches := (s.config.Nodes + s.batch() - 1) / s.batch()
		return time.Duration(batches)*rollingStep + rollingStep
	case "resize":
		return drainOver + 2*time.Second
	case "clock", "storm":
		return time.Second
	}
	return s.between(5*time.Second, time.Minute)
}

// batch is how many nodes a rolling restart restarts at once.
func (s *simulation) batch() int { return max(s.config.Nodes/rollingShare, 1) }

// some returns random nodes: one, or up to a fiftieth of all.
func (s *simulation) some() []*node {
	count := 1 + s.rng.IntN(max(s.config.Nodes/50, 1))
	list := slices.Clone(s.nodes)
	s.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:count]
}

// inject begins a fault, and schedules its end.
func (s *simulation) inject(what string, lasts time.Duration) {
	s.note(uint64(lasts), "fault %s for %v", what, lasts)
	s.stormBegan = s.now
	switch what {
	case "crash":
		for _, n := range s.some() {
			s.endNode(n, false)
			s.at(lasts, func() { s.startNode(n) })
		}
	case "zone":
		zone := s.rng.IntN(s.config.Zones)
		for _, n := range s.nodes {
			if n.zone == zone {
				s.endNode(n, true)
				s.at(lasts, func() { s.startNode(n) })
			}
		}
	case "outage":
		s.cutStore(s.nodes, lasts)
	case "rolling":
		s.roll(0)
	case "resize":
		s.resize()
	case "storm": // such as a switch that restarts
		for _, n := range s.nodes {
			s.loseConnections(n, false)
		}
	default:
		s.injectInto(s.some(), what, lasts)
	}
}

// injectInto begins a fault of some nodes that go on running.
func (s *simulation) injectInto(nodes []*node, what string, lasts time.Duration) {
	if what == "store" {
		s.cutStore(nodes, lasts)
		return
	}
	for _, n := range nodes {
		switch what {
		case "pause":
			n.pausedUntil = s.now + lasts
		case "slow":
			n.slow = 20 + 400*s.rng.Float64()
			s.at(lasts, func() { n.slow = 1 })
		case "clock":
			n.offset += s.between(-time.Hour, time.Hour)
		case "bus":
			if s.rng.IntN(2) == 0 {
				n.busCut = true
			} else {
				n.busLoss = 0.2 + 0.6*s.rng.Float64()
			}
			s.membersChanged(n)
			s.at(lasts, func() {
				n.busCut, n.busLoss = false, 0
				s.membersChanged(n)
			})
		}
	}
}

// cutStore cuts nodes off from the tables.
func (s *simulation) cutStore(nodes []*node, lasts time.Duration) {
	for _, n := range nodes {
		n.storeCut = true
		s.at(lasts, func() {
			n.storeCut = false
			if n.stuck != nil && n.up && s.rng.IntN(2) == 0 {
				_ = n.stuck.Write(s.tables) // nobody waits for the answer
			}
			n.stuck = nil
		})
	}
}

// resize stops some nodes for good, or starts those that were stopped.
func (s *simulation) resize() {
	var away []*node
	for _, n := range s.nodes {
		if n.away {
			away = append(away, n)
		}
	}
	if len(away) > 0 && s.rng.IntN(2) == 0 || len(away) >= max(s.config.Nodes/5, 1) {
		for _, n := range away {
			n.away = false
			s.startNode(n)
		}
		return
	}
	for _, n := range s.some() {
		if n.up {
			n.away = true
			s.stopNode(n, 0)
		}
	}
}

// roll restarts nodes in batches, from a number on.
func (s *simulation) roll(from int) {
	if from >= len(s.nodes) {
		return
	}
	end := min(from+s.batch(), len(s.nodes))
	for _, n := range s.nodes[from:end] {
		s.stopNode(n, s.between(time.Second, 3*time.Second))
	}
	s.at(rollingStep, func() { s.roll(end) })
}
