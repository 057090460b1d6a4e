package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/failpoint"
	"golang.org/x/sys/unix"
)

// loop carries plain connections on epoll. Its own descriptor is watched by Go's poller, so that a loop with nothing to do
// holds no thread. A connection's descriptor is closed by the loop alone, and never while somebody writes to it.
type loop struct {
	server *Server
	file   *os.File // the epoll descriptor
	raw    syscall.RawConn
	fd     int

	mu    sync.Mutex // guards conns
	conns []*conn    // by descriptor
}

func newLoop(s *Server) (*loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // only such descriptors are watched by Go's poller
		return nil, errors.Join(fmt.Errorf("epoll: %w", err), unix.Close(fd))
	}
	l := &loop{server: s, fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// carries tells whether a connection can live on the loop.
func carries(nc net.Conn) bool {
	_, plain := nc.(*net.TCPConn)
	return plain
}

// adopt takes a plain TCP connection over, with what was read from it already. The net.Conn is not used afterwards.
func (l *loop) adopt(c *conn, nc net.Conn, ahead []byte) error {
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	if cerr := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil || err != nil {
		return errors.Join(cerr, err)
	}
	if err := nc.Close(); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	if len(ahead) > 0 {
		c.read(ahead)
	}
	c.mu.Lock()
	c.fd = int32(fd)
	c.mu.Unlock()
	l.mu.Lock()
	if need := fd + 1; need > len(l.conns) {
		l.conns = append(l.conns, make([]*conn, need-len(l.conns))...)
	}
	l.conns[fd] = c
	l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, fd, c.interest()); err != nil {
		c.fd = -1
		l.mu.Lock()
		l.conns[fd] = nil
		l.mu.Unlock()
		return errors.Join(err, unix.Close(fd))
	}
	if c.hungUp {
		l.hangUp(c)
	}
	return nil
}

// interest in events. The caller holds mu.
func (c *conn) interest() *unix.EpollEvent {
	e := &unix.EpollEvent{Fd: c.fd}
	if !c.paused {
		e.Events |= unix.EPOLLIN
	}
	if len(c.rest) > 0 {
		e.Events |= unix.EPOLLOUT
	}
	return e
}

func (l *loop) read(c *conn, _ bool) { l.change(c) }

// change tells epoll of a new interest. The caller holds c.mu. One that is being removed has none.
func (l *loop) change(c *conn) {
	if c.fd < 0 {
		return
	}
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_MOD, int(c.fd), c.interest()); err != nil && !errors.Is(err, unix.ENOENT) {
		l.server.deps.Logger.Error("epoll refused a change", "error", err)
	}
}

// hangUp wakes the loop by the end of the connection; the loop closes it.
func (l *loop) hangUp(c *conn) {
	if c.fd < 0 {
		return
	}
	// A connection that the other side ended already is closed by the loop anyway.
	_ = unix.Shutdown(int(c.fd), unix.SHUT_RDWR)
}

const batch = 256

func (l *loop) run(ctx context.Context) {
	defer l.file.Close()
	events := make([]unix.EpollEvent, batch)
	buf := make([]byte, 64<<10)
	for {
		n := 0
		var err error
		rerr := l.raw.Read(func(fd uintptr) bool {
			n, err = unix.EpollWait(int(fd), events, 0)
			return n != 0 && !errors.Is(err, unix.EINTR)
		})
		if ctx.Err() != nil {
			return
		}
		if rerr != nil || err != nil {
			l.server.deps.Logger.Error("epoll failed", "error", errors.Join(rerr, err))
			return
		}
		for _, e := range events[:n] {
			l.mu.Lock()
			c := l.conns[e.Fd]
			l.mu.Unlock()
			if c != nil {
				l.serve(c, e.Events, buf)
			}
		}
	}
}

// wake ends a wait for events.
func (l *loop) wake() { _ = l.file.SetReadDeadline(time.Unix(1, 0)) } // fails on a closed file only

func (l *loop) serve(c *conn, events uint32, buf []byte) {
	if events&unix.EPOLLOUT != 0 {
		l.write(c)
	}
	if events&unix.EPOLLIN != 0 {
		n, err := unix.Read(int(c.fd), buf)
		switch {
		case n > 0:
			c.read(buf[:n])
			return
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			return
		}
		l.remove(c)
		return
	}
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.remove(c)
	}
}

// remove takes a connection out of the loop and closes it, or has the one who writes close it.
func (l *loop) remove(c *conn) {
	l.mu.Lock()
	l.conns[c.fd] = nil
	l.mu.Unlock()
	c.mu.Lock()
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, int(c.fd), nil); err != nil {
		l.server.deps.Logger.Error("epoll refused to let go", "error", err)
	}
	c.closing, c.gone, c.hungUp = true, true, true
	writing := c.writing
	if !writing {
		l.release(c)
	}
	c.mu.Unlock()
	c.closed()
}

// release closes the descriptor. The caller holds mu, and nobody writes.
func (l *loop) release(c *conn) {
	if c.fd >= 0 {
		unix.Close(int(c.fd)) //nolint:errcheck // nothing is left to be done about it
		c.fd = -1
	}
	c.rest = nil
	if c.restOf != nil {
		c.restOf.free()
		c.restOf = nil
	}
}

// write writes what is pending, as far as the socket takes it.
func (l *loop) write(c *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing || c.fd < 0 {
		return // the one who writes looks again
	}
	c.writing = true
	for !c.gone {
		b := c.restOf
		if b == nil {
			if b = c.take(); b == nil {
				break
			}
			c.rest, c.restOf = b.b, b
		}
		p := c.rest
		c.mu.Unlock()
		failpoint.Hit("gateway/before-write")
		n, err := unix.Write(int(c.fd), p)
		failpoint.Hit("gateway/after-write")
		c.mu.Lock()
		if n > 0 {
			l.server.stats.BytesOut.Add(int64(n))
			c.rest = c.rest[n:]
			c.stalled = 0
		}
		if len(c.rest) == 0 {
			c.rest, c.restOf = nil, nil
			b.free()
			continue
		}
		if errors.Is(err, unix.EINTR) || err == nil && n > 0 {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			c.closing = true
			if !c.hungUp {
				c.hungUp = true
				l.hangUp(c)
			}
			break
		}
		if c.stalled == 0 {
			c.stalled = l.server.now.Load()
		}
		break
	}
	c.writing = false
	if c.gone {
		l.release(c)
		return
	}
	l.settle(c)
}

// settle arranges for what is to come after a write. The caller holds mu.
func (l *loop) settle(c *conn) {
	if waits := len(c.rest) > 0; waits != c.waits {
		c.waits = waits
		l.change(c)
	}
	if c.closing && !c.waits && !c.hungUp {
		// All is said; the client hangs up, or the wheel does.
		_ = unix.Shutdown(int(c.fd), unix.SHUT_WR) // the other side may have gone
	}
	c.relax()
}

// discard closes a loop that was never run.
func (l *loop) discard() { l.file.Close() }
