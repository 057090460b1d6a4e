package faulttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/tool/chaos"
	"github.com/rialto-im/rialto/internal/tool/verify"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rialto-faults-")
	if err != nil {
		return "", err
	}
	return chaos.Build(context.Background(), dir)
})

// TestMain removes the binary at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(attackedPort) != "" {
		os.Exit(code) // it has built none
	}
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a server that may be killed and started again on one directory and port.
type process struct {
	chaos.Process
	t    *testing.T
	dir  string
	port int
	args []string        // besides those of every server here
	env  []string        // likewise
	gone <-chan struct{} // closed when the process that runs now has ended
	log  *os.File
}

func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, dir: filepath.Join(t.TempDir(), "data"), port: port, args: args, log: log}
	p.Path, p.Log = path, log
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			b, err := os.ReadFile(log.Name())
			t.Logf("server: %s %v", b[max(0, len(b)-4000):], err)
		}
		log.Close()
	})
	return p
}

func (p *process) url() string { return fmt.Sprintf("http://127.0.0.1:%d", p.port) }

// start runs the server until it is ready or has died at its failpoint, and reports whether it is ready.
func (p *process) start(failpoint string) bool {
	p.t.Helper()
	p.Args = append([]string{"--data", p.dir, "--listen", fmt.Sprintf("127.0.0.1:%d", p.port), "--set", "log.level=warn", "--set", "video.niceness=1", "--set", "account.who_may_add=everyone"}, p.args...)
	p.Env = append([]string{"RIALTO_FAILPOINT=" + failpoint}, p.env...)
	err := p.Start(context.Background())
	if err != nil && !errors.Is(err, chaos.ErrNotReady) {
		p.t.Fatalf("error %v, want none or %v", err, chaos.ErrNotReady)
	}
	p.gone = p.Exited()
	return err == nil
}

// kill ends the process as a power failure would.
func (p *process) kill() { p.Kill() }

// stop ends the process as an operator would.
func (p *process) stop() {
	p.t.Helper()
	if err := p.Stop(context.Background()); err != nil {
		p.t.Fatal(err)
	}
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

// register makes a user of a client that is made for it.
func (p *process) register(handle string) *rialto.Client {
	p.t.Helper()
	c, err := rialto.New(rialto.Config{URL: p.url(), Logger: quiet()})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.Register(p.t.Context(), handle, "a good password", handle); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// answered reports whether the server has answered a call, rather than died. A refusal is a fault of the test's server.
func (p *process) answered(err error) bool {
	p.t.Helper()
	if err != nil && rialto.Reason(err) != "" && connect.CodeOf(err) != connect.CodeUnavailable {
		p.t.Error(err)
	}
	return err == nil
}

// killedAt runs steps until the server dies at each of some failpoints, at its first, second or third hit in turn, and `after` steps once it has started again.
// A step returns false if the server died.
func (p *process) killedAt(failpoints []string, step func() bool, after int) {
	p.t.Helper()
	for i, name := range failpoints {
		p.kill()
		// If it does not start, it died while it did what the previous process had left.
		if p.start(fmt.Sprintf("%s:%d", name, 1+i%3)) {
			eventually.True(p.t, "the failpoint "+name+" is reached", func() bool { return !step() })
			p.kill()
		}
		if !p.start("") {
			p.t.Fatal("the server did not start again")
		}
		for range after {
			if !step() {
				p.t.Fatal("the server died by itself")
			}
		}
	}
}
