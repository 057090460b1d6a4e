package rpc

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

const (
	perAddress    = 100 // attempts of one network address in a window
	leastShare    = 20  // of one node, however many there are
	window        = time.Minute
	addressesMost = 100_000
)

// strangers counts what those attempt who have no credentials yet: wrong passwords over many handles, and registrations. A login
// that is right does not count, since many people may have one address.
type strangers struct {
	proxied bool
	clock   clock.Clock
	nodes   func() int // nil: one

	mu     sync.Mutex // guards all below
	since  time.Time  // the window's beginning
	counts map[netip.Prefix]int
}

// enter counts an attempt, or refuses it; back takes it back.
func (s *strangers) enter(peer string, h http.Header) (back func(), err error) {
	from, ok := s.from(peer, h)
	if !ok {
		return func() {}, nil
	}
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= window {
		s.since, s.counts = now, map[netip.Prefix]int{} // a new map, not one emptied: nobody waits for that
	}
	n, known := s.counts[from]
	switch {
	case n >= s.share():
		return nil, &errs.Error{Kind: errs.Exhausted, Reason: "too_many_logins", Message: "too many logins; wait a minute", Retry: window}
	case !known && len(s.counts) >= addressesMost:
		return func() {}, nil // so many at once are no one's guesses; handles are counted by themselves
	}
	counts := s.counts
	counts[from]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		counts[from]--
	}, nil
}

// share of an address's attempts that is this node's. Whoever comes through all nodes has perAddress, rounded up to so many for each
// node, or leastShare for each where that is more.
func (s *strangers) share() int {
	if s.nodes == nil {
		return perAddress
	}
	n := max(s.nodes(), 1)
	return max((perAddress+n-1)/n, leastShare)
}

// from gives the network that a request comes from: an address, or the part of an IPv6 address that one customer is given. What a
// proxy says is believed of one on this machine, or where the operator said that there is one. Programs on this machine are
// not counted.
func (s *strangers) from(peer string, h http.Header) (netip.Prefix, bool) {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Prefix{}, false
	}
	address := at.Addr().Unmap()
	if address.IsLoopback() || s.proxied {
		said := h.Values("X-Forwarded-For")
		if len(said) == 0 {
			return netip.Prefix{}, false
		}
		last := said[len(said)-1] // those before it may be anybody's words
		last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		if address, err = netip.ParseAddr(last); err != nil {
			return netip.Prefix{}, false
		}
		address = address.Unmap()
	}
	bits := 32
	if address.Is6() {
		bits = 64
	}
	p, err := address.WithZone("").Prefix(bits)
	return p, err == nil
}
