package gateway

import (
	"crypto/tls"

	"golang.org/x/sys/unix"
)

// setQuiet says whether the connection is one that may be silent for long. The system then sends no probes of its own, which would wake the client's
// radio every 15 seconds; and it ends the connection when the client has not acknowledged something for stallTime: a path that drops idle connections
// is noticed with the first event, and not only when the next ping is missing.
func (c *conn) setQuiet(quiet bool) error {
	if own, ok := c.transport.(*netTransport); ok {
		nc := own.net
		if over, ok := nc.(*tls.Conn); ok {
			nc = over.NetConn()
		}
		tcp := tcpConn(nc)
		if tcp == nil {
			return nil // such as a pipe in a test
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			return err
		}
		failed := error(nil)
		if err := raw.Control(func(fd uintptr) { failed = setQuiet(int(fd), quiet) }); err != nil {
			return err
		}
		return failed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return nil // the connection is over
	}
	return setQuiet(int(c.fd), quiet)
}

func setQuiet(fd int, quiet bool) error {
	probes, unacknowledged := 1, 0 // 0: the system's default
	if quiet {
		probes, unacknowledged = 0, stallTime*1000
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, probes); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unacknowledged)
}
