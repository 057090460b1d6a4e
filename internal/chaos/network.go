package chaos

import (
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// How parts of a cluster reach each other.
const (
	// Proxies of the runner are on every way. They hold bytes, in this process, on loopback.
	Proxies = "proxies"
	// Namespaces has each node, each server of PostgreSQL, and those who chat in a network of its own, with a router between them that
	// drops packets. It takes root, on Linux, with the programs ip, tc and ss.
	Namespaces = "namespaces"
	// Auto is Namespaces where they are allowed, else Proxies.
	Auto = "auto"
)

// In a lab each node is the host of its number; then come both servers of PostgreSQL, and those who chat.
const bases = 2

// way from a host of a lab to another.
type way struct{ from, to int }

// openNetwork gives the lab of a run, nil where it goes by proxies; and says which it is, and why.
func openNetwork(kind string, nodes int) (*Lab, string, error) {
	switch kind {
	case Proxies:
		return nil, "proxies", nil
	case Namespaces, Auto:
		lab, err := OpenLab(nodes + bases + 1)
		switch {
		case err == nil:
			return lab, "network namespaces, with a router that drops packets between them and no way out", nil
		case kind == Auto:
			return nil, fmt.Sprintf("proxies, as network namespaces are not to be had: %v", err), nil
		}
		return nil, "", err
	}
	return nil, "", errors.New("a network is one of proxies, namespaces and auto, and not " + kind)
}

// bases are where the servers of PostgreSQL are in a lab.
func (l *Lab) bases() (list []sqltest.Site) {
	for k := range bases {
		host := len(l.hosts) - 1 - bases + k
		list = append(list, sqltest.Site{Address: l.Address(host), Inside: func(start func() error) error { return l.Inside(host, start) }})
	}
	return list
}

// people are on the last host.
func (c *Cluster) people() int { return len(c.lab.hosts) - 1 }

// apart makes a node on its host.
func (c *Cluster) apart(n *Node, i int, settings []string) error {
	at := c.lab.Address(i)
	n.address, n.bus = at+":8080", at+":4222"
	n.URL = "http://" + n.address
	reached := ""
	if len(c.buses) > 1 {
		reached = n.bus
	}
	settings = append([]string{"plaintext=true"}, settings...) // nobody else is in this network
	if err := c.assemble(n, "127.0.0.1:8081", c.database.Hosts(), reached, settings); err != nil {
		return err
	}
	n.process.Inside = func(start func() error) error { return c.lab.Inside(i, start) }
	return nil
}

// troubleInLab has the ways of a node misbehave as a kind of fault says, until it is healed.
func (c *Cluster) troubleInLab(f Fault) (heal func() error, err error) {
	var others, base []int
	for j := range c.Nodes {
		if j != f.Node {
			others = append(others, j)
		}
	}
	for k := range bases {
		base = append(base, len(c.Nodes)+k)
	}
	people := []int{c.people()}
	var heals []func() error
	heal = func() error { return healAll(heals) }
	cut := func(hosts []int, to, from bool) {
		for _, h := range hosts {
			for w, dropped := range map[way]bool{{h, f.Node}: to, {f.Node, h}: from} {
				if dropped && err == nil {
					var one func() error
					if one, err = c.lab.Cut(w.from, w.to); err == nil {
						heals = append(heals, one)
					}
				}
			}
		}
	}
	switch f.Kind {
	case Alone:
		cut(others, true, true)
	case Deaf:
		cut(others, true, false)
	case Mute:
		cut(others, false, true)
	case NoBase:
		cut(base, true, true)
	case DeafBase:
		cut(base, true, false)
	case MuteBase:
		cut(base, false, true)
	case NoPeople:
		cut(people, true, true)
	case DeafPeople:
		cut(people, true, false)
	case MutePeople:
		cut(people, false, true)
	case Cut:
		cut(others, true, true)
		cut(base, true, true)
		cut(people, true, true)
	case Slow, Lossy:
		var one func() error
		if f.Kind == Slow {
			one, err = c.lab.Narrow(f.Node, narrow, 2*f.Much)
		} else {
			one, err = c.lab.Lose(f.Node, f.Share)
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

// narrow is what passes to a node, and from it, in a second, when it is slow: less than they send at times.
const narrow = 64 << 10

// resetInLab ends all connections of clients, and those between nodes.
func (c *Cluster) resetInLab() error {
	var errs []error
	for i := range c.Nodes {
		others := []int{c.people()}
		for j := range i {
			others = append(others, j)
		}
		errs = append(errs, c.lab.Reset(i, others...))
	}
	return errors.Join(errs...)
}

// healAll heals each, also where one fails.
func healAll(heals []func() error) error {
	var errs []error
	for _, h := range heals {
		errs = append(errs, h())
	}
	return errors.Join(errs...)
}
