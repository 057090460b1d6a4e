package egress

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// Resolve has a client use a resolver.
func (c *Client) Resolve(r *net.Resolver) { c.http = c.client(r) }

// Transport of a client.
func (c *Client) Transport() *http.Transport { return c.http.Transport.(*http.Transport) }

// Resolve has a fetcher use a resolver.
func (f *Fetcher) Resolve(r *net.Resolver) { f.resolver = r }

// Through has a fetcher make its hops by a transport.
func (f *Fetcher) Through(base http.RoundTripper) { f.http.Transport.(*hopTransport).base = base }

// Permits checks the text of an address as a fetch does.
func (f *Fetcher) Permits(u *url.URL) error { return f.permit(u) }

// IsPublic reports whether a fetch may connect to an address.
func IsPublic(ip netip.Addr) bool { return classOf(ip) == public }

// IsServer reports whether a client may connect to an address, at least with allow_private.
func IsServer(ip netip.Addr) bool { return classOf(ip) != forbidden }
