package javatest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// keptLines is how many lines of a server's log are kept for failed tests.
const keptLines = 60

// Process of a server.
type Process struct {
	// Ended is closed when the process is gone.
	Ended chan struct{}

	cmd *exec.Cmd

	mu   sync.Mutex // guards said
	said []string   // the last lines of its log
}

// Start starts a server. onLine is called with each line of its log, by one goroutine; it may be nil.
func Start(cmd *exec.Cmd, onLine func(line string)) (*Process, error) {
	p := &Process{Ended: make(chan struct{}), cmd: cmd}
	cmd.SysProcAttr = attributes()
	log, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	started := make(chan error, 1)
	go p.run(started, log, onLine)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the process, reads its log and waits for its end. It ends with the process.
func (p *Process) run(started chan<- error, log io.Reader, onLine func(line string)) {
	// The process is signalled when the thread that started it ends, so this thread stays.
	runtime.LockOSThread()
	defer close(p.Ended)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.said = append(p.said[max(0, len(p.said)-keptLines+1):], lines.Text())
		p.mu.Unlock()
		if onLine != nil {
			onLine(lines.Text())
		}
	}
	_, _ = io.Copy(io.Discard, log) // a full pipe would block the server
	_ = p.cmd.Wait()                // it is killed, never stopped
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LastLines returns the last lines of the server's log, for failed tests.
func (p *Process) LastLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.said, "\n") + "\n"
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill kills the process, and waits for its end.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.Ended
	return err
}

// Directory creates a folder for the data of a server, in memory if the machine has a memory file system. The operating system keeps the writes
// of a killed server, so syncs make no difference to these tests, but servers that sync every write would be slow. It first removes data
// that killed processes left.
func Directory(server string) (string, error) {
	memory := "/dev/shm"
	left, _ := filepath.Glob(filepath.Join(memory, "rialto-"+server+"-*")) // the pattern is valid
	for _, dir := range left {
		var pid int
		if n, _ := fmt.Sscanf(filepath.Base(dir), "rialto-"+server+"-%d-", &pid); n == 1 && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir) // another user's folder cannot be removed
		}
	}
	name := fmt.Sprintf("rialto-%s-%d-", server, os.Getpid())
	if dir, err := os.MkdirTemp(memory, name); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", name)
}
