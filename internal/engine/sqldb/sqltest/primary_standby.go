package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/loopback"
)

// Pair is a primary with a synchronous standby. Its methods and those of its servers are not safe for concurrent use. A run that is
// killed while a server is paused leaves the server behind.
type Pair struct {
	// URL names both servers; clients connect to the one that is the primary.
	URL string

	programs         *Programs
	dir              string
	settings         []string
	primary, standby *Server
}

// PairOptions of a Pair; the zero value has the documented defaults.
type PairOptions struct {
	// Settings of both servers, such as "fsync=on".
	Settings []string
	// Listen is an address of this machine, such as "127.0.0.1", on which both listen, each on its own port; "" means Unix sockets only.
	Listen string
	// Apart, if set, gives each server its own site, such as a network namespace. The servers' own URLs then use their Unix sockets,
	// which can be reached from everywhere, and so does the replication.
	Apart []Site
}

// Site of a server: its address, on PostgreSQL's default port, and a function that starts a process there.
type Site struct {
	Address string
	Inside  func(start func() error) error
}

// Names of the servers.
const first, second = "a", "b"

// StartPair creates a primary with an empty database and its standby, in a new folder inside dir ("": the folder for temporary files;
// otherwise the user of the programs must have access to it), and returns when commits wait for the standby.
func (p *Programs) StartPair(ctx context.Context, dir string, o PairOptions) (_ *Pair, err error) {
	pair := &Pair{programs: p}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("a private primary of PostgreSQL with its standby: %w", err), pair.Stop())
		}
	}()
	if pair.dir, err = p.folder(dir); err != nil {
		return nil, err
	}
	// A standby that was down for some minutes finds the WAL that it missed, and reconnects often.
	pair.settings = append([]string{"wal_keep_size=512MB", "wal_retrieve_retry_interval=100ms", "max_connections=300"}, o.Settings...)
	for i, s := range []**Server{&pair.primary, &pair.standby} {
		at := Site{Address: o.Listen}
		if len(o.Apart) > 0 {
			at = o.Apart[i]
		}
		if *s, err = pair.place([]string{first, second}[i], at); err != nil {
			return nil, err
		}
	}
	pair.URL = address("read-write", pair.primary, pair.standby)
	if err := p.initialize(ctx, pair.primary.dir); err != nil {
		return nil, err
	}
	if len(o.Apart) > 0 {
		if err := trust(pair.primary.dir); err != nil {
			return nil, err
		}
	}
	if err := pair.primary.run(ctx); err != nil {
		return nil, err
	}
	return pair, pair.follow(ctx)
}

// trust allows connections from other hosts in the server's network.
func trust(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all 0.0.0.0/0 trust\n")
	return errors.Join(err, f.Close())
}

