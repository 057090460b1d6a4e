package standby_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/deploy/nodetest"
)

// password contains all characters that need quoting.
const password = `it's "a" \password $1`

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a folder that PostgreSQL's user owns. Servers listen on socket files in it.
type place struct {
	t    *testing.T
	dir  string
	who  *syscall.SysProcAttr
	path string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, who: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	dir, err := os.MkdirTemp("", "standby-") // short, because the length of a socket's path is limited
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p.dir = dir
	if os.Getuid() == 0 {
		account, err := user.Lookup("postgres")
		must(t, err)
		uid, err := strconv.Atoi(account.Uid)
		must(t, err)
		must(t, os.Chown(dir, uid, uid))
		p.who.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	must(t, err)
	p.path = strings.Join(append(found, os.Getenv("PATH")), ":")
	return p
}

func (p *place) command(env []string, name string, args ...string) *exec.Cmd {
	all := append([]string{"PATH=" + p.path, "PGUSER=rialto", "PGHOST=" + p.dir, "PGPASSWORD=" + password, "PGCONNECT_TIMEOUT=60", "LC_ALL=C"}, env...)
	for dir := range strings.SplitSeq(p.path, ":") { // LookPath would use the PATH of the test
		if file := filepath.Join(dir, name); !strings.Contains(name, "/") {
			if _, err := os.Stat(file); err == nil {
				name = file
			}
		}
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, all, p.who
	return cmd
}

func (p *place) run(env []string, name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(env, name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// start runs a server until stop is called, or the test ends.
func (p *place) start(cmd *exec.Cmd, port string) (stop func()) {
	p.t.Helper()
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	must(p.t, cmd.Start())
	gone := make(chan struct{})
	go func() { // ends with the process
		defer close(gone)
		_ = cmd.Wait() // it was stopped, or its log has the reason
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		<-gone
	}
	p.t.Cleanup(func() {
		stop()
		if p.t.Failed() {
			p.t.Log(log)
		}
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(nodetest.Patience); p.command(nil, "pg_isready", "-q", "-p", port, "-d", "rialto").Run() != nil; {
		select {
		case <-tick.C:
		case <-gone:
			p.t.Fatalf("the server on port %s ended before it was ready", port)
		case <-late:
			p.t.Fatalf("the server on port %s is not ready", port)
		}
	}
	return stop
}

// script runs a script of the Compose file. It passes the text, because PostgreSQL's user may lack access to the file.
func (p *place) script(env []string, name string, args ...string) *exec.Cmd {
	p.t.Helper()
	text, err := os.ReadFile("../compose/postgres/" + name)
	must(p.t, err)
	return p.command(env, "bash", append([]string{"-c", string(text), name}, args...)...)
}

// The scripts create a synchronous standby at the first start, and continue it after a restart. The test performs the steps of the image
// before and between the scripts.
func TestCommitsAreOnTheStandby(t *testing.T) {
	p := newPlace(t)
	secret := filepath.Join(p.dir, "password")
	must(t, os.WriteFile(secret, []byte(password+"\n"), 0o644))
	p.run(nil, "initdb", "-D", "a", "-U", "rialto", "--pwfile", secret, "-A", "scram-sha-256")
	server := func(dir string, port string) []string {
		return []string{"postgres", "-D", dir, "-p", port, "-k", p.dir, "-c", "listen_addresses=", "-c", "wal_log_hints=on", "-c", "fsync=off"}
	}
	// The image starts a server only for its scripts, and stops it afterwards.
	first := server("a", "5432")
	stop := p.start(p.command(nil, first[0], first[1:]...), "5432")
	p.run(nil, "createdb", "rialto")
	image := []string{"POSTGRES_USER=rialto", "POSTGRES_PASSWORD=" + password}
	if out, err := p.script(append(image, "PGDATA=a"), "primary.sh").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The image allows connections from the network; here all connections use socket files.
	rules := filepath.Join(p.dir, "a/pg_hba.conf")
	text, err := os.ReadFile(rules)
	must(t, err)
	if !strings.HasSuffix(string(text), "\nhost replication replicator all scram-sha-256\n") {
		t.Errorf("pg_hba.conf has no rule for the replicator:\n%s", text)
	}
	stop()
	p.start(p.command(nil, first[0], first[1:]...), "5432")

	must(t, os.Mkdir(filepath.Join(p.dir, "b"), 0o700))
	broken := filepath.Join(p.dir, "b/left") // left by an interrupted copy
	must(t, os.WriteFile(broken, nil, 0o600))
	if c := p.who.Credential; c != nil {
		must(t, os.Chown(filepath.Join(p.dir, "b"), int(c.Uid), int(c.Gid)))
	}
	standby := func() func() {
		return p.start(p.script(append(image, "PGDATA="+filepath.Join(p.dir, "b")), "standby.sh", append([]string{p.dir}, server(filepath.Join(p.dir, "b"), "5433")...)...), "5433")
	}
	stop = standby()
	if _, err := os.Stat(broken); !os.IsNotExist(err) {
		t.Errorf("the file of an interrupted copy was not removed: %v", err)
	}
	p.run(nil, "psql", "-v", "ON_ERROR_STOP=1", "-c", "CREATE TABLE t AS SELECT 42 AS n")
	if got := p.run(nil, "psql", "-At", "-c", "SELECT application_name, sync_state FROM pg_stat_replication"); got != "standby|sync" {
		t.Errorf("standbys of the primary: got %s, want standby|sync", got)
	}
	if got := p.run(nil, "psql", "-At", "-p", "5433", "-c", "SELECT pg_is_in_recovery()"); got != "t" {
		t.Errorf("pg_is_in_recovery on the standby: got %s, want t", got)
	}

	// A restarted standby continues from its own position.
	stop()
	standby()
	p.run(nil, "psql", "-v", "ON_ERROR_STOP=1", "-c", "UPDATE t SET n = n + 1")
	settings, err := os.ReadFile(filepath.Join(p.dir, "b/postgresql.auto.conf"))
	must(t, err)
	if n := strings.Count(string(settings), "application_name=standby"); n != 1 {
		t.Errorf("application_name is set %d times, want once:\n%s", n, settings)
	}
}
