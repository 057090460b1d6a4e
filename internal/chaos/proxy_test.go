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

	"github.com/rialto-im/rialto/internal/chaos"
)

// server echoes what it gets.
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
				_, _ = io.Copy(c, c) // it ends with its client
				c.Close()
			})
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return l.Addr().String()
}

func proxied(t *testing.T, link *chaos.Link, addresses ...string) *chaos.Proxy {
	t.Helper()
	p, err := chaos.NewProxy(func(net.Addr) (ways []chaos.Way) {
		for _, a := range addresses {
			ways = append(ways, chaos.Way{Link: link, Network: "tcp", Address: a})
		}
		return ways
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

// say writes, and heard reads as much; what was held is whole.
func say(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := c.Write([]byte(what)); err != nil {
		t.Fatal(err)
	}
}

func heard(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(what))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != what {
		t.Fatalf("heard %q, %v; want %q", b, err, what)
	}
}

// silent: nothing is heard for a moment. A proxy that lets bytes through is found by most runs, and a slow machine fails none.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Fatalf("%d bytes came, %v", n, err)
	}
}

// What is held in either direction comes later, whole and in order; a connection that opens meanwhile brings nothing, and then all.
func TestHeldBytesComeLater(t *testing.T) {
	for _, held := range []chaos.Trouble{{Forth: true}, {Back: true}, {Forth: true, Back: true}} {
		link := chaos.NewLink("x")
		p := proxied(t, link, server(t))
		c := dial(t, p)
		say(t, c, "one")
		heard(t, c, "one")
		link.Set(held)
		say(t, c, "two")
		silent(t, c)
		late := dial(t, p)
		say(t, late, "late")
		silent(t, late)
		link.Set(chaos.Trouble{})
		say(t, c, "three")
		heard(t, c, "twothree")
		heard(t, late, "late")
	}
}

func TestDelayedAndNarrow(t *testing.T) {
	link := chaos.NewLink("x")
	link.Set(chaos.Trouble{Delay: 30 * time.Millisecond, Jitter: time.Millisecond, Rate: 1 << 20})
	c := dial(t, proxied(t, link, server(t)))
	begin := time.Now()
	say(t, c, "there and back")
	heard(t, c, "there and back")
	if took := time.Since(begin); took < 60*time.Millisecond {
		t.Errorf("there and back took %v", took)
	}
}

func TestResetAndRefused(t *testing.T) {
	link := chaos.NewLink("x")
	p := proxied(t, link, server(t))
	c := dial(t, p)
	say(t, c, "one")
	heard(t, c, "one")
	link.Reset()
	if _, err := io.ReadAll(c); err == nil {
		t.Error("a connection that was reset ended well")
	}
	link.Set(chaos.Trouble{Refuse: true})
	// It is reset as soon as it is there, which the one who dials may see or not.
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		if _, err := io.ReadAll(c); err == nil {
			t.Error("a refused connection ended well")
		}
		c.Close()
	}
	link.Set(chaos.Trouble{})
	c = dial(t, p)
	say(t, c, "again")
	heard(t, c, "again")
}

// A server that is not there is passed over.
func TestTheNextWayIsTaken(t *testing.T) {
	port, err := chaos.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	gone := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	c := dial(t, proxied(t, chaos.NewLink("x"), gone, server(t)))
	say(t, c, "hello")
	heard(t, c, "hello")
}

// TestWhatALossyWayBrings is all that was sent, in its order, and later.
func TestWhatALossyWayBrings(t *testing.T) {
	link := chaos.NewLink("l")
	c := dial(t, proxied(t, link, server(t)))
	say(t, c, "before")
	heard(t, c, "before")
	link.Set(chaos.Trouble{Lose: 0.3})
	begin, all := time.Now(), ""
	for i := range 20 { // each is lost, there and back, 3 times in 10; none of all once in a million
		word := fmt.Sprint(i, " ")
		say(t, c, word)
		heard(t, c, word)
		all += word
	}
	if time.Since(begin) < 200*time.Millisecond {
		t.Error("nothing was lost, and came later")
	}
	say(t, c, all)
	heard(t, c, all)
}
