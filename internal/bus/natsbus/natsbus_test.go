package natsbus_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/bus/bustest"
	"github.com/rialto-im/rialto/internal/bus/natsbus"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start a node's bus, which ends with the test.
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

// until waits for something that no event tells of.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("in a minute not: %s", what)
		}
	}
}

// lines of a log, as they come; those that do not fit are left out.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// await a line with a word in it.
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
			t.Fatalf("in a minute the log does not have %q", word)
		}
	}
}

func TestBus(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus { return start(t, "alone", natsbus.Config{}) })
}

// TestTwoNodes: the suite, where who publishes and asks is another node than who hears and answers.
func TestTwoNodes(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bus.Bus {
		a := start(t, "a", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret})
		b := start(t, "b", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Peers: []string{a.Addr()}})
		until(t, "they are connected", func() bool { return a.Stats().Peers == 1 && b.Stats().Peers == 1 })
		return &across{Bus: a, t: t, there: b}
	})
}

// across speaks on one node and listens on another.
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

// settle waits until the speaking node knows what the listening one has subscribed to before: servers tell each other in order.
func (a *across) settle() {
	a.settled++
	subject := fmt.Sprint("settled.", a.settled)
	_, err := a.there.Respond(subject, func([]byte) []byte { return nil })
	must(a.t, err)
	until(a.t, "the other node knows", func() bool {
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
			t.Errorf("%s: %v", name, err)
		}
	}
}
