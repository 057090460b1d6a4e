package gateway

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/errs"
)

// inbound is the reading side's state.
type inbound struct {
	partial []byte // the beginning of a frame that has not come whole
	need    int    // how long that frame will be, 0 when not known
	parts   []byte // the parts of a fragmented message so far
	op      byte   // of that message, 0 without one
	packed  bool
	count   uint8  // of those parts
	bad     uint8  // frames that could not be decoded
	second  uint32 // in which there were so many frames with nothing in them
	empty   uint16
	fresh   bool  // a message came whole in this read
	brought uint8 // times leastBytes of the message under way
}

// read takes bytes from the wire. It may change data, and keeps none of it. The caller is the reading goroutine.
func (c *conn) read(data []byte) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.readMore(data)
}

// readMore is read for one who holds reading.
func (c *conn) readMore(data []byte) {
	now := c.server.now.Load()
	c.server.stats.BytesIn.Add(int64(len(data)))
	if c.last.Load() != now {
		c.last.Store(now)
		if c.isReady() {
			c.server.deps.Presence.Active(c.caller.User)
		}
	}
	whole := data
	if len(c.in.partial) > 0 {
		c.in.partial = append(c.in.partial, data...)
		if len(c.in.partial) < c.in.need {
			c.waitForRest(now)
			return
		}
		whole = c.in.partial
	}
	c.in.fresh = false
	rest, err := c.frames(whole)
	if err != nil {
		c.fault(err)
		c.in = inbound{}
		return
	}
	c.keep(rest)
	c.waitForRest(now)
}

const (
	leastBytes = 16 << 10 // must come of a message that has begun, or its rest,
	slowTime   = 30       // in so many seconds
)

// waitForRest notes since when a message has begun, and has not brought what it must.
func (c *conn) waitForRest(now uint32) {
	if c.in.op == 0 && len(c.in.partial) == 0 || !c.isReady() { // who is not greeted yet has a time for that
		c.begun.Store(0)
		c.in.brought = 0
		return
	}
	brought := uint8(min((len(c.in.parts)+len(c.in.partial))/leastBytes, 255))
	if c.in.fresh || c.begun.Load() == 0 || brought > c.in.brought {
		c.in.brought = brought
		c.begun.Store(now)
	}
	c.in.fresh = false
}

// keep has the incomplete rest wait for more. An idle connection keeps nothing.
func (c *conn) keep(rest []byte) {
	switch {
	case len(rest) == 0:
		if cap(c.in.partial) > 0 {
			c.in.partial = nil
		}
	case len(c.in.partial) > 0: // rest is its end
		n := copy(c.in.partial[:cap(c.in.partial)], rest)
		c.in.partial = c.in.partial[:n]
	default:
		c.in.partial = append([]byte(nil), rest...) // grows by what comes, whatever length was announced
	}
}

func (c *conn) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// frames handles the whole frames of b and gives what is left.
func (c *conn) frames(b []byte) (rest []byte, err error) {
	for {
		c.mu.Lock()
		closing, hold := c.closing, c.paused && !c.ready
		c.mu.Unlock()
		if closing {
			c.in.need = 0
			return nil, nil
		}
		if hold { // being greeted: what follows waits for that
			c.in.need = 0
			return b, nil
		}
		var f inFrame
		var ok bool
		b, ok, c.in.need, err = f.parse(b, c.deflate)
		if err != nil || !ok {
			return b, err
		}
		if err := c.take1(&f); err != nil {
			return nil, err
		}
	}
}

// take1 handles one WebSocket frame.
func (c *conn) take1(f *inFrame) error {
	switch f.op {
	case opPing:
		if err := c.idle(); err != nil {
			return err
		}
		c.raw(opPong, f.payload)
		c.server.touch(c)
		return nil
	case opPong:
		return c.idle()
	case opClose:
		c.mu.Lock()
		if !c.closing {
			c.close(closeAnswer(f.payload), "")
		}
		c.mu.Unlock()
		c.server.touch(c)
		return nil
	case opContinued:
		if c.in.op == 0 {
			return errFraming
		}
	default:
		if c.in.op != 0 {
			return errFraming
		}
		if f.final {
			c.in.fresh = true
			return c.message(f.op, f.packed, f.payload)
		}
		c.in.op, c.in.packed = f.op, f.packed
	}
	if c.in.count++; len(c.in.parts)+len(f.payload) > maxFrame || c.in.count > maxParts {
		return errTooLarge
	}
	c.in.parts = append(c.in.parts, f.payload...)
	if !f.final {
		return nil
	}
	parts, op, packed := c.in.parts, c.in.op, c.in.packed
	c.in.parts, c.in.op, c.in.count, c.in.fresh = nil, 0, 0, true
	return c.message(op, packed, parts)
}

// idle counts frames that carry nothing, of which an honest client has a few a second.
func (c *conn) idle() error {
	if now := c.server.now.Load(); c.in.second != now {
		c.in.second, c.in.empty = now, 0
	}
	if c.in.empty++; c.in.empty > maxEmpty {
		return errFlood
	}
	return nil
}

// closeAnswer is the code that answers a close frame: the client's own, if it may be sent.
func closeAnswer(p []byte) uint16 {
	if len(p) == 0 {
		return 1000
	}
	code := uint16(0)
	if len(p) >= 2 {
		code = binary.BigEndian.Uint16(p)
	}
	switch {
	case !utf8.Valid(p[min(len(p), 2):]):
		return 1007
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014, code >= 3000 && code < 5000:
		return code
	}
	return 1002
}

// touch has what was put for c outside of a batch written soon.
func (s *Server) touch(c *conn) { s.flush[c.shard].poke() }

// message handles one whole message of the client.
func (c *conn) message(op byte, packed bool, p []byte) (err error) {
	if len(p) == 0 {
		if err := c.idle(); err != nil {
			return err
		}
	}
	if packed {
		if p, err = inflate(p); err != nil {
			return err
		}
	}
	if (op == opText) != c.json {
		want := "binary messages"
		if c.json {
			want = "text messages"
		}
		return c.misread(errs.New(errs.Invalid, "wrong_type", "this subprotocol takes "+want+" only"))
	}
	c.server.stats.FramesIn.Add(1)
	if !c.json {
		if ok, err := c.quick(p); ok || err != nil {
			return err
		}
	} else if !utf8.Valid(p) {
		return c.misread(errs.New(errs.Invalid, "bad_json", "text messages must be UTF-8"))
	}
	frame, err := c.decode(p)
	if err != nil {
		return c.misread(err)
	}
	return c.handle(frame)
}

// misread answers a frame that could not be decoded; too many of them end the connection.
func (c *conn) misread(err error) error {
	if c.in.bad++; c.in.bad >= maxBad {
		return errs.New(errs.Invalid, "bad_frame", "too many frames could not be decoded")
	}
	c.frame(&gatewayv1.ServerFrame{Error: errorOf(err)})
	c.server.touch(c)
	return nil
}

// fault closes a connection whose client broke the protocol.
func (c *conn) fault(err error) {
	code, reason := uint16(closeProtocol), errs.Of(err).Message
	switch {
	case errors.Is(err, errTooLarge):
		code, reason = closeTooLarge, err.Error()
	case errors.Is(err, errFlood):
		code, reason = closeFlood, err.Error()
	case errors.Is(err, errFraming):
		reason = err.Error()
	case errs.Is(err, errs.Unauthenticated):
		code = closeAuth
	}
	c.bye(code, reason, 0)
	c.server.touch(c)
}
