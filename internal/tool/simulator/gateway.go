package simulator

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/service/discovery"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"golang.org/x/time/rate"
)

const (
	processors  = 4
	capacity    = 100_000 // the default of gateway.max_connections
	listenQueue = 4096    // connections that wait to be accepted
	// Other work uses backgroundShare of the processors. A connection uses some CPU time until it is open: less if the client comes back. These follow from
	// the reconnect storm in docs/performance.md.
	backgroundShare = 0.25
	resumeCost      = 600 * time.Microsecond
	coldCost        = 3 * time.Millisecond
	refusalCost     = 100 * time.Microsecond
	drainOver       = 5 * time.Second // the default of gateway.drain_over
)

// gateway is what accepts connections on a node.
type gateway struct {
	connections int
	clients     []*cohort

	rate     *overload.AcceptRate
	limiter  *rate.Limiter
	storm    overload.Storm
	slowed   time.Duration // when connections were last slowed down; negative: never
	waiting  []waiting     // to be accepted
	queued   int           // clients in waiting
	accepts  bool          // an accept event is under way
	used     time.Duration // CPU time
	backlog  time.Duration // CPU time of connections that are being opened
	computed time.Duration // when used was computed

	// The bound that is checked.
	credit   float64
	credited time.Duration
}

// waiting is a cohort in the listener's queue.
type waiting struct {
	clients  *cohort
	epoch    uint32
	deadline time.Duration
}

func newGateway(now time.Duration) gateway {
	r := overload.NewAcceptRate(processors)
	return gateway{rate: r, limiter: rate.NewLimiter(r.Limit(), overload.AcceptBurst), slowed: -time.Hour, computed: now, credited: now, credit: overload.AcceptBurst}
}

// cpu returns the CPU time that the process has used.
func (n *node) cpu(now time.Duration) time.Duration {
	passed := now - n.computed
	if passed <= 0 {
		return n.used
	}
	n.computed = now
	done := min(n.backlog, time.Duration(float64(passed)*processors*(1-backgroundShare)))
	n.backlog -= done
	n.used += done + time.Duration(float64(passed)*processors*backgroundShare)
	return n.used
}

// connect puts clients into the queue of a node's listener. If that is full, they wait in vain.
func (s *simulation) connect(c *cohort, n *node, deadline time.Duration) {
	if n.queued+c.size > listenQueue+c.size {
		s.failAt(c, deadline, 0)
		return
	}
	n.waiting = append(n.waiting, waiting{c, c.epoch, deadline})
	n.queued += c.size
	if !n.accepts {
		n.accepts = true
		s.pushNode(n, accept, 0)
	}
}

// accept accepts the first clients in the queue.
func (s *simulation) accept(n *node) {
	if n.accepts = len(n.waiting) > 0; !n.accepts {
		return
	}
	w := n.waiting[0]
	n.waiting = n.waiting[1:]
	n.queued -= w.clients.size
	done := s.admit(n, w.clients.size)
	s.pushNode(n, accept, done-s.now)
	c := w.clients
	if c.epoch != w.epoch { // they have given up
		n.backlog += refusalCost * time.Duration(c.size)
		return
	}
	second := uint32(s.now / time.Second)
	admitted := true
	for range c.size {
		admitted = n.storm.Admit(second, !c.cold, s.now-n.slowed < overload.CrowdPause)
	}
	switch {
	case done > w.deadline:
		s.failAt(c, w.deadline, 0)
	case n.stopping:
		s.result.Refused += c.size
		s.failAt(c, done, s.between(time.Second, 3*time.Second))
	case n.connections+c.size > capacity:
		s.result.Refused += c.size
		s.failAt(c, done, s.between(drainOver/2, drainOver*3/2))
	case !admitted:
		s.result.Deferred += c.size
		n.backlog += refusalCost * time.Duration(c.size)
		s.failAt(c, done, s.between(overload.ColdWaitLeast, overload.ColdWaitMost))
	default:
		cost := resumeCost
		if c.cold {
			cost = coldCost
		}
		n.backlog += cost * time.Duration(c.size)
		open := done + time.Duration(float64(n.backlog)/(processors*(1-backgroundShare)))
		if open > w.deadline {
			s.failAt(c, w.deadline, 0)
			return
		}
		c.node, c.openEpoch = n, n.epoch
		n.connections += c.size
		n.clients = append(n.clients, c)
		s.push(event{at: open, kind: opened, a: int32(c.number), epoch: c.epoch})
	}
}

