// Package loopback recognizes addresses of this machine.
package loopback

import (
	"net/netip"
	"strings"
)

// IsHost reports whether a host, without a port, is this machine: the name localhost, or an address of the loopback network.
func IsHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}
