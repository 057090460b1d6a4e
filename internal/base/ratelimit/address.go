package ratelimit

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
)

// Network returns the network of a request: an IPv4 address, or the /64 of an IPv6 address, which is what one customer gets.
// X-Forwarded-For is trusted from a proxy on this machine, and from any peer if proxied is true: then all requests come through a proxy. The
// network is the zero value for programs on this machine, which are not limited.
func Network(peer string, h http.Header, proxied bool) netip.Prefix {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return netip.Prefix{}
	}
	address := at.Addr().Unmap()
	if address.IsLoopback() || proxied {
		said := h.Values("X-Forwarded-For")
		if len(said) == 0 {
			return netip.Prefix{}
		}
		last := said[len(said)-1] // the client may have sent the earlier ones
		last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		if address, err = netip.ParseAddr(last); err != nil {
			with, err := netip.ParseAddrPort(last) // some proxies add the port
			if err != nil {
				return netip.Prefix{}
			}
			address = with.Addr()
		}
		address = address.Unmap()
	}
	bits := 32
	if address.Is6() {
		bits = 64
	}
	p, err := address.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

type networkKey struct{}

// WithNetwork stores the network of a request in its context.
func WithNetwork(ctx context.Context, from netip.Prefix) context.Context {
	return context.WithValue(ctx, networkKey{}, from)
}

// NetworkOf returns the network that WithNetwork stored, or the zero value.
func NetworkOf(ctx context.Context) netip.Prefix {
	from, _ := ctx.Value(networkKey{}).(netip.Prefix)
	return from
}
