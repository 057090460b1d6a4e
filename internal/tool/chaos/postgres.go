package chaos

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// Postgres is a private primary with a synchronous standby. It is safe for concurrent use.
type Postgres struct {
	mu         sync.Mutex // guards pair, which is not safe for concurrent use
	pair       *sqltest.Pair
	hosts      []string          // host:port of both
	namespaces *NamespaceNetwork // the network of both; nil: loopback
	disk       *disk             // of both; nil: cannot be throttled, because of why
	why        error
}

// OpenPostgres starts both with fsync, in a network or, if namespaces is nil, on loopback. The caller must Close it.
func OpenPostgres(ctx context.Context, namespaces *NamespaceNetwork) (*Postgres, error) {
	programs, err := sqltest.Find()
	if err != nil {
		return nil, err
	}
	o := PairOptions()
	if namespaces != nil {
		o.Apart = namespaces.postgresSites()
	}
	pair, err := programs.StartPair(ctx, "", o)
	if err != nil {
		return nil, err
	}
	if namespaces == nil {
		return NewPostgres(pair)
	}
	p := &Postgres{pair: pair, namespaces: namespaces}
	for _, site := range o.Apart {
		p.hosts = append(p.hosts, net.JoinHostPort(site.Address, "5432"))
	}
	p.findDisk()
	return p, nil
}

// PairOptions returns the options of a pair for NewPostgres.
func PairOptions() sqltest.PairOptions {
	return sqltest.PairOptions{Listen: "127.0.0.1", Settings: []string{"fsync=on", "commit_siblings=0"}}
}

// NewPostgres takes ownership of a pair.
func NewPostgres(pair *sqltest.Pair) (*Postgres, error) {
	p := &Postgres{pair: pair}
	for _, s := range []*sqltest.Server{pair.Primary(), pair.Standby()} {
		u, err := url.Parse(s.URL)
		if err != nil {
			return nil, err
		}
		p.hosts = append(p.hosts, net.JoinHostPort(u.Query().Get("host"), u.Query().Get("port")))
	}
	p.findDisk()
	return p, nil
}

// Hosts returns the addresses of both servers.
func (p *Postgres) Hosts() []string { return p.hosts }

// Address returns a URL with proxies of both servers, in the order of Hosts. Clients connect to the one that is the primary.
func (p *Postgres) Address(proxies []string) string {
	var hosts, ports []string
	for _, a := range proxies {
		h, port, _ := net.SplitHostPort(a) // the proxies' own addresses are valid
		hosts, ports = append(hosts, h), append(ports, port)
	}
	return fmt.Sprintf("postgres://rialto@/postgres?host=%s&port=%s&target_session_attrs=primary&sslmode=disable&connect_timeout=5", strings.Join(hosts, ","), strings.Join(ports, ","))
}

// DirectURL returns the URL of the current primary, without a proxy.
func (p *Postgres) DirectURL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pair.Primary().URL
}

// Crash kills the primary and starts it again after a while.
func (p *Postgres) Crash(ctx context.Context, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pair.Primary().Kill(); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Primary().Restart(ctx)
}

// Pause suspends the primary for a while.
func (p *Postgres) Pause(ctx context.Context, away time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pair.Primary().Pause(); err != nil {
		return err
	}
	pause(ctx, away)
	return p.pair.Primary().Resume()
}

// Failover does what an operator or a failover tool does when the primary fails. The primary is killed, or suspended so that it answers
// nobody; after a while the standby is promoted; then the old primary becomes the standby, from a fresh copy.
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

// LoseStandby kills the standby, so that commits wait. After a while synchronous replication is disabled, and then the standby returns.
func (p *Postgres) LoseStandby(ctx context.Context, away time.Duration) error {
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

// Slow delays each commit before its sync, like a slow disk, for a while.
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

// Close stops both servers and removes their files.
func (p *Postgres) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pair.Stop()
}
