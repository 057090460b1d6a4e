package egress

import (
	"net"
	"net/http"
)

// Resolve has a client use a resolver.
func (c *Client) Resolve(r *net.Resolver) { c.http = c.client(r) }

// Transport of a client.
func (c *Client) Transport() *http.Transport { return c.http.Transport.(*http.Transport) }

// Resolve has a fetcher use a resolver.
func (f *Fetcher) Resolve(r *net.Resolver) { f.resolver = r }

// Through has a fetcher make its hops by a transport.
func (f *Fetcher) Through(base http.RoundTripper) { f.http.Transport.(*hopTransport).base = base }
