package ratelimit_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/rialto-im/rialto/internal/base/ratelimit"
)

// FuzzNetwork: whatever a client says of its address, it counts as one of its own network, or of none. Without a trusted proxy it says nothing that
// counts, and behind one only the last address does, which the proxy has added.
func FuzzNetwork(f *testing.F) {
	for _, said := range []string{"", "203.0.113.7", "1.1.1.1, 203.0.113.7", "203.0.113.7:80", "[2001:db8::1]:80", "2001:db8::1%eth0", "::ffff:203.0.113.7", "unknown", ",", " , ", "203.0.113.7\x00", "256.0.0.1"} {
		f.Add("198.51.100.4:5", said, "203.0.113.9")
		f.Add("127.0.0.1:5", said, "2001:db8:1:2:3::4")
		f.Add("[fe80::1%eth0]:5", said, "")
		f.Add("no address", said, "0.0.0.0")
	}
	f.Fuzz(func(t *testing.T, peer, said, added string) {
		for _, proxied := range []bool{false, true} {
			got := ratelimit.Network(peer, http.Header{"X-Forwarded-For": {said}}, proxied)
			if got != (netip.Prefix{}) && (got != got.Masked() || got.Addr().Is4In6() || got.Addr().Zone() != "" || got.Bits() != map[bool]int{true: 32, false: 64}[got.Addr().Is4()]) {
				t.Errorf("%q, %q: the network is %v", peer, said, got)
			}
			at, err := netip.ParseAddrPort(peer)
			if err != nil || at.Addr().Unmap().IsLoopback() || proxied {
				continue
			}
			if without := ratelimit.Network(peer, nil, false); got != without {
				t.Errorf("%q: the network is %v, and %v with %q", peer, without, got, said)
			}
		}
		if _, err := netip.ParseAddr(added); err != nil {
			return
		}
		alone := ratelimit.Network("127.0.0.1:5", http.Header{"X-Forwarded-For": {added}}, false)
		for _, values := range [][]string{{said + ", " + added}, {said, added}} {
			if got := ratelimit.Network("127.0.0.1:5", http.Header{"X-Forwarded-For": values}, false); got != alone {
				t.Errorf("a client of %v counts as %v, since it says %q", alone, got, said)
			}
		}
	})
}
