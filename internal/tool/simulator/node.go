package simulator

import (
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// node of the cluster.
type node struct {
	number, zone  int
	name, address string

	// The process; epoch counts its starts and ends.
	up       bool
	epoch    uint32
	decides  *cluster.Simulated
	hostDown bool // connections to it are not refused but get no answer
	downAt   time.Duration
	stopping bool
	away     bool // stopped for good

	// Faults.
	pausedUntil time.Duration
	slow        float64 // a factor of the time that the tables take
	storeCut    bool
	busCut      bool
	busLoss     float64
	// The wall clock is ahead by offset, and the monotonic clock runs by drift times true time.
	offset time.Duration
	drift  float64

	// A heartbeat.
	began     time.Duration // when it began
	deadline  time.Duration // when it fails
	inFlight  bool
	slotUntil time.Duration // a call that was given up still runs
	nextTick  time.Duration
	stuck     *cluster.SimulatedHeartbeat // the call that waits for the tables while the node is cut off
	expiring  bool                        // an expire event is under way

	peers       map[int]*peer
	unreachable []string
	reported    string // what the last row said of the gateway
	reports     int    // connections in reported

	gateway
}

// startNode starts a node's process.
func (s *simulation) startNode(n *node) {
	if n.up || n.away {
		return
	}
	n.up, n.hostDown, n.stopping, n.inFlight, n.expiring, n.epoch = true, false, false, false, false, n.epoch+1
	n.stuck = nil
	n.slotUntil, n.nextTick, n.peers, n.unreachable = 0, s.now, map[int]*peer{}, nil
	n.gateway = newGateway(s.now)
	var work []cluster.Work
	for _, w := range works {
		work = append(work, cluster.Work{Kind: w.kind, Parts: w.parts,
			Assigned: func(g cluster.Grant) { s.assigned(n, s.part(w.kind, g.Part), g) },
			Revoked:  func(number int) { s.revoked(n, s.part(w.kind, number)) }})
	}
	began := s.now
	n.decides = cluster.NewSimulated(cluster.Config{Node: n.name, HeartbeatInterval: s.config.HeartbeatInterval, NodeTimeout: s.config.NodeTimeout,
		Version: cluster.Version{Speaks: cluster.Speaks, Understands: cluster.Understands}}, work, s.rng.Uint64()>>1,
		func() (time.Duration, time.Time) {
			// Real time at the start differs from 0, so that a node that has just started does not count as blind for long.
			mono := time.Hour + time.Duration(float64(s.now-began)*n.drift)
			return mono, time.Unix(1_800_000_000, 0).Add(s.now + n.offset)
		})
	n.decides.ShareAssignments(s.assignments)
	s.membersChanged(n)
	s.note(uint64(n.number), "%s starts", n.name)
	s.pushNode(n, tick, s.between(0, 100*time.Millisecond))
	s.pushNode(n, probe, s.between(0, cluster.ProbeInterval))
}

// endNode ends a node's process at once. If its host fails too, nobody is told.
func (s *simulation) endNode(n *node, host bool) {
	if !n.up {
		return
	}
	s.note(uint64(n.number)<<8, "%s ends", n.name)
	n.up, n.hostDown, n.downAt, n.epoch = false, host, s.now, n.epoch+1
	n.pausedUntil = 0
	for _, p := range s.parts {
		p.drop(n, s.now)
	}
	s.membersChanged(n)
	s.loseConnections(n, host)
}

// membersChanged notes that another set of nodes is up, or that a node may not answer probes.
func (s *simulation) membersChanged(n *node) {
	s.intended = nil
	if n.up && !n.busCut && n.busLoss == 0 {
		delete(s.troubled, n.number)
	} else {
		s.troubled[n.number] = true
	}
}

func (s *simulation) pushNode(n *node, k kind, after time.Duration) {
	s.push(event{at: s.now + after, kind: k, a: int32(n.number), epoch: n.epoch})
}

func (s *simulation) pushBeat(n *node, k kind, after time.Duration, h *cluster.SimulatedHeartbeat) {
	s.push(event{at: s.now + after, kind: k, a: int32(n.number), epoch: n.epoch, beat: h})
}

// storeDelay is how long half of a call of the tables takes.
func (s *simulation) storeDelay(n *node) time.Duration {
	return time.Duration(float64(s.between(time.Millisecond, 10*time.Millisecond)) * n.slow)
}

// tick begins a heartbeat, if the one before is over.
func (s *simulation) tick(n *node) {
	if n.inFlight {
		s.heartbeatFailed(n)
	}
	if n.decides.Remaining() <= 0 && n.decides.Holds() > 0 && !s.config.broken.noExpiry {
		n.decides.Expire()
	}
	if s.config.broken.stuck && s.now > warmUp {
		s.pushNode(n, tick, s.config.HeartbeatInterval)
		return
	}
	h := n.decides.Begin(n.unreachable, n.report())
	s.result.Heartbeats++
	n.inFlight, n.began = true, s.now
	n.deadline = s.now + max(h.Timeout, 0)
	sent := s.storeDelay(n)
	if n.slotUntil > s.now { // a call that was given up is not over
		sent += n.slotUntil - s.now
	}
	switch {
	case n.storeCut: // a call that is given up may take effect when the node reaches the tables again
		n.stuck = h
		s.pushNode(n, tick, max(n.deadline-s.now, s.config.HeartbeatInterval))
	default:
		n.slotUntil = s.now + sent
		s.pushBeat(n, write, sent, h)
	}
}

// report is what a node's row says of its gateway.
func (n *node) report() string {
	if now := n.reports; n.reported == "" || now != n.connections || n.stopping {
		n.reports = n.connections
		n.reported = strconv.Itoa(n.connections)
		if n.stopping {
			n.reported += " draining"
		}
	}
	return n.reported
}

// write is a heartbeat at the tables. The answer may come too late.
func (s *simulation) write(n *node, h *cluster.SimulatedHeartbeat) {
	if err := h.Write(s.tables); err != nil {
		s.endNode(n, false)
		return
	}
	back := s.storeDelay(n)
	n.slotUntil = s.now + back
	s.answer(n, read, back, h)
}

// answer brings an answer of the tables to the node, or lets the heartbeat fail.
func (s *simulation) answer(n *node, k kind, back time.Duration, h *cluster.SimulatedHeartbeat) {
	if s.now+back <= n.deadline && !n.storeCut {
		s.pushBeat(n, k, back, h)
		return
	}
	s.pushNode(n, tick, max(n.deadline, n.began+s.config.HeartbeatInterval)-s.now)
}

func (s *simulation) heartbeatFailed(n *node) {
	n.inFlight = false
	s.result.FailedHeartbeats++
}

// read is the answer of the tables at the node.
func (s *simulation) read(n *node, h *cluster.SimulatedHeartbeat) {
	if s.now > n.deadline { // the process was paused
		s.heartbeatFailed(n)
		s.nextHeartbeat(n)
		return
	}
	changes, err := h.Read()
	if err != nil {
		s.endNode(n, false)
		return
	}
	if !changes {
		h.End(s.tables)
		s.heartbeatDone(n)
		return
	}
	s.pushBeat(n, apply, s.storeDelay(n), h)
}

// apply makes a node's changes in the tables.
func (s *simulation) apply(n *node, h *cluster.SimulatedHeartbeat) {
	if n.storeCut {
		s.pushNode(n, tick, max(n.deadline, n.began+s.config.HeartbeatInterval)-s.now)
		return
	}
	before := s.terms()
	h.Apply(s.tables)
	s.checkTables(before, n)
	s.answer(n, applied, s.storeDelay(n), h)
}

func (s *simulation) appliedTo(n *node, h *cluster.SimulatedHeartbeat) {
	if s.now > n.deadline {
		s.heartbeatFailed(n)
	} else {
		h.Applied()
		h.End(s.tables)
		s.heartbeatDone(n)
		return
	}
	s.nextHeartbeat(n)
}

func (s *simulation) heartbeatDone(n *node) {
	n.inFlight = false
	if n.decides.Hurries() {
		s.pushNode(n, tick, 0)
		return
	}
	s.nextHeartbeat(n)
}

// nextHeartbeat schedules the next heartbeat, as a ticker does.
func (s *simulation) nextHeartbeat(n *node) {
	n.nextTick += s.config.HeartbeatInterval
	if n.nextTick < s.now {
		n.nextTick = s.now
	}
	s.push(event{at: n.nextTick, kind: tick, a: int32(n.number), epoch: n.epoch})
}

// expire ends the grants of a node whose heartbeats did not succeed in time.
func (s *simulation) expire(n *node) {
	n.expiring = false
	if n.decides.Holds() == 0 {
		return
	}
	if left := n.decides.Remaining(); left > 0 {
		n.expiring = true
		s.pushNode(n, expire, left+time.Microsecond)
		return
	}
	if s.config.broken.noExpiry {
		return
	}
	s.note(uint64(n.number)<<16, "%s gives up all parts, since no heartbeat succeeded", n.name)
	n.decides.Expire()
}
