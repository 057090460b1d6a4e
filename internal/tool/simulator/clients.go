package simulator

import (
	"time"

	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

// cohort is a number of clients that do the same at the same time.
type cohort struct {
	number, size int
	cold         bool // they start from nothing: they do not say that they come back
	servers      reconnect.Servers
	failures     int

	connected bool
	node      *node
	openEpoch uint32 // of the node's process
	since     time.Duration
	epoch     uint32 // counts connections, and tries
}

// balancer is the address that clients were given, of a load balancer in front of all nodes.
const balancer = "wss://chat.example.com/v1/socket"

// balancerDelay is how long a load balancer sends clients to a node that has failed.
const balancerDelay = 5 * time.Second

// coldShare of the cohorts start from nothing, one of so many.
const coldShare = 20

func (s *simulation) newCohort(number, size int) *cohort {
	return &cohort{number: number, size: size, cold: number%coldShare == 0, servers: reconnect.Servers{Own: balancer, Discover: true}}
}

// balance returns the node to which the load balancer sends a client; nil if there is none.
func (s *simulation) balance() *node {
	for range 50 {
		n := s.nodes[s.rng.IntN(len(s.nodes))]
		if n.up && !n.stopping || !n.up && s.now-n.downAt < balancerDelay && n.epoch > 0 {
			return n
		}
	}
	return nil
}

// attempt has clients connect, as Client.Run does.
func (s *simulation) attempt(c *cohort, epoch uint32) {
	if c.epoch != epoch {
		return
	}
	s.result.Attempts += c.size
	deadline := s.now + reconnect.OpenWithin
	dial := s.now
	if c.servers.MustDiscover(s.clock()) {
		if n := s.balance(); n != nil && n.up && n.pausedUntil <= s.now {
			answer := s.find(n, c.servers.Previous())
			list := make([]string, 0, len(answer.Gateways))
			for _, g := range answer.Gateways {
				list = append(list, g.Ws)
			}
			c.servers.Discovered(list, time.Duration(answer.TtlMs)*time.Millisecond, s.clock())
		} else {
			if n != nil && (n.hostDown || n.up) {
				dial += reconnect.DiscoverWithin
			}
			c.servers.NotDiscovered(time.Unix(0, int64(dial)))
		}
	}
	address := c.servers.Next()
	s.at(dial-s.now+s.between(time.Millisecond, 50*time.Millisecond), func() {
		if c.epoch != epoch {
			return
		}
		n := s.balance()
		if address != balancer {
			n = s.nodes[s.number[address]]
		}
		switch {
		case n == nil || !n.up && !n.hostDown:
			s.failAt(c, s.now, 0)
		case !n.up:
			s.failAt(c, deadline, 0)
		default:
			s.connect(c, n, deadline)
		}
	})
}

// failAt has a try fail at a time; the server asked to wait for some time.
func (s *simulation) failAt(c *cohort, at, asked time.Duration) {
	c.epoch++
	epoch := c.epoch
	s.at(max(at-s.now, 0), func() {
		if c.epoch != epoch {
			return
		}
		if c.servers.Fail(s.clock()) {
			asked = 0 // another gateway need not wait
		}
		s.result.FailedAttempts += c.size
		c.failures++
		if s.config.broken.noReconnect {
			return
		}
		s.push(event{at: s.now + reconnect.Wait(c.failures, asked, reconnect.MaxWait, s.rng.Int64N), kind: attempt, a: int32(c.number), epoch: c.epoch})
	})
}

// opened is the end of a connection's beginning.
func (s *simulation) opened(c *cohort, epoch uint32) {
	if c.epoch != epoch || c.connected {
		return
	}
	c.connected, c.since = true, s.now
	c.servers.Opened(c.node.name)
	s.connected += c.size
	if s.connected == s.config.Clients {
		s.note(uint64(s.connected), "all %d clients are connected", s.connected)
		if !s.allBack && s.now > warmUp {
			s.allBack = true
			s.result.StormMaxS = max(s.result.StormMaxS, (s.now - s.stormBegan).Seconds())
			s.result.StormAfterMaxS = max(s.result.StormAfterMaxS, (s.now - max(s.lastFault, s.stormBegan)).Seconds())
		}
	}
}

// lose ends a connection; the clients notice after a while.
func (s *simulation) lose(c *cohort, after, asked time.Duration) {
	if !c.connected { // it was being opened
		s.failAt(c, s.now+after, asked)
		return
	}
	c.connected = false
	c.epoch++
	if s.connected == s.config.Clients {
		s.stormBegan, s.allBack = s.now, false
	}
	s.connected -= c.size
	s.result.AwayMax = max(s.result.AwayMax, s.config.Clients-s.connected)
	if s.now-c.since > reconnect.StableAfter {
		c.failures = 0
	}
	c.failures++
	s.push(event{at: s.now + after + reconnect.Wait(c.failures, asked, reconnect.MaxWait, s.rng.Int64N), kind: attempt, a: int32(c.number), epoch: c.epoch})
}
