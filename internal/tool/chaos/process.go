package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Build builds the server with the tag faults into a folder, and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "rialto")
	if err := build(ctx, path, "github.com/rialto-im/rialto/cmd/rialto", "-tags", "faults"); err != nil {
		return "", err
	}
	return path, nil
}

// build builds a program of this module, or of one that it depends on. It is built without cgo, as releases are, also from tests with the race
// detector: another setting would compile all that it imports again.
func build(ctx context.Context, path, program string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags, []string{"-o", path, program})...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", program, err, out)
	}
	return nil
}

// Process is a server that can be killed and started again with the same arguments. It ends with this process. It is safe for concurrent
// use.
type Process struct {
	// Path of the binary, arguments after "serve", and additional environment variables.
	Path string
	Args []string
	Env  []string
	// Log receives the standard error; nil discards it.
	Log io.Writer
	// Inside runs start in another environment, such as a network namespace; nil runs it here.
	Inside func(start func() error) error

	mu   sync.Mutex // guards the fields below
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// ErrNotReady: the server ended before it was ready.
var ErrNotReady = errors.New("the server ended before it was ready; its log says why")

// Start runs the server and returns when it is ready. If ctx ends first, the server is killed.
func (p *Process) Start(ctx context.Context) error {
	cmd := exec.Command(p.Path, append([]string{"serve"}, p.Args...)...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Log != nil {
		cmd.Stderr = struct{ io.Writer }{p.Log} // through a pipe, so that the log is complete even if the server may not write files
	}
	cmd.SysProcAttr = attributes()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	gone, started, ready := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() { // ends with the process
		// The kernel kills the server when the thread that started it ends, so the thread is locked.
		runtime.LockOSThread()
		start := cmd.Start
		if p.Inside != nil {
			start = func() error { return p.Inside(cmd.Start) }
		}
		err := start()
		started <- err
		if err != nil {
			return
		}
		said := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if !said && strings.Contains(lines.Text(), "is ready") {
				said = true
				close(ready)
			}
		}
		_ = cmd.Wait() // the server was killed, or its log has the reason
		close(gone)
	}()
	if err := <-started; err != nil {
		return err
	}
	p.mu.Lock()
	p.cmd, p.gone = cmd, gone
	p.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-gone:
		return ErrNotReady
	case <-ctx.Done():
		p.Kill()
		return ctx.Err()
	}
}

// PID of the process, 0 if there is none.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	select {
	case <-p.gone:
		return 0
	default:
		return p.cmd.Process.Pid
	}
}

// Exited is closed when the current process has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// ExitCode of the last process, after it has ended; -1 if a signal ended it, or if there was none.
func (p *Process) ExitCode() int {
	gone := p.Exited()
	if gone == nil {
		return -1
	}
	<-gone
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process; it does nothing if the process has ended.
func (p *Process) Signal(s os.Signal) error {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill kills the process and waits until it has ended.
func (p *Process) Kill() {
	if gone := p.Exited(); gone != nil {
		_ = p.Signal(syscall.SIGKILL) // SIGKILL cannot be refused
		<-gone
	}
}

// Stop ends the process with SIGTERM. If ctx ends first, the process is killed, and an error is returned.
func (p *Process) Stop(ctx context.Context) error {
	gone := p.Exited()
	if gone == nil {
		return nil
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("the server did not stop by itself: %w", ctx.Err())
	}
}
