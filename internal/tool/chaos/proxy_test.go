package chaos_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/tool/chaos"
)

// server starts an echo server.
func server(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				_, _ = io.Copy(c, c) // ends with the client's connection
				c.Close()
			})
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return l.Addr().String()
}

func proxied(t *testing.T, link *chaos.Link, addresses ...string) *chaos.Proxy {
	t.Helper()
	p, err := chaos.NewProxy(func(net.Addr) (routes []chaos.Route) {
		for _, a := range addresses {
			routes = append(routes, chaos.Route{Link: link, Network: "tcp", Address: a})
		}
		return routes
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		p.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return p
}

func dial(t *testing.T, p *chaos.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// write sends bytes to the other end.
func write(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(what))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != what {
		t.Fatalf("read: got %q, %v, want %q", b, err, what)
	}
}

// expectNothing expects no bytes for a moment. Most runs find a proxy that lets bytes through, and a slow machine never fails.
func expectNothing(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Fatalf("read of held bytes: got %d bytes, %v, want a timeout", n, err)
	}
}

// Held bytes arrive later, complete and in order. A connection that is opened meanwhile transfers nothing until then.
func TestHeldBytesArriveLater(t *testing.T) {
	for _, held := range []chaos.Impairment{{HoldToServer: true}, {HoldFromServer: true}, {HoldToServer: true, HoldFromServer: true}} {
		link := chaos.NewLink("x")
		p := proxied(t, link, server(t))
		c := dial(t, p)
		write(t, c, "one")
		expect(t, c, "one")
		link.Set(held)
		write(t, c, "two")
		expectNothing(t, c)
		late := dial(t, p)
		write(t, late, "late")
		expectNothing(t, late)
		link.Set(chaos.Impairment{})
		write(t, c, "three")
		expect(t, c, "twothree")
		expect(t, late, "late")
	}
}

func TestDelayAndRateLimit(t *testing.T) {
	link := chaos.NewLink("x")
	link.Set(chaos.Impairment{Delay: 30 * time.Millisecond, Jitter: time.Millisecond, Rate: 1 << 20})
	c := dial(t, proxied(t, link, server(t)))
	begin := time.Now()
	write(t, c, "there and back")
	expect(t, c, "there and back")
	if took := time.Since(begin); took < 60*time.Millisecond {
		t.Errorf("a round trip with 30 ms of delay each way took %v", took)
	}
}

func TestResetAndRefuse(t *testing.T) {
	link := chaos.NewLink("x")
	p := proxied(t, link, server(t))
	c := dial(t, p)
	write(t, c, "one")
	expect(t, c, "one")
	link.Reset()
	if _, err := io.ReadAll(c); err == nil {
		t.Error("read from a reset connection: got no error")
	}
	link.Set(chaos.Impairment{Refuse: true})
	// It is reset at once, which the dialer may or may not see.
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		if _, err := io.ReadAll(c); err == nil {
			t.Error("read from a refused connection: got no error")
		}
		c.Close()
	}
	link.Set(chaos.Impairment{})
	c = dial(t, p)
	write(t, c, "again")
	expect(t, c, "again")
}

// The proxy skips a server that does not answer.
func TestProxySkipsADeadServer(t *testing.T) {
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	gone := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	c := dial(t, proxied(t, chaos.NewLink("x"), gone, server(t)))
	write(t, c, "hello")
	expect(t, c, "hello")
}

// A lossy link delivers all bytes in order, but later.
func TestLossyLinkDeliversInOrder(t *testing.T) {
	link := chaos.NewLink("l")
	c := dial(t, proxied(t, link, server(t)))
	write(t, c, "before")
	expect(t, c, "before")
	link.Set(chaos.Impairment{LossShare: 0.3})
	begin, all := time.Now(), ""
	for i := range 20 { // each is lost with probability 0.3 in each direction; none of all once in a million
		word := fmt.Sprint(i, " ")
		write(t, c, word)
		expect(t, c, word)
		all += word
	}
	if time.Since(begin) < 200*time.Millisecond {
		t.Error("the link delayed nothing, want retransmissions")
	}
	write(t, c, all)
	expect(t, c, all)
}
