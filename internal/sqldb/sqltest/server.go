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

// Programs of PostgreSQL, and as whom they run.
type Programs struct {
	initdb, postgres string
	as               *syscall.Credential // nil: as this process
}

const install = "apt-get install postgresql, or scripts/setup.sh test"

// Find looks for the programs. Its error names what is missing.
func Find() (*Programs, error) {
	p := &Programs{}
	for i, at := range []*string{&p.initdb, &p.postgres} {
		name := []string{"initdb", "postgres"}[i]
		path, err := exec.LookPath(name)
		if err != nil { // where Debian keeps it, the newest
			found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is a good one
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
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 for what is none
	return n
}

// Server is a private one, which listens on nothing but a socket file in a folder of its own.
type Server struct {
	URL      string
	programs *Programs
	args     []string
	dir      string
	cmd      *exec.Cmd
	ended    chan error
}

// Start makes a server with an empty database, and returns when it answers. It forgets all at a power cut: it is for tests. Further
// settings, as "fsync=on", weigh more than its own.
func (p *Programs) Start(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{programs: p, ended: make(chan error, 1)}
	if s.dir, err = os.MkdirTemp("", "rialto-postgres-"); err != nil {
		return nil, err
	}
	if p.as != nil {
		err = os.Chown(s.dir, int(p.as.Uid), int(p.as.Gid))
	}
	if err == nil {
		err = p.launch(ctx, s, settings)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a private server of PostgreSQL: %w", err), os.RemoveAll(s.dir))
	}
	s.URL = (&url.URL{Scheme: "postgres", User: url.User("rialto"), Path: "/postgres", RawQuery: url.Values{"host": {s.dir}}.Encode()}).String()
	return s, nil
}

func (p *Programs) launch(ctx context.Context, s *Server, settings []string) error {
	data := filepath.Join(s.dir, "data")
	args := []string{"--pgdata", data, "--username", "rialto", "--auth", "trust", "--encoding", "UTF8", "--no-sync"}
	out, err := exec.CommandContext(ctx, p.postgres, "--version").Output()
	if err != nil {
		return err
	}
	words := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 …
	if n, err := strconv.Atoi(strings.Split(slices.Concat(words, []string{"", "", ""})[2], ".")[0]); err == nil && n >= 15 {
		args = append(args, "--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en") // not in the order of bytes, as many a deployment
	} else {
		args = append(args, "--locale", "C")
	}
	if out, err := p.command(ctx, s.dir, p.initdb, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.args = []string{"-D", data}
	for _, setting := range append([]string{"listen_addresses=", "unix_socket_directories=" + s.dir, "fsync=off", "max_connections=600", "shared_buffers=32MB"}, settings...) {
		s.args = append(s.args, "-c", setting)
	}
	return s.run(ctx)
}

func (s *Server) run(ctx context.Context) error {
	s.cmd = s.programs.command(context.Background(), s.dir, s.programs.postgres, s.args...)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	return s.await(ctx, log)
}

// Crash ends the server in the middle of what it does, and starts it again, with what it had written to its files.
func (s *Server) Crash(ctx context.Context) error {
	err := s.cmd.Process.Signal(syscall.SIGQUIT)
	if err = errors.Join(err, <-s.ended); err != nil {
		return err
	}
	return s.run(ctx)
}

// command runs in the server's folder, with nothing of this process' surroundings.
func (p *Programs) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	c.SysProcAttr = attributes()
	c.SysProcAttr.Credential = p.as
	return c
}

// await starts the server and returns when it is ready.
func (s *Server) await(ctx context.Context, log io.Reader) error {
	started := make(chan error, 1)
	go func() { // owned by the server: it ends with it
		// The server is told when the thread that started it ends: this one stays.
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_, err = s.cmd.Process.Wait()
		}
		s.ended <- err
	}()
	if err := <-started; err != nil {
		return err
	}
	ready := make(chan string, 2)
	go func() { // ends when the server has closed its log
		var said strings.Builder
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if said.Len() < 1<<16 {
				said.WriteString(lines.Text() + "\n")
			}
			if strings.Contains(lines.Text(), "ready to accept connections") {
				ready <- ""
				break
			}
		}
		if lines.Err() == nil {
			_, _ = io.Copy(io.Discard, log) // a full pipe would stop the server
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

// Stop ends the server and removes all of it.
func (s *Server) Stop() error {
	err := s.cmd.Process.Signal(syscall.SIGQUIT) // at once: nobody needs what it has
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(err, <-s.ended, os.RemoveAll(s.dir))
}
