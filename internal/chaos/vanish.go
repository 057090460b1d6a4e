package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// Vanish is what an operator, or a program in their place, does when the primary's machine cannot be reached: no packet comes to it, or
// from it, and no connection ends; after a while the standby is promoted. Then it is there again, and believes to be the primary, until it
// is made the standby of the new one, from a fresh copy. without cuts a server, by number, off from all nodes.
func (p *Postgres) Vanish(ctx context.Context, without func(server int) (heal func() error, err error), away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	servers := []*sqltest.Server{p.pair.Primary(), p.pair.Standby()}
	slices.SortFunc(servers, func(a, b *sqltest.Server) int { return strings.Compare(a.Folder(), b.Folder()) }) // as they were at first: …/a, …/b
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

// without has no node reach a server of PostgreSQL, nor that one them, until it is healed.
func (c *Cluster) without(server int) (heal func() error, err error) {
	var heals []func() error
	heal = func() error { return healAll(heals) }
	for i, n := range c.Nodes {
		if c.lab == nil {
			link := n.Databases[server]
			link.Set(Trouble{Forth: true, Back: true})
			heals = append(heals, func() error { link.Set(Trouble{}); return nil })
			continue
		}
		base := len(c.Nodes) + server
		for _, w := range []way{{i, base}, {base, i}} {
			one, err := c.lab.Cut(w.from, w.to)
			if err != nil {
				return nil, errors.Join(err, heal())
			}
			heals = append(heals, one)
		}
	}
	return heal, nil
}
