package gateway

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// noticeVanished makes the system end a connection whose client has acknowledged nothing for stallTime. Otherwise, the system would retransmit the comments of an
// event stream for a quarter of an hour, while the user counts as online.
func noticeVanished(c io.Closer) error {
	nc, ok := c.(syscall.Conn)
	if !ok {
		return nil // such as a pipe in a test
	}
	return control(nc, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, stallTime*1000)
	})
}
