package natsbus_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

// external starts a server with default options, a free port and the options that change sets.
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

// Two deployments on one server are separated by their prefixes.
func TestPrefixes(t *testing.T) {
	s := external(t, nil)
	received := make(chan string, 10)
	for _, prefix := range []string{"one", "two"} {
		b := start(t, "n", natsbus.Config{URL: url(s), Prefix: prefix})
		_, err := b.Subscribe("s", func(data []byte) { received <- prefix + " hears " + string(data) }, nil)
		must(t, err)
		must(t, b.Publish("s", []byte(prefix)))
		if got := <-received; got != prefix+" hears "+prefix {
			t.Errorf("received %q, want %q", got, prefix+" hears "+prefix)
		}
	}
	if len(received) > 0 {
		t.Errorf("received %q, want nothing more", <-received)
	}
}

// Nodes start before the server, connect when it is there, report that they are disconnected when it ends, and reconnect by themselves;
// subscribers are notified of a gap, because messages may have been lost.
func TestExternalRestarts(t *testing.T) {
	s := external(t, nil)
	address, port := url(s), s.Addr().(*net.TCPAddr).Port
	end(s)
	again := func(o *server.Options) { o.Port = port }
	config := natsbus.Config{URL: address, Tally: 20 * time.Millisecond}
	a, b := start(t, "a", config), start(t, "b", config)
	received, missed := make(chan string, 10), make(chan struct{}, 10)
	_, err := b.Subscribe("s", func(data []byte) { received <- string(data) }, func() { missed <- struct{}{} })
	must(t, err)
	_, err = b.Respond("q", func([]byte) []byte { return nil })
	must(t, err)
	for round := range 3 {
		for _, n := range []*natsbus.Bus{a, b} {
			eventually.True(t, "it knows that the server is down", func() bool { return !n.Connected() })
		}
		if _, err := a.Request(t.Context(), "q", nil); !errors.Is(err, bus.ErrDown) {
			t.Errorf("a request without a server: got %v", err)
		}
		s = external(t, again)
		eventually.True(t, "they reach each other", func() bool {
			_, err := a.Request(t.Context(), "q", nil)
			return err == nil
		})
		must(t, a.Publish("s", []byte("hello")))
		if got := <-received; got != "hello" {
			t.Errorf("got %q", got)
		}
		if round > 0 {
			<-missed
		}
		if round < 2 {
			end(s)
		}
	}
	if n := a.Stats().Reconnects; n < 2 {
		t.Errorf("got %d reconnects, want 1", n)
	}
}

// Messages that are published without a server wait up to a limit; further ones are refused.
func TestUnsentMessagesAreBounded(t *testing.T) {
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
		t.Errorf("after %d messages of a MiB Publish returned %v, want ErrDown after 8 to 10", taken, err)
	}
}

func TestUnusableServersAreRefused(t *testing.T) {
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
			t.Errorf("connecting to %s: got %v", address, err)
		}
	}
}

// One of two external servers is partitioned from the other. The node on it moves to the other server, and its subscribers are notified
// of a gap.
func TestAnIsolatedNodeLeavesItsServer(t *testing.T) {
	one, other := external(t, nil), external(t, nil)
	there, port := url(other), other.Addr().(*net.TCPAddr).Port
	end(other)
	a := start(t, "a", natsbus.Config{URL: url(one) + "," + there, Tally: 20 * time.Millisecond})
	eventually.True(t, "it connects to the server that runs", a.Connected)
	missed := make(chan struct{}, 100)
	_, err := a.Subscribe("s", func([]byte) {}, func() { missed <- struct{}{} })
	must(t, err)
	external(t, func(o *server.Options) { o.Port = port })
	b := start(t, "b", natsbus.Config{URL: there, Tally: 20 * time.Millisecond})
	_, err = b.Respond("q", func([]byte) []byte { return nil })
	must(t, err)
	eventually.True(t, "they reach each other", func() bool {
		_, err := a.Request(t.Context(), "q", nil)
		return err == nil
	})
	must(t, b.Publish("s", []byte("hello")))
	<-missed
	if a.Stats().Reconnects == 0 {
		t.Error("the node was on the other server from the beginning")
	}
}
