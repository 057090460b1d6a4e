package gateway

import (
	"crypto/tls"
	"syscall"

	"golang.org/x/sys/unix"
)

// setKeepAlive turns the system's probes of the connection on, or off for one that may be silent for long. The probes would wake the client's
// radio every 15 seconds. Without them, the system ends the connection once the client has not acknowledged something for stallTime. So a path that drops idle connections
// is noticed with the first event, and not only when the next ping is missing.
func (c *conn) setKeepAlive(on bool) error {
	if own, ok := c.transport.(*netTransport); ok {
		nc := own.net
		if over, ok := nc.(*tls.Conn); ok {
			nc = over.NetConn()
		}
		tcp := tcpConn(nc)
		if tcp == nil {
			return nil // such as a pipe in a test
		}
		return control(tcp, func(fd int) error { return setKeepAlive(fd, on) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return nil // the connection is over
	}
	return setKeepAlive(int(c.fd), on)
}

func setKeepAlive(fd int, on bool) error {
	probes, unacknowledged := 1, 0 // 0: the system's default
	if !on {
		probes, unacknowledged = 0, stallTime*1000
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, probes); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, unacknowledged)
}

// control calls set with the file descriptor of a connection.
func control(c syscall.Conn, set func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = set(int(fd)) }); err != nil {
		return err
	}
	return failed
}
