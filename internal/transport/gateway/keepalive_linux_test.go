package gateway

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The system sends no probes on a connection whose client may be silent for long, and ends it if something that was sent is not acknowledged.
func TestConnectionsThatMayBeSilentAreNotProbed(t *testing.T) {
	accepted, client := tcpPair(t)()
	defer accepted.Close()
	defer client.Close()
	raw, err := accepted.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := bench(t)
	check := func(probes, unacknowledged int) {
		t.Helper()
		if err := raw.Control(func(fd uintptr) {
			keepalive, kerr := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE)
			timeout, terr := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			if keepalive != probes || timeout != unacknowledged || kerr != nil || terr != nil {
				t.Errorf("probes %d, timeout %d ms (%v, %v); want %d and %d", keepalive, timeout, kerr, terr, probes, unacknowledged)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	check(1, 0)
	for name, use := range map[string]func(){
		"event loop": func() { _ = raw.Control(func(fd uintptr) { c.fd = int32(fd) }) }, //nolint:errcheck // the checks notice it
		"goroutines": func() { c.transport, c.fd = newNetTransport(c.server, c, accepted), -1 },
	} {
		t.Run(name, func(t *testing.T) {
			use()
			c.allowSilence(60_000)
			check(0, stallTime*1000)
			c.allowSilence(90_000)
			check(0, stallTime*1000)
			c.allowSilence(0)
			check(1, 0)
		})
	}
}
