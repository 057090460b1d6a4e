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

	"github.com/rialto-im/rialto/internal/base/failpoint"
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

// canPoll reports whether an event loop can serve a connection.
func canPoll(nc net.Conn) bool {
	return tcpConn(nc) != nil
}

// tcpConn returns the TCP connection of nc, also behind a wrapper of the listener; nil for any other.
func tcpConn(nc net.Conn) *net.TCPConn {
	switch c := nc.(type) {
	case *net.TCPConn:
		return c
	case interface{ TCP() *net.TCPConn }:
		return c.TCP()
	}
	return nil
}

// adopt takes over a plain TCP connection and the bytes that were read from it. The net.Conn is not used afterwards.
func (l *loop) adopt(c *conn, nc net.Conn, ahead []byte) error {
	raw, err := tcpConn(nc).SyscallConn()
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
	c.watching = c.interest()
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Fd: c.fd, Events: c.watching}); err != nil {
		c.fd = -1
		l.mu.Lock()
		l.conns[fd] = nil
		l.mu.Unlock()
		return errors.Join(err, unix.Close(fd))
	}
	if c.state == stateAborted {
		l.hangUp(c)
	}
	return nil
}

// interest is the events for which the loop is to watch the descriptor. While a goroutine writes, it is not watched for being writable: a
// descriptor that is would wake the loop again and again. The caller holds mu.
func (c *conn) interest() (events uint32) {
	if c.reads == readOn {
		events |= unix.EPOLLIN
	}
	if c.writes == writeBlocked {
		events |= unix.EPOLLOUT
	}
	return events
}

func (l *loop) setReading(c *conn, _ bool) { l.updateInterest(c) }

// updateInterest updates the connection's epoll interest, unless the connection is being removed. The caller holds c.mu.
func (l *loop) updateInterest(c *conn) {
	events := c.interest()
	if c.fd < 0 || events == c.watching {
		return
	}
	c.watching = events
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_MOD, int(c.fd), &unix.EpollEvent{Fd: c.fd, Events: events}); err != nil && !errors.Is(err, unix.ENOENT) {
		l.server.deps.Logger.Error("epoll could not change a connection", "error", err)
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
		l.flush(c)
	}
	if events&unix.EPOLLIN != 0 {
		n, err := unix.Read(int(c.fd), buf[:c.readSize(len(buf))])
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

// remove takes a connection out of the loop and closes it. If a goroutine writes, that one closes it.
func (l *loop) remove(c *conn) {
	l.mu.Lock()
	l.conns[c.fd] = nil
	l.mu.Unlock()
	c.mu.Lock()
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, int(c.fd), nil); err != nil {
		l.server.deps.Logger.Error("epoll could not remove a connection", "error", err)
	}
	c.advance(stateClosed)
	if c.writes != writeActive {
		l.closeDescriptor(c)
	}
	c.mu.Unlock()
	c.onClosed()
}

// closeDescriptor closes the descriptor. The caller holds mu, and no goroutine writes.
func (l *loop) closeDescriptor(c *conn) {
	if c.fd >= 0 {
		unix.Close(int(c.fd)) //nolint:errcheck // the error has no remedy
		c.fd = -1
	}
	c.unsent = nil
	if c.unsentBuffer != nil {
		c.unsentBuffer.free()
		c.unsentBuffer = nil
	}
}

// flush writes what is pending, as far as the socket takes it.
func (l *loop) flush(c *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writes == writeActive || c.fd < 0 {
		return // the writing goroutine checks again
	}
	c.writes = writeActive
	for c.state != stateClosed {
		b := c.unsentBuffer
		if b == nil {
			if b = c.takeOutput(); b == nil {
				break
			}
			c.unsent = b.b // counted as pending while it is compressed
			if c.deflate {
				c.mu.Unlock() // deliveries to this connection do not wait for the compression
				b = deflateFrames(b)
				c.mu.Lock()
			}
			c.unsent, c.unsentBuffer = b.b, b
			continue // unless the connection was closed meanwhile
		}
		p := c.unsent
		c.mu.Unlock()
		failpoint.Hit("gateway/before-write")
		n, err := unix.Write(int(c.fd), p)
		failpoint.Hit("gateway/after-write")
		c.mu.Lock()
		if n > 0 {
			l.server.stats.BytesOut.Add(int64(n))
			c.unsent = c.unsent[n:]
			c.stalledSince = 0
		}
		if len(c.unsent) == 0 {
			c.unsent, c.unsentBuffer = nil, nil
			b.free()
			continue
		}
		if errors.Is(err, unix.EINTR) || err == nil && n > 0 {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			c.abort()
			break
		}
		if c.stalledSince == 0 {
			c.stalledSince = l.server.now.Load()
		}
		break
	}
	c.writes = writeIdle
	if c.state == stateClosed {
		l.closeDescriptor(c)
		return
	}
	l.afterWrite(c)
}

// afterWrite prepares for what follows a write. The caller holds mu.
func (l *loop) afterWrite(c *conn) {
	if len(c.unsent) > 0 {
		c.writes = writeBlocked
	}
	l.updateInterest(c)
	if c.state == stateClosing && c.writes == writeIdle {
		// All output is written; the client closes, or the timing wheel does.
		_ = unix.Shutdown(int(c.fd), unix.SHUT_WR) // the other side may have gone
	}
	c.resumeReading()
}

// discard closes a loop that was never run.
func (l *loop) discard() { l.file.Close() }
