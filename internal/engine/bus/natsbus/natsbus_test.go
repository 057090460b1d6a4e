package natsbus_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/bustest"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a node's bus, which ends with the test.
func start(t *testing.T, node string, config natsbus.Config) *natsbus.Bus {
	t.Helper()
	b, err := open(node, config, io.Discard)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	return b
}

func open(node string, config natsbus.Config, log io.Writer) (*natsbus.Bus, error) {
	return natsbus.New(natsbus.Deps{Logger: slog.New(slog.NewTextHandler(log, nil)), Node: node}, config)
}

// lines of a log; lines beyond the capacity are dropped.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// await waits for a line that contains a word.
func (l lines) await(t *testing.T, word string) {
	t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case line := <-l:
			if strings.Contains(line, word) {
				return
			}
		case <-end:
			t.Fatalf("got no log line with %q within a minute", word)
		}
	}
}

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return start(t, "alone", natsbus.Config{}) })
}

// The suite with the publisher and requester on one node, and the subscriber and responder on another.
func TestTwoNodes(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus {
		a := start(t, "a", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret})
		b := start(t, "b", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Peers: []string{a.Addr()}})
		eventually.True(t, "they are connected", func() bool { return a.Stats().Peers == 1 && b.Stats().Peers == 1 })
		return &across{Bus: a, t: t, there: b}
	})
}

// across publishes on one node and subscribes on another.
type across struct {
	*natsbus.Bus
	t     *testing.T
	there *natsbus.Bus

	settled int
	closing atomic.Bool
}

func (a *across) Publish(subject string, data []byte) error {
	if a.closing.Load() {
		return bus.ErrClosed
	}
	return a.Bus.Publish(subject, data)
}

func (a *across) Subscribe(subject string, handle func([]byte), missed func()) (func(), error) {
	cancel, err := a.there.Subscribe(subject, handle, missed)
	if err == nil {
		a.settle()
	}
	return cancel, err
}

func (a *across) Respond(subject string, handle func([]byte) []byte) (func(), error) {
	cancel, err := a.there.Respond(subject, handle)
	if err == nil {
		a.settle()
	}
	return cancel, err
}

// settle waits until the publishing node knows the subscriptions of the other: servers propagate them in order.
func (a *across) settle() {
	a.settled++
	subject := fmt.Sprint("settled.", a.settled)
	_, err := a.there.Respond(subject, func([]byte) []byte { return nil })
	must(a.t, err)
	eventually.True(a.t, "the other node knows", func() bool {
		_, err := a.Bus.Request(a.t.Context(), subject, nil)
		return err == nil
	})
}

func (a *across) Close() error {
	a.closing.Store(true)
	if err := a.there.Close(); err != nil {
		return err
	}
	return a.Bus.Close()
}

func TestWrongConfig(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	for name, c := range map[string]struct {
		config natsbus.Config
		says   string
	}{
		"both":            {natsbus.Config{URL: "nats://127.0.0.1:1", Listen: "127.0.0.1:0"}, "must not be set"},
		"no listen":       {natsbus.Config{Peers: []string{"127.0.0.1:1"}}, "listen"},
		"no secret":       {natsbus.Config{Listen: "127.0.0.1:0"}, "16 characters"},
		"short secret":    {natsbus.Config{Listen: "127.0.0.1:0", Secret: "short"}, "16 characters"},
		"no port":         {natsbus.Config{Listen: "127.0.0.1", Secret: secret}, "port"},
		"no number":       {natsbus.Config{Listen: "127.0.0.1:http", Secret: secret}, "0 to 65535"},
		"peer":            {natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Peers: []string{"b"}}, "peers"},
		"in use":          {natsbus.Config{Listen: taken.Addr().String(), Secret: secret}, "in use"},
		"credentials":     {natsbus.Config{Credentials: "file"}, "url"},
		"prefix":          {natsbus.Config{Prefix: "a.*"}, "prefix"},
		"negative":        {natsbus.Config{PendingBytes: -1}, "negative"},
		"certificate":     {natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, TLS: natsbus.TLS{Cert: "no-such-file", Key: "no-such-file"}}, "no-such-file"},
		"authority":       {natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, TLS: natsbus.TLS{CA: "no-such-file"}}, "no-such-file"},
		"no url":          {natsbus.Config{URL: "nats://["}, "url"},
		"no certificates": {natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, TLS: natsbus.TLS{CA: "natsbus_test.go"}}, "PEM"},
	} {
		b, err := open("n", c.config, io.Discard)
		if err == nil {
			must(t, b.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("config %s: got error %v, want one that contains %q", name, err, c.says)
		}
	}
}

// TestOwnSubjects: messages to subjects of the node itself are handled, in order, before Publish returns. The NATS server is not involved.
func TestOwnSubjects(t *testing.T) {
	b := start(t, "n", natsbus.Config{})
	var received []string
	cancel, err := b.Subscribe(bus.Node("n", 0), func(data []byte) { received = append(received, string(data)) }, func() { t.Error("got a gap, want none") })
	must(t, err)
	_, err = b.Subscribe(bus.Node("n", 1), func([]byte) { t.Error("got a message of another subject") }, nil)
	must(t, err)
	_, err = b.Subscribe(bus.Node("n2", 0), func([]byte) { t.Error("got a message of another node") }, nil)
	must(t, err)
	for _, text := range []string{"1", "", "3"} {
		must(t, b.Publish(bus.Node("n", 0), []byte(text)))
	}
	if want := []string{"1", "", "3"}; !slices.Equal(received, want) {
		t.Errorf("got %q, want %q", received, want)
	}
	cancel()
	must(t, b.Publish(bus.Node("n", 0), []byte("4")))
	if len(received) != 3 || b.Stats().Received != 3 {
		t.Errorf("after the end of the subscription: got %q, and %d counted, want 3 of both", received, b.Stats().Received)
	}
}
