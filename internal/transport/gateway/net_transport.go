package gateway

import (
	"net"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// netTransport carries one connection that has no descriptor of its own (TLS in this process, a pipe in a test) with two
// goroutines. Both end when the connection does, and are waited for by the server.
type netTransport struct {
	server *Server
	conn   *conn
	net    net.Conn
	wake   chan struct{} // something is to be written
	resume chan struct{} // reading goes on
	ended  chan struct{} // the reading side is done
	once   sync.Once
}

func newNetTransport(s *Server, c *conn, nc net.Conn) *netTransport {
	return &netTransport{server: s, conn: c, net: nc, wake: make(chan struct{}, 1), resume: make(chan struct{}, 1), ended: make(chan struct{})}
}

// start starts the goroutines.
func (t *netTransport) start(ahead []byte) {
	t.server.serving.Go(func() { t.reading(ahead) })
	t.server.serving.Go(t.writing)
}

func (t *netTransport) flush(*conn) {
	wakeup.Signal(t.wake)
}

func (t *netTransport) setReading(_ *conn, on bool) {
	if on {
		wakeup.Signal(t.resume)
	}
}

func (t *netTransport) hangUp(*conn) {
	t.once.Do(func() {
		close(t.ended)
		// Closing may wait for the network (TLS says goodbye), and the caller holds a lock.
		t.server.serving.Go(func() { _ = t.net.Close() }) // the error has no remedy
	})
}

func (t *netTransport) reading(ahead []byte) {
	c := t.conn
	defer c.onClosed()
	defer c.hangUp()
	buf := make([]byte, 4096)
	if len(ahead) > 0 {
		c.read(ahead)
	}
	for {
		c.mu.Lock()
		paused := c.reads != readOn
		c.mu.Unlock()
		if paused {
			select {
			case <-t.resume:
				continue
			case <-t.ended:
				return
			}
		}
		n, err := t.net.Read(buf)
		if n > 0 {
			c.read(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (t *netTransport) writing() {
	c := t.conn
	for {
		select {
		case <-t.wake:
		case <-t.ended:
			return
		}
		for {
			c.mu.Lock()
			b := c.takeOutput()
			if b == nil {
				done := c.isEnding()
				c.resumeReading()
				c.mu.Unlock()
				if done {
					c.hangUp()
				}
				break
			}
			c.unsent, c.stalledSince = b.b, t.server.now.Load() // counted as pending while it is written
			c.mu.Unlock()
			if c.deflate {
				b = deflateFrames(b)
			}
			err := t.net.SetWriteDeadline(time.Now().Add(stallTime * time.Second))
			if err == nil {
				_, err = t.net.Write(b.b)
			}
			c.mu.Lock()
			t.server.stats.BytesOut.Add(int64(len(b.b)))
			c.unsent, c.stalledSince = nil, 0
			c.mu.Unlock()
			b.free()
			if err != nil {
				t.server.stats.Slow.Add(1)
				c.hangUp()
				return
			}
		}
	}
}
