package inputlimit

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// ErrUserConnections rejects a connection of a user with the maximum of HTTP connections.
var ErrUserConnections = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_connections", Message: "you have too many connections to this server; close some, or make your calls on one by HTTP/2", Retry: 5e9}

// ErrConnections rejects a connection of a network with the maximum of unauthenticated connections.
var ErrConnections = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_connections", Message: "too many connections without credentials come from this address; close some, or try again. If a proxy is at this address, the server's operator lets it report its clients (plaintext, proxy_protocol), or raises input.unauthenticated_per_address", Retry: 5e9}

// networksPerSite is the limit of an IPv6 /48 as a multiple of a network's: one customer may have all the 65,536 networks of a /48.
const networksPerSite = 4

// Connections counts unauthenticated connections, by network and in total. A network is an IPv4 address, or the /64 of an IPv6 address, whose
// /48 is counted too. Connections from this machine and from proxies have no network, and count in the total only.
type Connections struct {
	perNetwork, limit int
	refused           atomic.Int64
	onHeavyHitter     func(from netip.Prefix, refused int) // may be nil

	mu     sync.Mutex // guards the fields below
	all    int
	counts map[netip.Prefix]int
	heavy  heavyHitter
}

// heavyHitter finds the network from which most refused connections come, in the memory of one, by a majority vote.
type heavyHitter struct {
	began time.Time // of the count
	from  netip.Prefix
	lead  int  // refusals of the network, less those of others
	told  bool // since began
}

const (
	// A network with heavyLead refusals more than all others, within heavyTime, is a heavy hitter. One is reported in each heavyTime.
	heavyLead = 100
	heavyTime = time.Minute
)

// note counts a refusal, and reports whether it makes its network a heavy hitter that was not reported yet.
func (h *heavyHitter) note(from netip.Prefix, now time.Time) bool {
	if now.Sub(h.began) >= heavyTime {
		*h = heavyHitter{began: now}
	}
	switch {
	case h.lead == 0:
		h.from, h.lead = from, 1
	case h.from == from:
		h.lead++
	default:
		h.lead--
	}
	if h.told || h.lead < heavyLead {
		return false
	}
	h.told = true
	return true
}

// NewConnections creates a counter for at most perNetwork connections of each network, and most in total.
func NewConnections(perNetwork, most int) *Connections {
	return &Connections{perNetwork: perNetwork, limit: most, counts: map[netip.Prefix]int{}}
}

// Limit is how many connections are counted at most in total.
func (c *Connections) Limit() int { return c.limit }

// OnHeavyHitter returns a counter with the same limits that calls report, at most once a minute, when refused connections come from one network again and again, with how
// many more these are than those of all others. report must not block.
func (c *Connections) OnHeavyHitter(report func(from netip.Prefix, refused int)) *Connections {
	r := NewConnections(c.perNetwork, c.limit)
	r.onHeavyHitter = report
	return r
}

// Slot is one counted connection. A nil Slot is not counted; its methods do nothing.
type Slot struct {
	of       *Connections
	from     netip.Prefix
	once     sync.Once
	detached atomic.Bool

	mu    sync.Mutex // guards the fields below
	users *Users     // that count the connection for user
	user  uint64     // 0: none
	ended bool       // it is closed or detached
}

// Acquire counts a connection. It returns false if there are too many.
func (c *Connections) Acquire(from netip.Prefix) (*Slot, bool) {
	c.mu.Lock()
	site, ok := siteOf(from)
	ofNetwork := from.IsValid() && c.counts[from] >= c.perNetwork || ok && c.counts[site] >= networksPerSite*c.perNetwork
	if c.all < c.limit && !ofNetwork {
		c.add(from, 1)
		c.mu.Unlock()
		return &Slot{of: c, from: from}, true
	}
	isHeavy := ofNetwork && c.onHeavyHitter != nil && c.heavy.note(from, time.Now())
	c.mu.Unlock()
	c.refused.Add(1)
	if isHeavy {
		c.onHeavyHitter(from, heavyLead)
	}
	return nil, false
}

// add changes the counts of a network by n. The caller holds mu. Networks without connections have no entry.
func (c *Connections) add(from netip.Prefix, n int) {
	c.all += n
	if from.IsValid() {
		c.count(from, n)
	}
	if site, ok := siteOf(from); ok {
		c.count(site, n)
	}
}

// count changes one count. The caller holds mu.
func (c *Connections) count(of netip.Prefix, n int) {
	if c.counts[of] += n; c.counts[of] == 0 {
		delete(c.counts, of)
	}
}

// siteOf returns the /48 of an IPv6 network.
func siteOf(from netip.Prefix) (netip.Prefix, bool) {
	if !from.IsValid() || !from.Addr().Is6() {
		return netip.Prefix{}, false
	}
	site, err := from.Addr().Prefix(48)
	return site, err == nil
}

// Refused returns the number of rejected connections.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// Count returns the current number of connections.
func (c *Connections) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// Release releases the slot: the client is authenticated, or the connection is closed. Further calls do nothing.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		c := s.of
		c.mu.Lock()
		defer c.mu.Unlock()
		c.add(s.from, -1)
	})
}

// Detach keeps the slot after the HTTP connection ends. The caller of Detach releases it.
func (s *Slot) Detach() {
	if s != nil {
		s.detached.Store(true)
		s.releaseUser()
	}
}

// Closed releases the slot, unless it is detached.
func (s *Slot) Closed() {
	if s == nil {
		return
	}
	s.releaseUser()
	if !s.detached.Load() {
		s.Release()
	}
}

type slotKey struct{}

// WithSlot stores the slot of the connection in the context of its requests.
func WithSlot(ctx context.Context, s *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, s)
}

// SlotOf returns the slot that WithSlot stored, or nil.
func SlotOf(ctx context.Context) *Slot {
	s, _ := ctx.Value(slotKey{}).(*Slot)
	return s
}

// AcquireForRequest counts a request without credentials from behind a proxy as a connection of its network. Without a proxy the connection
// itself is counted already, and the slot is nil.
func (c *Connections) AcquireForRequest(ctx context.Context, from netip.Prefix) (*Slot, error) {
	if on := SlotOf(ctx); c == nil || !from.IsValid() || on == nil || on.from.IsValid() {
		return nil, nil
	}
	s, ok := c.Acquire(from)
	if !ok {
		return nil, ErrConnections
	}
	return s, nil
}
