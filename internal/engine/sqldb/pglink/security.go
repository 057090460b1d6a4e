package pglink

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/base/loopback"
)

// Security of the connections to an address: that of the least secure way to a server on another machine.
type Security int

const (
	// Plain: a connection may be without TLS.
	Plain Security = iota
	// Unverified: all have TLS, but an attacker in between may impersonate the server.
	Unverified
	// Verified: all have TLS with the server's name in its certificate, or lead to this machine.
	Verified
)

// SecurityOf returns how secure the connections to an address (a URL or keywords) are, considering PGSSLMODE and similar variables, and
// which hosts have the least secure ones, if these are not verified. The error does not contain a password.
func SecurityOf(address string) (least Security, hosts []string, err error) {
	c, err := pgconn.ParseConfig(address)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the address
		}
		return Plain, nil, err
	}
	least = Verified
	for _, way := range append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...) {
		security := Verified
		switch {
		case isLocal(way.Host):
		case way.TLSConfig == nil:
			security = Plain
		case way.TLSConfig.InsecureSkipVerify:
			security = Unverified
		}
		if security < least {
			least, hosts = security, nil
		}
		if security == least && least != Verified && !slices.Contains(hosts, way.Host) {
			hosts = append(hosts, way.Host)
		}
	}
	return least, hosts, nil
}

// isLocal reports whether a host is this machine: a folder of Unix sockets, an abstract socket, or loopback.
func isLocal(host string) bool {
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || loopback.IsHost(host)
}
