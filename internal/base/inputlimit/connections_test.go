package inputlimit

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		t.Fatalf("a connection was not accepted: %v, %v", s, err)
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
		t.Errorf("the addresses with connections are %v, want 3", c.counts)
	}
	SlotOf(t.Context()).Release() // none is no fault
}

// If refused connections come from one network again and again, that is reported once in a minute. Refusals of many networks are not.
func TestAHeavyHitterIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []netip.Prefix
		c := NewConnections(1, 1000).OnHeavyHitter(func(from netip.Prefix, refused int) {
			if refused != heavyLead {
				t.Errorf("%d are reported, want %d", refused, heavyLead)
			}
			reports = append(reports, from)
		})
		heavy := netip.MustParsePrefix("192.0.2.1/32")
		refuse := func(from netip.Prefix, n int) {
			c.Acquire(from)
			for range n {
				if _, ok := c.Acquire(from); ok {
					t.Errorf("a second connection of %v is accepted", from)
				}
			}
		}
		for i := range 10 { // none of them has most
			refuse(netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32), heavyLead-1)
		}
		time.Sleep(heavyTime)
		refuse(heavy, heavyLead-1)
		if len(reports) > 0 {
			t.Errorf("%v are reported", reports)
		}
		refuse(heavy, 3*heavyLead)
		if len(reports) != 1 || reports[0] != heavy {
			t.Errorf("%v are reported, want the heavy hitter once", reports)
		}
		time.Sleep(heavyTime)
		refuse(heavy, heavyLead+1)
		if len(reports) != 2 {
			t.Errorf("after a minute %d were reported, want 2", len(reports))
		}
		if want := "input.unauthenticated_per_address"; !strings.Contains(ErrConnections.Message, want) || !strings.Contains(ErrConnections.Message, "plaintext") {
			t.Errorf("the refusal is %q, and does not name the settings", ErrConnections.Message)
		}
	})
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
