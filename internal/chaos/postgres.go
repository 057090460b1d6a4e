package chaos

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// Postgres is a primary and the standby that its commits wait for, private ones. Its methods may be called from many goroutines.
type Postgres struct {
	mu    sync.Mutex // guards pair, which one goroutine at a time may use
	pair  *sqltest.Pair
	hosts []string // host:port of both
	lab   *Lab     // that both are in; nil: they are on this machine's own loopback
	disk  *disk    // of both; nil: it cannot be slow, for a reason
	why   error
}

// OpenPostgres starts both, which write through to the disk, in a lab or, where it is nil, on loopback. The caller must Close it.
func OpenPostgres(ctx context.Context, lab *Lab) (*Postgres, error) {
	programs, err := sqltest.Find()
	if err != nil {
		return nil, err
	}
	o := PairOptions()
	if lab != nil {
		o.Apart = lab.bases()
	}
	pair, err := programs.StartPair(ctx, "", o)
	if err != nil {
		return nil, err
	}
	if lab == nil {
		return NewPostgres(pair)
	}
	p := &Postgres{pair: pair, lab: lab}
	for _, site := range o.Apart {
		p.hosts = append(p.hosts, net.JoinHostPort(site.Address, "5432"))
	}
	p.find()
	return p, nil
}

// PairOptions of a pair for NewPostgres.
func PairOptions() sqltest.PairOptions {
	return sqltest.PairOptions{Listen: "127.0.0.1", Settings: []string{"fsync=on", "commit_siblings=0"}}
}

// NewPostgres takes a pair, which nobody else uses from then on.
func NewPostgres(pair *sqltest.Pair) (*Postgres, error) {
	p := &Postgres{pair: pair}
	for _, s := range []*sqltest.Server{pair.Primary(), pair.Standby()} {
		u, err := url.Parse(s.URL)
		if err != nil {
			return nil, err
		}
		p.hosts = append(p.hosts, net.JoinHostPort(u.Query().Get("host"), u.Query().Get("port")))
	}
	p.find()
	return p, nil
}

// Hosts are the addresses of both.
func (p *Postgres) Hosts() []string { return p.hosts }

// Address of both by proxies, in the order of Hosts: whichever is the primary is taken.
func (p *Postgres) Address(proxies []string) string {
	var hosts, ports []string
	for _, a := range proxies {
		h, port, _ := net.SplitHostPort(a) // proxies' own
		hosts, ports = append(hosts, h), append(ports, port)
	}
	return fmt.Sprintf("postgres://rialto@/postgres?host=%s&port=%s&target_session_attrs=primary&sslmode=disable&connect_timeout=5", strings.Join(hosts, ","), strings.Join(ports, ","))
}

// Own address of the primary now, past the proxies.
func (p *Postgres) Own() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pair.Primary().URL
}

// Crash kills the primary, and starts it again after a while.
func (p *Postgres) Crash(ctx context.Context, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pair.Primary().Kill(); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Primary().Restart(ctx)
}

// Freeze holds the primary for a while.
func (p *Postgres) Freeze(ctx context.Context, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pair.Primary().Pause(); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Primary().Resume()
}

// Failover is what an operator, or a program in their place, does when the primary is gone: it is killed for good, or held, so that
// it answers nobody; after a while the standby is promoted; and what was the primary becomes the standby of the new one, from a
// fresh copy.
func (p *Postgres) Failover(ctx context.Context, held bool, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := p.pair.Primary().Kill
	if held {
		end = p.pair.Primary().Pause
	}
	if err := end(); err != nil {
		return err
	}
	pause(ctx, away)
	if err := p.pair.Promote(ctx); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Rejoin(ctx)
}

// StandbyGone kills the standby, so that commits wait; after a while the primary is told to go on alone, and the standby comes back.
func (p *Postgres) StandbyGone(ctx context.Context, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pair.Standby().Kill(); err != nil {
		return err
	}
	pause(ctx, away)
	if err := p.pair.Synchronous(ctx, false); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Rejoin(ctx)
}

// Slow has each commit wait before it is synced, as a slow disk does, for a while.
func (p *Postgres) Slow(ctx context.Context, delay, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := func(microseconds int64) error {
		for _, statement := range []string{fmt.Sprintf("ALTER SYSTEM SET commit_delay = %d", microseconds), "SELECT pg_reload_conf()"} {
			if err := p.pair.Primary().Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	if err := set(delay.Microseconds()); err != nil {
		return err
	}
	pause(ctx, away)
	return set(0)
}

// Close ends both and removes all of them.
func (p *Postgres) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pair.Stop()
}
