package gateway

import (
	"net"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Both transports compress what they write, if the client accepts it.
func TestTransportsCompress(t *testing.T) {
	onPipe := func(t *testing.T) (*conn, net.Conn) {
		c, _ := bench(t)
		server, client := net.Pipe()
		own := newNetTransport(c.server, c, server)
		c.transport = own
		own.start(nil)
		t.Cleanup(func() {
			c.hangUp()
			c.server.serving.Wait()
			client.Close()
		})
		return c, client
	}
	for name, open := range map[string]func(*testing.T) (*conn, net.Conn){"an event loop": adopted, "two goroutines": onPipe} {
		for _, packs := range []bool{false, true} {
			c, client := open(t)
			c.deflate = packs
			c.mu.Lock()
			for n := uint64(1); n <= 20; n++ {
				c.appendFields(message.AppendEventField(nil, 4, message.Position(1<<32+n), 0, textEvent(n, 200).proto))
			}
			c.mu.Unlock()
			c.transport.flush(c)
			if err := client.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			h, err := ws.ReadHeader(client)
			if err != nil || h.Rsv1() != packs || (h.Length > 3000) != !packs {
				t.Errorf("%s, compression accepted %v: the frame is compressed %v and has %d bytes (%v)", name, packs, h.Rsv1(), h.Length, err)
			}
		}
	}
}
