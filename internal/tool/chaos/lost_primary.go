package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// LosePrimaryMachine partitions the primary from everything without closing connections, and promotes the standby after a while, as an
// operator or a failover tool does. Then the partition heals: the old primary still considers itself the primary, until it becomes the
// standby of the new one, from a fresh copy. without partitions a server, by its number, from all nodes.
func (p *Postgres) LosePrimaryMachine(ctx context.Context, without func(server int) (heal func() error, err error), away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	servers := []*sqltest.Server{p.pair.Primary(), p.pair.Standby()}
	slices.SortFunc(servers, func(a, b *sqltest.Server) int { return strings.Compare(a.Folder(), b.Folder()) }) // in their original order: …/a, …/b
	heal, err := without(slices.Index(servers, p.pair.Primary()))
	if err != nil {
		return err
	}
	pause(ctx, away)
	if err := p.pair.Promote(ctx); err != nil {
		return errors.Join(err, heal())
	}
	pause(ctx, away/2)
	if err := heal(); err != nil {
		return err
	}
	pause(ctx, away/2)
	return p.pair.Rejoin(ctx)
}

// isolateServer blocks all traffic between the nodes and a PostgreSQL server until heal is called.
func (c *Cluster) isolateServer(server int) (heal func() error, err error) {
	var heals []func() error
	heal = func() error { return healAll(heals) }
	for i, n := range c.Nodes {
		if c.namespaces == nil {
			link := n.Databases[server]
			link.Set(Impairment{HoldToServer: true, HoldFromServer: true})
			heals = append(heals, func() error { link.Set(Impairment{}); return nil })
			continue
		}
		base := len(c.Nodes) + server
		for _, w := range []direction{{i, base}, {base, i}} {
			one, err := c.namespaces.Cut(w.from, w.to)
			if err != nil {
				return nil, errors.Join(err, heal())
			}
			heals = append(heals, one)
		}
	}
	return heal, nil
}
