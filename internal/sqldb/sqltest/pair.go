package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pair is a primary and the standby that its commits wait for. One goroutine at a time may call its methods and those of its
// servers. A run that is killed while a server is paused leaves that behind.
type Pair struct {
	// URL names both, for whoever writes: whichever is the primary is taken.
	URL string

	programs         *Programs
	dir              string
	settings         []string
	primary, standby *Server
}

// PairOptions of a Pair; the zero value is the documented default.
type PairOptions struct {
	// Settings of both, as "fsync=on".
	Settings []string
	// Listen is an address of this machine, as "127.0.0.1", where both listen, each on a port of its own; "" is socket files alone.
	Listen string
	// Apart, where it is set, gives each of the two a place of its own instead, as in a network namespace. Their own URLs lead by their
	// socket files then, which are everybody's, and so does what one tells the other.
	Apart []Site
}

// Site of a server: the address where it listens, on PostgreSQL's port, and who starts its process there.
type Site struct {
	Address string
	Inside  func(start func() error) error
}

// Servers' names, among the servers.
const first, second = "a", "b"

// StartPair makes a primary with an empty database and its standby, in a folder of their own inside dir ("": the one for passing files;
// else the user of the programs must be able to reach it), and returns when commits wait for the standby.
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
	// A standby that was away for some minutes finds what it missed, and asks for it often.
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

// trust whoever reaches a server from elsewhere: nobody but who is in its network.
func trust(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all 0.0.0.0/0 trust\n")
	return errors.Join(err, f.Close())
}

// PairOf starts a pair for this test. Without PostgreSQL it does as Postgres.
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

// place makes a server's folder and address.
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
			l, err := net.Listen("tcp", net.JoinHostPort(listen, "0"))
			if err != nil {
				return nil, err
			}
			s.port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
			if err := l.Close(); err != nil {
				return nil, err
			}
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

// Primary is the server that takes writes: the one that was promoted last.
func (p *Pair) Primary() *Server { return p.primary }

// Standby is the other, whether it follows or not.
func (p *Pair) Standby() *Server { return p.standby }

// StandbyFirst is the address of both as an operator may write it: the standby before the primary, and without saying which is wanted.
func (p *Pair) StandbyFirst() string { return address("any", p.standby, p.primary) }

// Promote makes the standby the primary, which takes commits alone, and returns when it does. What was the primary is left as it is:
// kill it before, pause it, or have two that believe it. That one's commits wait for its standby, which it has no more.
func (p *Pair) Promote(ctx context.Context) error {
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = ''`, `SELECT pg_reload_conf()`, `SELECT pg_promote(true, 600)`} {
		if err := p.standby.Exec(ctx, statement); err != nil {
			return fmt.Errorf("promoting the standby: %w", err)
		}
	}
	p.primary, p.standby = p.standby, p.primary
	return p.until(ctx, p.primary, `SELECT NOT pg_is_in_recovery()`)
}

// Rejoin makes of what was the primary, whatever it does, a standby of the one that is it now, with its files, and returns when commits
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

// Synchronous has the primary's commits wait for the standby, or not, and returns when they do.
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

// until a server says true.
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
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w: no server said yes to %s", ctx.Err(), question)
		}
	}
}

// Stop ends both and removes all of them.
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

// Exec runs a statement on the server, alone.
func (s *Server) Exec(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	_, err = c.Exec(ctx, statement)
	return err
}

// Kill ends the server and all its children as kill -9 does, also where it is paused, and returns when they are gone. One that has
// ended is none to it.
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

// Restart starts a server that was killed, as it was and with the files that it had: one that was the primary believes to be it.
func (s *Server) Restart(ctx context.Context) error {
	// It would take a process that has its number now for itself.
	if err := os.Remove(filepath.Join(s.dir, "data", "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.run(ctx)
}

// Pause holds the server and all its children, until Resume: it is there, and says nothing.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume has a paused server go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }
