// Package nodetest runs the server's static binary, the same as in the image, for the tests of the deployment files.
package nodetest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Binary is the environment variable with the path of the static binary. If it is not set, the binary is built once.
const Binary = "STATIC_BINARY"

// Patience is the timeout of all waits. It is long, because machines may be slow.
const Patience = 3 * time.Minute

// Root of the repository, relative to the test packages.
const Root = "../.."

var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(Binary); path != "" {
		return path, nil
	}
	path, err := filepath.Abs(filepath.Join(Root, "bin/rialto"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/rialto")
	cmd.Dir, cmd.Env = Root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// Static returns the path of the static binary.
func Static(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Node is a running server.
type Node struct {
	URL, Admin string
	t          testing.TB
	cmd        *exec.Cmd
	gone       chan struct{} // closed when the process has ended and its output was read
	err        error         // the error of the process; may be read once gone is closed
	log        *os.File
}

// Start starts a server and waits until it is ready. The server is killed at the end of the test if it is still running.
func Start(t testing.TB, cmd *exec.Cmd) *Node {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &Node{t: t, cmd: cmd, gone: make(chan struct{}), log: log}
	lines := make(chan string, 16)
	go func() { // ends with the process
		defer close(n.gone)
		in := bufio.NewScanner(out)
		for in.Scan() {
			select {
			case lines <- in.Text():
			default: // Start has returned
			}
		}
		n.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-n.gone
		if t.Failed() {
			text, err := os.ReadFile(log.Name())
			t.Logf("server: %s %v", text[max(0, len(text)-4000):], err)
		}
		log.Close()
	})
	ready := regexp.MustCompile(`is ready: (\S+)  \(admin: (\S+),`)
	for late := time.After(Patience); ; {
		select {
		case line := <-lines:
			if m := ready.FindStringSubmatch(line); m != nil {
				n.URL, n.Admin = m[1], m[2]
				return n
			}
		case <-n.gone:
			t.Fatalf("the server ended before it was ready: %v", n.err)
		case <-late:
			t.Fatalf("the server is not ready after %v", Patience)
		}
	}
}

// Signal sends a signal to the process.
func (n *Node) Signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// Ended waits until the process has ended, and returns its exit code.
func (n *Node) Ended() int {
	n.t.Helper()
	select {
	case <-n.gone:
		return n.cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
		n.t.Fatalf("the server has not ended after %v", Patience)
		return 0
	}
}

// Answer makes a GET request, and returns the status and the body.
func Answer(t testing.TB, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, strings.TrimSpace(string(body))
}

// Postgres starts a private PostgreSQL server for the test, and returns its address.
func Postgres(t testing.TB) string {
	t.Helper()
	cmd := exec.Command("go", "run", "./internal/engine/sqldb/sqltest/withpostgres", "sh", "-c", `echo "$TEST_POSTGRES"; cat`)
	cmd.Dir, cmd.Stderr = Root, t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // ends cat, which ends the server
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Fatalf("start PostgreSQL: got %q, %v, want its address", line, err)
	}
	return strings.TrimSpace(line)
}
