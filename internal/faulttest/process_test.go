package faulttest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rialto-im/rialto/internal/verify"
)

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rialto-faults-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "rialto")
	out, err := exec.Command("go", "build", "-tags", "faults", "-o", path, "github.com/rialto-im/rialto/cmd/rialto").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// TestMain removes the binary at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a server that may be killed and started again on one directory and port.
type process struct {
	t    *testing.T
	dir  string
	port int
	args []string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
	log  *os.File
}

func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, dir: filepath.Join(t.TempDir(), "data"), port: port, args: args, log: log}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			b, err := os.ReadFile(log.Name())
			t.Logf("server: %s %v", b[max(0, len(b)-4000):], err)
		}
		log.Close()
	})
	return p
}

func (p *process) url() string { return fmt.Sprintf("http://127.0.0.1:%d", p.port) }

// start runs the server until it is ready or has died at its failpoint; it tells whether it is ready.
func (p *process) start(failpoint string) bool {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = exec.Command(path, append([]string{"serve", "--data", p.dir, "--listen", fmt.Sprintf("127.0.0.1:%d", p.port), "--set", "log.level=warn"}, p.args...)...)
	p.cmd.Env = append(os.Environ(), "RIALTO_FAILPOINT="+failpoint)
	p.cmd.Stderr = struct{ io.Writer }{p.log} // through a pipe: the log is told also when the server cannot write a file
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.gone = make(chan struct{})
	ready := make(chan bool, 1)
	cmd, gone := p.cmd, p.gone
	go func() { // ends with the process
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "is ready") {
				ready <- true
			}
		}
		_ = cmd.Wait() // how it ended is the test's doing
		close(gone)
		select {
		case ready <- false:
		default:
		}
	}()
	return <-ready
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have died already
	<-p.gone
}

// stop ends the process as an operator would.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.gone
}

// verify finds nothing wrong in the directory of a server that is stopped.
func (p *process) verify() {
	p.t.Helper()
	report, err := verify.Run(context.Background(), p.dir, p.t.Logf)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, v := range report.Violations {
		p.t.Error(v)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
