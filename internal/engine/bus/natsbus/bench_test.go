package natsbus_test

import (
	"io"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
)

// BenchmarkPublish measures messages of 1,000 bytes from Publish to the handler, with 512 in flight: inside a process, through the node's
// own server, and to another node.
func BenchmarkPublish(b *testing.B) {
	node := func(name string, config natsbus.Config) *natsbus.Bus {
		n, err := open(name, config, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = n.Close() })
		return n
	}
	own := node("own", natsbus.Config{})
	here := node("here", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret})
	there := node("there", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Peers: []string{here.Addr()}})
	local := membus.New()
	for _, c := range []struct {
		name     string
		from, to bus.Bus
	}{{"membus", local, local}, {"own node", own, own}, {"another node", here, there}} {
		b.Run(c.name, func(b *testing.B) {
			places := make(chan struct{}, 512)
			cancel, err := c.to.Subscribe("s", func([]byte) { <-places }, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer cancel()
			stop, err := c.to.Respond("known", func([]byte) []byte { return nil })
			if err != nil {
				b.Fatal(err)
			}
			defer stop()
			for err = bus.ErrNoResponder; err != nil; {
				_, err = c.from.Request(b.Context(), "known", nil)
			}
			data := make([]byte, 1000)
			for b.Loop() {
				places <- struct{}{}
				if err := c.from.Publish("s", data); err != nil {
					b.Fatal(err)
				}
			}
			for range cap(places) { // all messages have arrived
				places <- struct{}{}
			}
			for range cap(places) {
				<-places
			}
		})
	}
}

// BenchmarkRequest measures a request and its answer between two nodes.
func BenchmarkRequest(b *testing.B) {
	here, err := open("here", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret}, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer here.Close()
	there, err := open("there", natsbus.Config{Listen: "127.0.0.1:0", Secret: secret, Peers: []string{here.Addr()}}, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	defer there.Close()
	if _, err := there.Respond("s", func(data []byte) []byte { return data }); err != nil {
		b.Fatal(err)
	}
	for err = bus.ErrNoResponder; err != nil; {
		_, err = here.Request(b.Context(), "s", nil)
	}
	data := make([]byte, 1000)
	for b.Loop() {
		if _, err := here.Request(b.Context(), "s", data); err != nil {
			b.Fatal(err)
		}
	}
}
