package sqltest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Programs of PostgreSQL, and the user that runs them.
type Programs struct {
	initdb, postgres, copy string
	as                     *syscall.Credential // nil: the user of this process
}

const install = "apt-get install postgresql, or scripts/setup.sh test"

// Find finds the programs. Its error says what is missing.
func Find() (*Programs, error) {
	p := &Programs{}
	for i, at := range []*string{&p.initdb, &p.postgres, &p.copy} {
		name := []string{"initdb", "postgres", "pg_basebackup"}[i]
		path, err := exec.LookPath(name)
		if err != nil { // the newest version, where Debian installs it
			found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is valid
			if len(found) == 0 {
				return nil, fmt.Errorf("missing: PostgreSQL, whose program %s is neither in PATH nor in /usr/lib/postgresql; %s", name, install)
			}
			path = slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
		}
		*at = path
	}
	if os.Geteuid() != 0 {
		return p, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("missing: the user postgres, as whom PostgreSQL runs where we are root; %s", install)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return p, nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is not a number
	return n
}

// Server is a private server that listens only on a Unix socket in its own folder.
type Server struct {
	URL      string
	programs *Programs
	args     []string
	dir      string

	host, port string                         // of a server of a pair
	inside     func(start func() error) error // nil: start it here

	// Of each run:
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	err   error         // the result of waiting for it, once ended
	quiet chan struct{} // closed when all its children have ended as well
}

// Start creates a server with an empty database, and returns when it is ready. It does not sync, so it is for tests only. settings, such
// as "fsync=on", override its own.
func (p *Programs) Start(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{programs: p}
	if s.dir, err = p.folder(""); err != nil {
		return nil, err
	}
	if err = p.initialize(ctx, s.dir); err == nil {
		s.args = arguments(s.dir, settings)
		err = s.run(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a private server of PostgreSQL: %w", err), os.RemoveAll(s.dir))
	}
	s.URL = (&url.URL{Scheme: "postgres", User: url.User("rialto"), Path: "/postgres", RawQuery: url.Values{"host": {s.dir}}.Encode()}).String()
	return s, nil
}

// folder creates a folder for servers inside one that their user can access; "" is the one for temporary files.
func (p *Programs) folder(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "rialto-postgres-")
	if err == nil && p.as != nil {
		err = os.Chown(dir, int(p.as.Uid), int(p.as.Gid))
	}
	return dir, err
}

// initialize creates the files of an empty database in a folder.
func (p *Programs) initialize(ctx context.Context, dir string) error {
	args := []string{"--pgdata", filepath.Join(dir, "data"), "--username", "rialto", "--auth", "trust", "--encoding", "UTF8", "--no-sync"}
	out, err := exec.CommandContext(ctx, p.postgres, "--version").Output()
	if err != nil {
		return err
	}
	words := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 …
	if n, err := strconv.Atoi(strings.Split(slices.Concat(words, []string{"", "", ""})[2], ".")[0]); err == nil && n >= 15 {
		args = append(args, "--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en") // not the C collation, as in many deployments
	} else {
		args = append(args, "--locale", "C")
	}
	if out, err := p.command(ctx, dir, p.initdb, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// arguments returns the arguments of a server. Later settings override earlier ones. All its files are in its folder, so that a server
// that was killed leaves none elsewhere.
func arguments(dir string, settings []string) []string {
	args := []string{"-D", filepath.Join(dir, "data")}
	for _, setting := range append([]string{"listen_addresses=", "unix_socket_directories=" + dir, "fsync=off", "max_connections=600", "shared_buffers=32MB",
		"dynamic_shared_memory_type=mmap"}, settings...) {
		args = append(args, "-c", setting)
	}
	return args
}

func (s *Server) run(ctx context.Context) error {
	s.cmd = s.programs.command(context.Background(), s.dir, s.programs.postgres, s.args...)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	return s.await(ctx, log)
}

// Crash kills the server and starts it again with the files that it had written.
func (s *Server) Crash(ctx context.Context) error {
	if err := s.end(); err != nil {
		return err
	}
	return s.run(ctx)
}

// command prepares a command in the server's folder, with an empty environment.
func (p *Programs) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	c.SysProcAttr = attributes()
	c.SysProcAttr.Credential = p.as
	return c
}

// await starts the server and returns when it is ready.
func (s *Server) await(ctx context.Context, log io.ReadCloser) error {
	started := make(chan error, 1)
	s.ended, s.quiet, s.err = make(chan struct{}), make(chan struct{}), nil
	go func() { // ends with the server
		defer close(s.ended)
		// The kernel signals the server when the thread that started it ends, so the thread is locked.
		runtime.LockOSThread()
		start := s.cmd.Start
		if s.inside != nil {
			start = func() error { return s.inside(s.cmd.Start) }
		}
		err := start()
		started <- err
		if err == nil {
			_, s.err = s.cmd.Process.Wait()
		}
	}()
	if err := <-started; err != nil {
		close(s.quiet)
		return err
	}
	ready := make(chan string, 2)
	go func() { // ends when the server and its children have closed the log
		defer close(s.quiet)
		defer log.Close()
		var said strings.Builder
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if said.Len() < 1<<16 {
				said.WriteString(lines.Text() + "\n")
			}
			if strings.Contains(lines.Text(), "ready to accept") {
				ready <- ""
				break
			}
		}
		if lines.Err() == nil {
			_, _ = io.Copy(io.Discard, log) // a full pipe would block the server
		}
		ready <- said.String()
	}()
	select {
	case said := <-ready:
		if said == "" {
			return nil
		}
		return errors.New(said)
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.Stop())
	}
}

// Stop ends the server and removes its files.
func (s *Server) Stop() error { return errors.Join(s.end(), os.RemoveAll(s.dir)) }

// end ends the server immediately.
func (s *Server) end() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.ended
	<-s.quiet
	return errors.Join(err, s.err)
}

// signal signals the server and all its children. It suspends the server first, so that it starts no new ones.
func (s *Server) signal(then syscall.Signal) error {
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	them, err := children(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	for _, pid := range them {
		if err := syscall.Kill(pid, then); err != nil && !errors.Is(err, syscall.ESRCH) { // it has ended, but was not waited for
			return err
		}
	}
	return s.cmd.Process.Signal(then)
}

// Folder returns the folder of the server's files.
func (s *Server) Folder() string { return s.dir }

// Processes returns the ids of the server's processes; the first is the parent of the others.
func (s *Server) Processes() ([]int, error) {
	first := s.cmd.Process.Pid
	more, err := children(first)
	return append([]int{first}, more...), err
}
