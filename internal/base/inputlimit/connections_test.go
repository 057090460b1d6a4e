package inputlimit

import (
	"net/netip"
	"testing"
)

func TestConnectionsOfANetwork(t *testing.T) {
	c := NewConnections(2, 5)
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")
	enter := func(from netip.Prefix, want bool) *Slot {
		t.Helper()
		s, ok := c.Acquire(from)
		if ok != want {
			t.Errorf("%v: %v, want %v", from, ok, want)
		}
		return s
	}
	first, second := enter(a, true), enter(a, true)
	enter(a, false)
	enter(b, true)
	first.Release()
	first.Release() // once is enough
	first.Closed()
	enter(a, true)
	enter(a, false)
	second.Detach()
	second.Closed() // closed by the listener, but still referenced
	enter(a, false)
	local := enter(netip.Prefix{}, true)
	enter(netip.Prefix{}, true)
	enter(netip.Prefix{}, false) // no network, and as many in all as there may be
	if c.Count() != 5 || c.Refused() != 4 {
		t.Errorf("%d are open, and %d were refused", c.Count(), c.Refused())
	}
	// Requests count by the address that a proxy says, on the proxy's connection.
	local.Release()
	ctx := WithSlot(t.Context(), local)
	s, err := c.AcquireForRequest(ctx, b)
	if err != nil || s == nil {
		t.Fatal(err)
	}
	if _, err := c.AcquireForRequest(ctx, b); err != ErrConnections {
		t.Errorf("one more: %v", err)
	}
	if s, err := c.AcquireForRequest(WithSlot(t.Context(), second), a); s != nil || err != nil {
		t.Errorf("one whose connection counts: %v, %v", s, err)
	}
	if s, err := c.AcquireForRequest(ctx, netip.Prefix{}); s != nil || err != nil {
		t.Errorf("one of this machine: %v, %v", s, err)
	}
	second.Release()
	s.Release()
	if len(c.counts) != 3 { // a, b and the /48 of b
		t.Errorf("%v", c.counts)
	}
	SlotOf(t.Context()).Release() // none is no fault
}

// The networks of an IPv6 /48 have four times the limit of one network together.
func TestConnectionsOfASite(t *testing.T) {
	c := NewConnections(2, 100)
	network := func(site, n byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, site, 0, n}), 64)
	}
	var slots []*Slot
	for n := range byte(8) {
		s, ok := c.Acquire(network(1, n))
		if !ok {
			t.Fatalf("connection %d of the site is refused", n+1)
		}
		slots = append(slots, s)
	}
	if _, ok := c.Acquire(network(1, 8)); ok {
		t.Error("a site has more than four times the limit of a network")
	}
	for _, other := range []netip.Prefix{network(2, 0), netip.MustParsePrefix("192.0.2.1/32")} {
		s, ok := c.Acquire(other)
		if !ok {
			t.Fatalf("%v is refused for another site", other)
		}
		slots = append(slots, s)
	}
	for _, s := range slots {
		s.Release()
	}
	if _, ok := c.Acquire(network(1, 8)); !ok || len(c.counts) != 2 {
		t.Errorf("after the others are closed: accepted is %v, counts are %v", ok, c.counts)
	}
}
