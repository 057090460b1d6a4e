package gateway

import (
	"math/rand/v2"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// Clients that have no WebSocket receive by HTTP requests that the gateway holds: event streams (event_stream.go), and syncs that wait
// (await.go). Each is a connection like a socket: it counts among those of its user and of the node, is registered in the directory, is compared
// with the stores, and ends with its session. It differs in what a client of a socket does itself. A gap in the stream, or events that were left
// out, make the server read the stream for it, where a socket gets a hint.

// receiver is the transport of such a connection. The goroutine of the request writes, and ends it.
type receiver struct {
	conn   *conn
	stream bool          // it is an event stream; else a sync that waits
	wake   chan struct{} // something is to be written, or was pushed
	ended  chan struct{} // closed by hangUp
	once   sync.Once
	cut    func()         // makes a write in progress fail; nil if nothing is written
	cuts   sync.WaitGroup // of cut

	// The fields below are guarded by the connection's mu.

	position message.Position // of the last event that was queued for the client, or that it had
	resumes  bool             // the client has named a position
	idAt     message.Position // the position that the next frame states, 0 for none
	due      bool             // a sync that waits has something to answer
}

// hold adds a connection over HTTP. The caller calls its onClosed.
func (s *Server) hold(caller id.Caller, network netip.Prefix, stream bool) (*conn, error) {
	if err := s.checkRoom(); err != nil {
		return nil, err
	}
	if s.stats.Held.Add(1) > int64(s.config.MaxHeldRequests) {
		s.stats.Held.Add(-1)
		return nil, s.errFull()
	}
	c := s.newConn(&conn{caller: caller, network: network})
	s.stats.Streams.Add(1)
	c.json = true
	c.receiver = &receiver{conn: c, stream: stream, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	c.transport = c.receiver
	c.mu.Lock()
	c.advance(stateGreeting)
	c.mu.Unlock()
	return c, nil
}

// enlist has a greeted connection checked for its deadlines, and ends it if the node stops.
func (s *Server) enlist(c *conn) {
	s.wheel.schedule(c, s.now.Load()+uint32(s.config.Grace.Seconds()))
	s.mu.Lock()
	stopping := s.draining || s.released
	s.mu.Unlock()
	if stopping {
		c.sayGoodbye(closeDrain, "draining", s.returnAfter())
	}
}

// ReleaseHeld tells the clients of all event streams and waiting syncs to reconnect elsewhere, and has no more accepted: their HTTP server is about to stop,
// and waits for its requests.
func (s *Server) ReleaseHeld() {
	s.mu.Lock()
	s.released = true
	s.mu.Unlock()
	var held []*conn
	for i := range s.hub.users {
		shard := &s.hub.users[i]
		shard.mu.RLock()
		for _, c := range shard.first {
			for ; c != nil; c = c.next {
				if c.receiver != nil {
					held = append(held, c)
				}
			}
		}
		shard.mu.RUnlock()
	}
	for _, c := range held {
		c.sayGoodbye(closeDrain, "draining", s.returnAfter())
	}
	s.Flush()
}

// returnAfter is when the client of a released connection reconnects: all are released at once, and come back over the time of a drain.
func (s *Server) returnAfter() time.Duration {
	return rand.N(max(s.config.DrainOver, time.Millisecond))
}

// waits reports whether the connection is a sync that waits.
func (r *receiver) waits() bool { return r != nil && !r.stream }

func (r *receiver) flush(*conn) { wakeup.Signal(r.wake) }

func (r *receiver) setReading(*conn, bool) {} // nothing is read

func (r *receiver) hangUp(*conn) {
	r.once.Do(func() {
		close(r.ended)
		if r.cut != nil { // it may wait for the network, and the caller holds a lock
			r.cuts.Go(r.cut)
		}
	})
}

// greeted notes the end of the stream when the connection becomes ready. A client without a position receives from there on. The caller holds mu.
func (r *receiver) greeted(tail message.Position) {
	if r == nil || !r.stream {
		return
	}
	if !r.resumes {
		r.position, r.idAt = tail, tail
	}
	if r.position != tail {
		r.conn.needsHint = true
	}
}

// follows reports whether an event is the next one for the client, and moves the position if so. If some are missing before it, the stream is read.
// The caller holds mu.
func (r *receiver) follows(at, prev message.Position) bool {
	switch {
	case r.conn.needsHint:
		return false
	case at == 0: // of a large conversation: it has no place in the stream
		return true
	case at <= r.position:
		return false
	case prev != r.position:
		r.conn.setHint()
		r.conn.queueWrite()
		return false
	}
	r.position = at
	return true
}

// pushEvent queues an event, and reports whether it did. The caller holds mu, and has checked canPush.
func (r *receiver) pushEvent(at, prev message.Position, body *payload) (pushed bool) {
	c := r.conn
	if !r.stream {
		if at == 0 || at > r.position {
			r.due = true
			c.queueWrite()
		}
		return false // the sync that answers then has it
	}
	if c.withheld == nil && !r.follows(at, prev) {
		return false
	}
	scratch := buffers.Get().(*buffer)
	defer scratch.free()
	var err error
	if scratch.b, err = appendEventJSON(scratch.b, at, prev, body); err != nil { // the deliverer logs it
		if at == 0 {
			return false
		}
		scratch.b, _ = appendEventJSON(scratch.b[:0], at, prev, &payload{}) // an empty body has a JSON form
	}
	if c.withheld != nil {
		c.withholdEvent(withheldEvent{at: at, prev: prev, data: append([]byte(nil), scratch.b...)})
		return false
	}
	r.appendEvent(at, scratch.b)
	if at == 0 {
		c.queueLater()
		return true
	}
	c.queueWrite()
	return true
}

// appendEvent appends an event in JSON as a message of the event stream. The caller holds mu.
func (r *receiver) appendEvent(at message.Position, data []byte) {
	r.conn.ensureBuffer()
	r.conn.out.b = appendEventMessage(r.conn.out.b, at, data)
}

func appendEventMessage(b []byte, at message.Position, data []byte) []byte {
	b = appendID(b, at)
	b = append(append(append(b, "data: "...), jsonListStart[listEvents]...), data...)
	return append(append(b, jsonListEnd...), "\n\n"...)
}

// appendID states the position that a client resumes from after the message that follows.
func appendID(b []byte, at message.Position) []byte {
	if at == 0 {
		return b
	}
	return append(strconv.AppendUint(append(b, "id: "...), uint64(at), 10), '\n')
}

// appendFrame appends a frame in JSON as a message of the event stream. A sync that waits has no frames, and no other frames than texts concern
// clients. The caller holds mu.
func (r *receiver) appendFrame(op byte, payload []byte) {
	if !r.stream || op != opText {
		return
	}
	r.conn.ensureBuffer()
	r.conn.out.b = appendDataMessage(appendID(r.conn.out.b, r.idAt), payload)
	r.idAt = 0
}

func appendDataMessage(b, json []byte) []byte {
	return append(append(append(b, "data: "...), json...), "\n\n"...)
}

// appendRetry tells the client of an event stream when to reconnect. The caller holds mu.
func (r *receiver) appendRetry(after time.Duration) {
	if r == nil || !r.stream || after <= 0 {
		return
	}
	r.conn.ensureBuffer()
	r.conn.out.b = append(strconv.AppendInt(append(r.conn.out.b, "retry: "...), after.Milliseconds(), 10), "\n\n"...)
}