// admit returns when a number of connections are accepted, one after the other, by the node's rate.
func (s *simulation) admit(n *node, count int) time.Duration {
	changed, slowed := n.rate.Adapt(s.clock(), func() time.Duration { return n.cpu(s.now) })
	if slowed {
		n.slowed = s.now
		s.result.Slowed++
	}
	if changed {
		n.limiter.SetLimitAt(s.clock(), n.rate.Limit())
	}
	at := s.now
	for range count {
		if s.config.broken.anyRate {
			continue
		}
		at += n.limiter.ReserveN(time.Unix(0, int64(at)), 1).DelayFrom(time.Unix(0, int64(at)))
	}
	s.checkRate(n, count, at)
	return at
}

// checkRate checks that a node has not admitted more than its rate allows.
func (s *simulation) checkRate(n *node, count int, at time.Duration) {
	limit := float64(n.rate.Limit())
	idle := (s.now - n.credited).Seconds() * overload.MaxAccept * processors // the rate may have been higher
	allowed := min(n.credit+max(idle, 0), overload.AcceptBurst) + limit*(at-s.now).Seconds()
	n.credited = at
	if n.credit = allowed - float64(count); n.credit < -1 {
		s.violate("no node admits more than its rate", "%s admitted %d connections within %v, at a rate of %.0f a second", n.name, count, at-s.now, limit)
	}
	n.credit = max(n.credit, 0)
	s.result.Admitted += count
	s.result.RateMin = min(s.result.RateMin, limit)
	if s.result.RateMin == 0 {
		s.result.RateMin = limit
	}
}

// loseConnections ends the connections of a node. If its host has failed, clients notice by the silence.
func (s *simulation) loseConnections(n *node, host bool) {
	clients := n.clients
	n.clients, n.connections = nil, 0
	for _, c := range clients {
		after := s.between(0, 10*time.Millisecond)
		if host {
			after = s.between(10*time.Second, 15*time.Second) // two pings that are not answered
		}
		s.lose(c, after, 0)
	}
	for _, w := range n.waiting {
		if w.clients.epoch == w.epoch {
			s.failAt(w.clients, min(w.deadline, s.now+s.between(0, 10*time.Millisecond)), 0)
		}
	}
	n.waiting, n.queued = nil, 0
}

// stopNode stops a node in order: its clients are told to go elsewhere, one after the other, and then it leaves the cluster.
func (s *simulation) stopNode(n *node, away time.Duration) {
	if !n.up || n.stopping {
		return
	}
	n.stopping = true
	epoch := n.epoch
	clients := slices.Clone(n.clients)
	for i, c := range clients {
		conn := c.epoch
		s.at(drainOver*time.Duration(i)/time.Duration(len(clients)), func() {
			if c.epoch == conn && c.node == n {
				s.leaveNode(c)
				c.servers.Fail(s.clock())
				s.lose(c, 0, 0)
			}
		})
	}
	s.at(drainOver+time.Second, func() {
		if n.epoch != epoch {
			return
		}
		n.decides.Leave()
		n.decides.LeaveTables(s.tables)
		s.endNode(n, false)
		s.at(away, func() { s.startNode(n) })
	})
}

// leaveNode takes clients from the node where they are connected.
func (s *simulation) leaveNode(c *cohort) {
	n := c.node
	if i := slices.Index(n.clients, c); i >= 0 {
		n.clients = slices.Delete(n.clients, i, i+1)
		n.connections -= c.size
	}
}

// find is the call FindGateways of a node.
func (s *simulation) find(n *node, previous string) *gatewayv1.FindGatewaysResponse {
	gateways := func() (list []cluster.Gateway) {
		for name, said := range n.decides.Live {
			m := s.nodes[s.number[name]]
			g := cluster.Gateway{Node: name, WS: m.address, Capacity: capacity}
			if m == n {
				said = n.report()
			}
			open, draining := strings.CutSuffix(said, " draining")
			count, err := strconv.Atoi(open)
			if err != nil {
				continue
			}
			g.Connections, g.Draining = int64(count), draining
			list = append(list, g)
		}
		return list
	}
	s.result.Discoveries++
	return discovery.New(discovery.Deps{Gateways: gateways, Random: s.rng.Float64}, discovery.Config{}).FindGateways(&gatewayv1.FindGatewaysRequest{Previous: previous}, "")
}
