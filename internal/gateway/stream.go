package gateway

import (
	"net"
	"sync"
	"time"
)

// stream carries one connection that has no descriptor of its own (TLS in this process, a pipe in a test) with two
// goroutines. Both end when the connection does, and are waited for by the server.
type stream struct {
	server *Server
	conn   *conn
	net    net.Conn
	wake   chan struct{} // something is to be written
	resume chan struct{} // reading goes on
	ended  chan struct{} // the reading side is done
	once   sync.Once
}

func newStream(s *Server, c *conn, nc net.Conn) *stream {
	return &stream{server: s, conn: c, net: nc, wake: make(chan struct{}, 1), resume: make(chan struct{}, 1), ended: make(chan struct{})}
}

// start starts the goroutines.
func (t *stream) start(ahead []byte) {
	t.server.serving.Go(func() { t.reading(ahead) })
	t.server.serving.Go(t.writing)
}

func (t *stream) write(*conn) {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *stream) read(_ *conn, on bool) {
	if on {
		select {
		case t.resume <- struct{}{}:
		default:
		}
	}
}

func (t *stream) hangUp(*conn) {
	t.once.Do(func() {
		close(t.ended)
		// Closing may wait for the network (TLS says goodbye), and the caller holds a lock.
		t.server.serving.Go(func() { _ = t.net.Close() }) // what it says is of no use to anyone
	})
}

func (t *stream) reading(ahead []byte) {
	c := t.conn
	defer c.closed()
	defer c.end()
	buf := make([]byte, 4096)
	if len(ahead) > 0 {
		c.read(ahead)
	}
	for {
		c.mu.Lock()
		paused := c.paused
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

func (t *stream) writing() {
	c := t.conn
	for {
		select {
		case <-t.wake:
		case <-t.ended:
			return
		}
		for {
			c.mu.Lock()
			b := c.take()
			if b == nil {
				done := c.closing
				c.relax()
				c.mu.Unlock()
				if done {
					c.end()
				}
				break
			}
			c.rest = b.b // counted as pending while it is written
			c.mu.Unlock()
			err := t.net.SetWriteDeadline(time.Now().Add(stallTime * time.Second))
			if err == nil {
				_, err = t.net.Write(b.b)
			}
			c.mu.Lock()
			t.server.stats.BytesOut.Add(int64(len(b.b)))
			c.rest = nil
			c.mu.Unlock()
			b.free()
			if err != nil {
				t.server.stats.Slow.Add(1)
				c.end()
				return
			}
		}
	}
}
