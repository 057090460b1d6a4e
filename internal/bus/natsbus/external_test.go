package natsbus_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/bus/natsbus"
)

// external server as it comes, but for a port of its own and what change sets.
func external(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	options := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, Username: "rialto", Password: "password"}
	if change != nil {
		change(options)
	}
	s, err := server.NewServer(options)
	must(t, err)
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	t.Cleanup(func() { end(s) })
	return s
}

func end(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func url(s *server.Server) string { return "nats://rialto:password@" + s.Addr().String() }

func TestExternal(t *testing.T) {
	s := external(t, nil)
	n := 0
	bustest.Run(t, func(t *testing.T) bus.Bus {
		n++
		return start(t, "n", natsbus.Config{URL: url(s), Prefix: "test-" + strings.Repeat("x", n)})
	})
}

// TestPrefixes: two deployments on one server do not hear each other.
func TestPrefixes(t *testing.T) {
	s := external(t, nil)
	heard := make(chan string, 10)
	for _, prefix := range []string{"one", "two"} {
		b := start(t, "n", natsbus.Config{URL: url(s), Prefix: prefix})
		_, err := b.Subscribe("s", func(data []byte) { heard <- prefix + " hears " + string(data) }, nil)
		must(t, err)
		must(t, b.Publish("s", []byte(prefix)))
		if got := <-heard; got != prefix+" hears "+prefix {
			t.Error(got)
		}
	}
	if len(heard) > 0 {
		t.Error(<-heard)
	}
}

// TestExternalRestarts: nodes start before it, hear each other when it is there, say that they are cut off when it ends, and come
// back by themselves; a subscriber is told, since anything may have been lost.
func TestExternalRestarts(t *testing.T) {
	s := external(t, nil)
	address, port := url(s), s.Addr().(*net.TCPAddr).Port
	end(s)
	again := func(o *server.Options) { o.Port = port }
	config := natsbus.Config{URL: address, Tally: 20 * time.Millisecond}
	a, b := start(t, "a", config), start(t, "b", config)
	heard, missed := make(chan string, 10), make(chan struct{}, 10)
	_, err := b.Subscribe("s", func(data []byte) { heard <- string(data) }, func() { missed <- struct{}{} })
	must(t, err)
	_, err = b.Respond("q", func([]byte) []byte { return nil })
	must(t, err)
	for round := range 3 {
		for _, n := range []*natsbus.Bus{a, b} {
			until(t, "it knows that the server is down", func() bool { return !n.Connected() })
		}
		if _, err := a.Request(t.Context(), "q", nil); !errors.Is(err, bus.ErrDown) {
			t.Errorf("a request without a server: %v", err)
		}
		s = external(t, again)
		until(t, "they reach each other", func() bool {
			_, err := a.Request(t.Context(), "q", nil)
			return err == nil
		})
		must(t, a.Publish("s", []byte("hello")))
		if got := <-heard; got != "hello" {
			t.Errorf("heard %q", got)
		}
		if round > 0 {
			<-missed
		}
		if round < 2 {
			end(s)
		}
	}
	if n := a.Stats().Reconnects; n < 2 {
		t.Errorf("%d reconnects", n)
	}
}

// TestTooMuchWaits: what is published without a server waits within its bound, and then is refused.
func TestTooMuchWaits(t *testing.T) {
	s := external(t, nil)
	address := url(s)
	end(s)
	b := start(t, "n", natsbus.Config{URL: address})
	data := make([]byte, 1<<20-2048)
	var err error
	taken := 0
	for ; taken < 20 && err == nil; taken++ {
		err = b.Publish("s", data)
	}
	if !errors.Is(err, bus.ErrDown) || taken < 8 || taken > 10 {
		t.Errorf("at MiB %d: %v", taken, err)
	}
}

func TestRefused(t *testing.T) {
	s := external(t, nil)
	small := external(t, func(o *server.Options) { o.MaxPayload = 64 << 10 })
	for address, says := range map[string]string{
		"nats://rialto:wrong@" + s.Addr().String(): "refuses this node",
		"nats://" + s.Addr().String():              "refuses this node",
		url(small):                                 "max_payload",
	} {
		b, err := open("n", natsbus.Config{URL: address}, io.Discard)
		if err == nil {
			must(t, b.Close())
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestALonelyNodeLeavesItsServer: one of two external servers is cut off from the other; the node that is on it goes to where the others
// are, and its subscribers are told that something may have been lost.
func TestALonelyNodeLeavesItsServer(t *testing.T) {
	one, other := external(t, nil), external(t, nil)
	there, port := url(other), other.Addr().(*net.TCPAddr).Port
	end(other)
	a := start(t, "a", natsbus.Config{URL: url(one) + "," + there, Tally: 20 * time.Millisecond})
	until(t, "it is on the one that is there", a.Connected)
	missed := make(chan struct{}, 100)
	_, err := a.Subscribe("s", func([]byte) {}, func() { missed <- struct{}{} })
	must(t, err)
	external(t, func(o *server.Options) { o.Port = port })
	b := start(t, "b", natsbus.Config{URL: there, Tally: 20 * time.Millisecond})
	_, err = b.Respond("q", func([]byte) []byte { return nil })
	must(t, err)
	until(t, "they reach each other", func() bool {
		_, err := a.Request(t.Context(), "q", nil)
		return err == nil
	})
	must(t, b.Publish("s", []byte("hello")))
	<-missed
	if a.Stats().Reconnects == 0 {
		t.Error("it was there from the beginning")
	}
}
