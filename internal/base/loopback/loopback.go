// Package loopback recognizes addresses of this machine.
package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// HostOf returns the host of an address with or without a port, without the brackets of IPv6.
func HostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// IsHost reports whether a host, without a port, is this machine: the name localhost, or an address of the loopback network.
func IsHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}
