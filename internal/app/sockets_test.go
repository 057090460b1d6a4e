package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
)

// served is a connection that a socketListener serves.
type served struct {
	net.Conn
	network netip.Prefix
	slot    *inputlimit.Slot
}

// proxiedListener runs a listener whose proxies send headers, and returns its address and what it serves.
func proxiedListener(t *testing.T, headerTime time.Duration) (*socketListener, string, <-chan served) {
	t.Helper()
	tcp, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections := make(chan served, 10)
	s := &socketListener{listener: &countingListener{tcp, inputlimit.NewConnections(1, 100), false, &openConnections{}, newAdmission(cpuTime, time.Now, newThreads(setThreads))}, proxies: true,
		headerTime: headerTime, logger: slog.New(slog.DiscardHandler), name: "test", serve: func(nc net.Conn, network netip.Prefix, slot *inputlimit.Slot) {
			connections <- served{nc, network, slot}
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := eventually.Receive(t, "the listener's end", ended); err != nil {
			t.Error(err)
		}
	})
	return s, tcp.Addr().String(), connections
}

// say connects, and sends a text.
func say(t *testing.T, to, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
	if err == nil {
		_, err = io.WriteString(c, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A connection of a proxy counts for the address in its header, and the limit of connections of an address holds for that. Without a header, or with
// half of one, it is closed.
func TestProxiesNameTheirClients(t *testing.T) {
	s, address, connections := proxiedListener(t, time.Minute)
	const header = "PROXY TCP4 203.0.113.7 10.0.0.1 54321 7072\r\n"
	say(t, address, header+"first")
	first := eventually.Receive(t, "a connection", connections)
	if b := make([]byte, 5); first.network.String() != "203.0.113.7/32" {
		t.Errorf("the network is %v", first.network)
	} else if _, err := io.ReadFull(first, b); err != nil || string(b) != "first" {
		t.Errorf("after the header came %q, %v", b, err)
	}
	for _, text := range []string{header, "\x00\x00\x00\x00 a frame", "PROXY TCP4\r\n"} { // the first comes from an address that has a connection
		if _, err := say(t, address, text).Read(make([]byte, 1)); err == nil {
			t.Errorf("%q was answered", text)
		}
	}
	say(t, address, "PROXY TCP4 203.0.113.8 10.0.0.1 54321 7072\r\n")
	if second := eventually.Receive(t, "a connection from another address", connections); second.network.String() != "203.0.113.8/32" {
		t.Errorf("the network is %v", second.network)
	}
	first.slot.Release() // its client is known
	say(t, address, header)
	eventually.Receive(t, "one more of the first address", connections)
	eventually.True(t, "two connections are counted", func() bool { return s.listener.unauthenticated.Count() == 2 })
}

// A proxy that does not complete its header is disconnected in time, and does not keep the node from stopping.
func TestHeadersHaveADeadline(t *testing.T) {
	_, address, _ := proxiedListener(t, time.Millisecond)
	if _, err := say(t, address, "PROXY TCP4").Read(make([]byte, 1)); err == nil {
		t.Error("half a header was answered")
	}
	s, address, connections := proxiedListener(t, time.Hour)
	say(t, address, "PROXY TCP4") // the listener ends all the same
	eventually.True(t, "the connection is accepted", func() bool { return s.listener.unauthenticated.Count() == 1 })
	if len(connections) > 0 {
		t.Error("a connection without a header is served")
	}
}

// Only those are trusted to name their clients' addresses whose X-Forwarded-For is.
func TestTrustedProxies(t *testing.T) {
	for peer, want := range map[string][2]bool{"127.0.0.1:1": {true, true}, "[::1]:1": {true, true}, "[::ffff:127.0.0.1]:1": {true, true}, "10.0.0.1:1": {false, true}, "[2001:db8::1]:1": {false, true}} {
		for i, plaintext := range []bool{false, true} {
			s := &socketListener{listener: &countingListener{proxied: plaintext}}
			if got := s.isTrustedProxy(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(peer))); got != want[i] {
				t.Errorf("%s, plaintext %v: trusted %v", peer, plaintext, got)
			}
		}
	}
}
