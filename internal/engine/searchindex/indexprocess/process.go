package indexprocess

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// silentRounds are in the time that a process may be silent. Rounds are counted, not the time itself: it passes also while both processes are stopped, such as by a
// debugger or the freezer of a control group.
const silentRounds = 6

// errSilent is why a process was killed that hangs.
var errSilent = errors.New("indexprocess: the process gave no sign of life, and was killed")

// process is a running process that serves an index. It ends when the frames that it sends end, and is killed if they are none, or if none come.
type process struct {
	cmd    *exec.Cmd
	ready  *call       // its reply says whether the index is open
	frames chan []byte // for the writer. Sending waits while it is full, except for cancellations, which are dropped
	failed error       // why it is of no use; set before ended is closed
	ended  chan struct{}
	heard  atomic.Uint64 // frames

	mu     sync.Mutex // guards what follows
	cause  error      // why it was killed; nil: it was not, or for no reason of its own
	last   uint64     // call
	calls  map[uint64]*call
	closed bool // no more calls begin
}

// call waits for its reply.
type call struct {
	reply chan reply // has room for one
	done  func()     // called once there is a reply, or will be none
}

// startProcess starts a process that is killed if it is silent for some time. Its goroutines end with it.
func startProcess(cmd *exec.Cmd, silence time.Duration, logger *slog.Logger) (*process, error) {
	cmd.SysProcAttr = attributes()
	cmd.Stderr = &lines{logger: logger}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ready: &call{make(chan reply, 1), func() {}}, frames: make(chan []byte, maxCalls), ended: make(chan struct{})}
	p.calls = map[uint64]*call{0: p.ready}
	go p.write(in)
	go p.read(out)
	go p.watch(silence)
	return p, nil
}

// kill kills the process. cause may be nil.
func (p *process) kill(cause error) {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
	}
	p.mu.Unlock()
	_ = p.cmd.Process.Kill() // it may have ended
}

// watch kills the process if it hangs, as after SIGSTOP: then it sends no beats.
func (p *process) watch(silence time.Duration) {
	tick := time.NewTicker(silence / silentRounds)
	defer tick.Stop()
	for heard, silent := uint64(0), 0; silent < silentRounds; {
		select {
		case <-p.ended:
			return
		case <-tick.C:
		}
		now := p.heard.Load()
		if silent++; now != heard {
			heard, silent = now, 0
		}
	}
	p.kill(errSilent)
}

// write writes frames until the process has ended.
func (p *process) write(to io.WriteCloser) {
	for {
		select {
		case b := <-p.frames:
			if _, err := to.Write(b); err != nil {
				p.kill(nil) // or it has ended
				return
			}
		case <-p.ended:
			return
		}
	}
}

// read passes replies to those who wait, until the process has ended.
func (p *process) read(from io.Reader) {
	var failed error
	for b := bufio.NewReader(from); ; {
		f, err := readFrame(b)
		p.heard.Add(1)
		if err == nil && f.kind == beatFrame {
			continue
		}
		if err == nil && f.kind != replyFrame && f.kind != readyFrame {
			err = fmt.Errorf("indexprocess: a reply of the unknown kind %d", f.kind)
		}
		var r reply
		if err == nil {
			err = f.decode(&r)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed = err
			}
			break
		}
		if c := p.removeCall(f.call); c != nil {
			c.reply <- r
			c.done()
		}
	}
	p.kill(failed)
	err := p.cmd.Wait()
	p.mu.Lock()
	p.closed, p.failed = true, cmp.Or(p.cause, err)
	left := p.calls
	p.calls = nil
	p.mu.Unlock()
	close(p.ended)
	for _, c := range left {
		c.done()
	}
}

// addCall notes a call, and returns its number; false: the process has ended.
func (p *process) addCall(done func()) (uint64, *call, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, nil, false
	}
	c := &call{make(chan reply, 1), done}
	p.last++
	p.calls[p.last] = c
	return p.last, c, true
}

func (p *process) removeCall(n uint64) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[n]
	delete(p.calls, n)
	return c
}

// send passes a frame to the writer.
func (p *process) send(ctx context.Context, b []byte) error {
	select {
	case p.frames <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return unavailable(p.failed)
	}
}

// cancel ends the context of a call. It does not block.
func (p *process) cancel(n uint64) {
	b, err := encodeFrame(cancelFrame, n, nil)
	if err != nil {
		return // it has no payload
	}
	select {
	case p.frames <- b:
	default: // the call ends without it
	}
}

// receive waits for the reply of a call.
func (p *process) receive(ctx context.Context, c *call) (*reply, error) {
	select {
	case r := <-c.reply:
		return &r, r.err()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ended:
	}
	select {
	case r := <-c.reply: // it came before the end
		return &r, r.err()
	default:
		return nil, unavailable(p.failed)
	}
}
