package chaos

import (
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// Networks between the parts of a cluster.
const (
	// Proxies: each link goes through a proxy in this process, on loopback, which holds bytes.
	Proxies = "proxies"
	// Namespaces: each node, each PostgreSQL server and the clients are in network namespaces of their own, with a router between them
	// that drops packets. This needs root on Linux, and the programs ip, tc and ss.
	Namespaces = "namespaces"
	// Auto is Namespaces if they are permitted, otherwise Proxies.
	Auto = "auto"
)

// postgresServers is the number of PostgreSQL servers. In a NamespaceNetwork, node i is host i; the PostgreSQL servers and the clients follow.
const postgresServers = 2

// direction from one host to another.
type direction struct{ from, to int }

// openNetwork returns the network of a run, nil for proxies, and a description with the reason.
func openNetwork(kind string, nodes int) (*NamespaceNetwork, string, error) {
	switch kind {
	case Proxies:
		return nil, "proxies", nil
	case Namespaces, Auto:
		namespaces, err := OpenNamespaces(nodes + postgresServers + 1)
		switch {
		case err == nil:
			return namespaces, "network namespaces, with a router that drops packets between them, and no connection to other networks", nil
		case kind == Auto:
			return nil, fmt.Sprintf("proxies, because network namespaces are not available: %v", err), nil
		}
		return nil, "", err
	}
	return nil, "", errors.New("the network must be proxies, namespaces or auto, not " + kind)
}

// postgresSites returns the hosts of the PostgreSQL servers.
func (l *NamespaceNetwork) postgresSites() (list []sqltest.Site) {
	for k := range postgresServers {
		host := len(l.hosts) - 1 - postgresServers + k
		list = append(list, sqltest.Site{Address: l.Address(host), Inside: func(start func() error) error { return l.Inside(host, start) }})
	}
	return list
}

// clientsHost returns the host of the clients, the last one.
func (c *Cluster) clientsHost() int { return len(c.namespaces.hosts) - 1 }

// prepareInNamespace prepares a node on its host.
func (c *Cluster) prepareInNamespace(n *Node, i int, settings []string) error {
	at := c.namespaces.Address(i)
	n.address, n.bus = at+":8080", at+":4222"
	n.URL = "http://" + n.address
	reached := ""
	if len(c.buses) > 1 {
		reached = n.bus
	}
	settings = append([]string{"plaintext=true", "plaintext_engines=postgres"}, settings...) // nobody else is in this network
	if err := c.prepareProcess(n, "127.0.0.1:8081", c.database.Hosts(), reached, settings); err != nil {
		return err
	}
	n.process.Inside = func(start func() error) error { return c.namespaces.Inside(i, start) }
	return nil
}

// impairNamespace impairs the links of a node according to a kind of fault, until heal is called.
func (c *Cluster) impairNamespace(f Fault) (heal func() error, err error) {
	var others, base []int
	for j := range c.Nodes {
		if j != f.Node {
			others = append(others, j)
		}
	}
	for k := range postgresServers {
		base = append(base, len(c.Nodes)+k)
	}
	people := []int{c.clientsHost()}
	var heals []func() error
	heal = func() error { return healAll(heals) }
	cut := func(hosts []int, to, from bool) {
		for _, h := range hosts {
			for w, dropped := range map[direction]bool{{h, f.Node}: to, {f.Node, h}: from} {
				if dropped && err == nil {
					var one func() error
					if one, err = c.namespaces.Cut(w.from, w.to); err == nil {
						heals = append(heals, one)
					}
				}
			}
		}
	}
	switch f.Kind {
	case Isolated:
		cut(others, true, true)
	case InboundLost:
		cut(others, true, false)
	case OutboundLost:
		cut(others, false, true)
	case PostgresUnreachable:
		cut(base, true, true)
	case PostgresInboundLost:
		cut(base, true, false)
	case PostgresOutboundLost:
		cut(base, false, true)
	case ClientsUnreachable:
		cut(people, true, true)
	case ClientsInboundLost:
		cut(people, true, false)
	case ClientsOutboundLost:
		cut(people, false, true)
	case IsolatedFromAll:
		cut(others, true, true)
		cut(base, true, true)
		cut(people, true, true)
	case Slow, Lossy:
		var one func() error
		if f.Kind == Slow {
			one, err = c.namespaces.LimitRate(f.Node, slowRate, 2*f.Amount)
		} else {
			one, err = c.namespaces.DropShare(f.Node, f.Share, f.Seed)
		}
		if err == nil {
			heals = append(heals, one)
		}
	}
	if err != nil {
		return nil, errors.Join(err, heal())
	}
	return heal, nil
}

// slowRate is the bandwidth of a slow node in bytes a second, which is less than its peak traffic.
const slowRate = 64 << 10

// resetInNamespaces resets all connections of clients and between nodes.
func (c *Cluster) resetInNamespaces() error {
	var errs []error
	for i := range c.Nodes {
		others := []int{c.clientsHost()}
		for j := range i {
			others = append(others, j)
		}
		errs = append(errs, c.namespaces.Reset(i, others...))
	}
	return errors.Join(errs...)
}

// healAll calls all functions, even if one fails.
func healAll(heals []func() error) error {
	var errs []error
	for _, h := range heals {
		errs = append(errs, h())
	}
	return errors.Join(errs...)
}
