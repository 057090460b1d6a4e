package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// Build makes the binary in a folder, with the places where it may be hurt (build tag faults), and gives its path.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "rialto")
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", "faults", "-o", path, "github.com/rialto-im/rialto/cmd/rialto").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the binary: %w: %s", err, out)
	}
	return path, nil
}

// FreePort of loopback, which nobody has at this moment.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// Process is a server that may be killed and started again, with the same arguments. It ends with this process. Its methods may be
// called from many goroutines.
type Process struct {
	// Path of the binary, arguments after "serve", and what is added to the environment.
	Path string
	Args []string
	Env  []string
	// Log gets what it says on standard error; nil: nobody.
	Log io.Writer
	// Inside has the process start in another place, as a network namespace; nil: here.
	Inside func(start func() error) error

	mu   sync.Mutex // guards all below
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// ErrNotReady: the server ended before it was ready.
var ErrNotReady = errors.New("the server ended before it was ready; its log says why")

// Start runs the server until it is ready. Where ctx ends first, it is killed.
func (p *Process) Start(ctx context.Context) error {
	cmd := exec.Command(p.Path, append([]string{"serve"}, p.Args...)...)
	cmd.Env = append(os.Environ(), p.Env...)
	if p.Log != nil {
		cmd.Stderr = struct{ io.Writer }{p.Log} // through a pipe: the log is told also when the server cannot write a file
	}
	cmd.SysProcAttr = attributes()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	gone, started, ready := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() { // ends with the process
		// The server is told when the thread that started it ends: this one stays.
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
		_ = cmd.Wait() // how it ended is our doing, or is in its log
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

// PID of the process, 0 where there is none.
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

// Gone is closed when the process that runs now has ended.
func (p *Process) Gone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// ExitCode of the process that ran last, once it is gone; -1 where a signal ended it, or none ran.
func (p *Process) ExitCode() int {
	gone := p.Gone()
	if gone == nil {
		return -1
	}
	<-gone
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process; one that has ended is left alone.
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

// Kill ends the process as a power failure would, and waits until it has ended.
func (p *Process) Kill() {
	if gone := p.Gone(); gone != nil {
		_ = p.Signal(syscall.SIGKILL) // nothing refuses it
		<-gone
	}
}

// Stop ends the process as an operator would. Where ctx ends first, it is killed, and the error says so.
func (p *Process) Stop(ctx context.Context) error {
	gone := p.Gone()
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
