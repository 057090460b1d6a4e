package gateway

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The system ends the connection of an event stream whose client has vanished.
func TestVanishedClientsOfEventStreamsAreNoticed(t *testing.T) {
	accepted, client := tcpPair(t)()
	defer accepted.Close()
	defer client.Close()
	if err := noticeVanished(accepted); err != nil {
		t.Fatal(err)
	}
	raw, err := accepted.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ms := 0
	if cerr := raw.Control(func(fd uintptr) { ms, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); cerr != nil || err != nil || ms != stallTime*1000 {
		t.Errorf("the system waits for %d ms, want %d: %v, %v", ms, stallTime*1000, cerr, err)
	}
}