// PairOf starts a pair for a test. Without PostgreSQL it behaves like Postgres.
func PairOf(t testing.TB, o PairOptions) *Pair {
	t.Helper()
	p, err := programs(t).StartPair(t.Context(), "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// place creates a server's folder and address.
func (p *Pair) place(name string, at Site) (*Server, error) {
	s := &Server{programs: p.programs, dir: filepath.Join(p.dir, name), port: "5432", inside: at.Inside}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	if as := p.programs.as; as != nil {
		if err := os.Chown(s.dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	s.host = s.dir
	settings := p.settings
	if listen := at.Address; listen != "" {
		if at.Inside == nil {
			port, err := loopback.FreePort()
			if err != nil {
				return nil, err
			}
			s.port = strconv.Itoa(port)
			s.host = listen
		}
		settings = append([]string{"listen_addresses=" + listen, "port=" + s.port}, settings...)
	}
	s.args = arguments(s.dir, settings)
	s.URL = address("any", s)
	return s, nil
}

func address(attributes string, servers ...*Server) string {
	var hosts, ports []string
	for _, s := range servers {
		hosts, ports = append(hosts, s.host), append(ports, s.port)
	}
	query := url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "target_session_attrs": {attributes}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", User: url.User("rialto"), Path: "/postgres", RawQuery: query.Encode()}).String()
}

// Primary returns the server that accepts writes: the one that was promoted last.
func (p *Pair) Primary() *Server { return p.primary }

// Standby returns the other server, whether it replicates or not.
func (p *Pair) Standby() *Server { return p.standby }

// StandbyFirst returns an address of both as an operator may write it: the standby before the primary, without a required role.
func (p *Pair) StandbyFirst() string { return address("any", p.standby, p.primary) }

// Promote promotes the standby, which then commits without a standby, and returns when it does. The old primary is left unchanged: kill
// or pause it before, or there are two that consider themselves primary. Its commits wait for its standby, which it has lost.
func (p *Pair) Promote(ctx context.Context) error {
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = ''`, `SELECT pg_reload_conf()`, `SELECT pg_promote(true, 600)`} {
		if err := p.standby.Exec(ctx, statement); err != nil {
			return fmt.Errorf("promoting the standby: %w", err)
		}
	}
	p.primary, p.standby = p.standby, p.primary
	return p.until(ctx, p.primary, `SELECT NOT pg_is_in_recovery()`)
}

// Rejoin makes the old primary, whatever its state, a standby of the new one, with a fresh copy of its files, and returns when commits
// wait for it.
func (p *Pair) Rejoin(ctx context.Context) error {
	if err := errors.Join(p.standby.Kill(), os.RemoveAll(filepath.Join(p.standby.dir, "data"))); err != nil {
		return err
	}
	return p.follow(ctx)
}

// follow copies the primary's files to the standby, and starts it.
func (p *Pair) follow(ctx context.Context) error {
	s := p.standby
	name, data := filepath.Base(s.dir), filepath.Join(s.dir, "data")
	if out, err := p.programs.command(ctx, s.dir, p.programs.copy, "-h", p.primary.dir, "-p", p.primary.port, "-U", "rialto", "-D", data, "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	from := "host=" + p.primary.dir + " port=" + p.primary.port + " user=rialto application_name=" + name
	if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil {
		return err
	}
	s.args = append(s.args, "-c", "primary_conninfo="+from)
	if err := s.run(ctx); err != nil {
		return err
	}
	return p.Synchronous(ctx, true)
}

// Synchronous enables or disables waiting for the standby, and returns when commits do.
func (p *Pair) Synchronous(ctx context.Context, wait bool) error {
	names, reached := "", `SELECT current_setting('synchronous_standby_names') = ''`
	if wait {
		names = filepath.Base(p.standby.dir)
		reached = `SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = '` + names + `' AND sync_state = 'sync')`
	}
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = '` + names + `'`, `SELECT pg_reload_conf()`} {
		if err := p.primary.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return p.until(ctx, p.primary, reached)
}

// until waits until a query on a server returns true.
func (p *Pair) until(ctx context.Context, s *Server, question string) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	for {
		var yes bool
		if err := c.QueryRow(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		if backoff.Sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("%w: no server returned true for %s", ctx.Err(), question)
		}
	}
}

// Stop stops both servers and removes their files.
func (p *Pair) Stop() error {
	var err error
	for _, s := range []*Server{p.primary, p.standby} {
		if s != nil {
			err = errors.Join(err, s.Kill())
		}
	}
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// Exec runs a statement on the server, without a transaction.
func (s *Server) Exec(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	_, err = c.Exec(ctx, statement)
	return err
}

// Kill kills the server and all its children with SIGKILL, even if it is paused, and returns when they have ended. It does nothing if the
// server has ended.
func (s *Server) Kill() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	err := s.signal(syscall.SIGKILL)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.ended
	<-s.quiet
	return err
}

// Restart starts a server that was killed, with its files: a former primary considers itself the primary.
func (s *Server) Restart(ctx context.Context) error {
	// Otherwise it might mistake another process with its old id for itself.
	if err := os.Remove(filepath.Join(s.dir, "data", "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.run(ctx)
}

// Pause suspends the server and all its children until Resume.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume resumes a paused server.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }
