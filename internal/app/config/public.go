package config

import (
	"net"
	"strconv"
	"strings"
	"unicode"
)

// Public is where clients reach this node itself, not a balancer in front of all nodes.
type Public struct {
	// URL is where clients reach the listener of this node, as https://node1.example.com, for FindGateways. Default none: clients connect to the address
	// that they have, such as that of a load balancer.
	URL string `yaml:"url"`
	// TCP is HOST:PORT where clients reach tcp.listen of this node, for FindGateways; default none.
	TCP string `yaml:"tcp"`
	// Region that this node is in, as eu-west: clients of the region are sent to its nodes first. Default none.
	Region string `yaml:"region"`
}

// maxRegion is the longest name of a region.
const maxRegion = 64

// checkDiscovery checks what clients are told of this node.
func (c *Config) checkDiscovery(fault func(string, ...any)) {
	p := c.Public
	if p.URL != "" && !isOrigin(p.URL) {
		fault("public.url: %q is not an address without a path, as https://node1.example.com", p.URL)
	}
	if p.TCP != "" {
		host, port, err := net.SplitHostPort(p.TCP)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || host == "" || n < 1 || n > 65535 {
			fault("public.tcp: %q is not HOST:PORT, as node1.example.com:7171", p.TCP)
		}
		if c.TCP.Listen == "" {
			fault("public.tcp: this node has no sockets over TCP; set tcp.listen, or leave public.tcp empty")
		}
	}
	if len(p.Region) > maxRegion || strings.ContainsFunc(p.Region, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		fault("public.region: %q is not a name of at most %d bytes without spaces, as eu-west", p.Region, maxRegion)
	}
}
