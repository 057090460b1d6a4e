package gateway

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// inbound is the state of the reading side.
type inbound struct {
	partial          []byte // the beginning of an incomplete frame
	frameSize        int    // how long that frame will be, 0 when not known
	parts            []byte // the parts of a fragmented message so far
	op               byte   // of that message, 0 without one
	compressed       bool
	partCount        uint8  // of those parts
	undecodable      uint8  // frames that could not be decoded
	emptySecond      uint32 // in which there were so many frames with nothing in them
	emptyFrames      uint16
	smallFrames      uint32 // weight of frames without messages that is above what was allowed before smallFramesAt
	smallFramesAt    uint32
	uncharged        uint32 // of that weight, what the user and the address are not charged for yet
	completedMessage bool   // this read completed a message
	resuming         bool   // it is the turn of this connection among those of its user that wait (sender.go)
	chunks           uint8  // times leastBytes of the message under way
	charged          int    // bytes of messages that are not counted as calls yet
	held             budget.Hold
}

// drop discards the input.
func (in *inbound) drop() {
	in.held.Release()
	*in = inbound{}
}

// holdInput charges the memory of incomplete input, and closes the connection if the memory limit is reached.
func (c *conn) holdInput() {
	n := cap(c.in.partial) + cap(c.in.parts)
	if n == 0 {
		c.in.held.Release()
		return
	}
	memory, owner := c.server.deps.Input.Unauthenticated, budget.Owner{Network: c.network}
	switch state := c.currentState(); {
	case state >= stateClosing: // nothing that it still sends is of use
		c.in.drop()
		return
	case state == stateReady:
		memory, owner = c.server.deps.Input.Authenticated, c.owner()
	}
	if !c.in.held.Set(memory, owner, n) {
		c.closeForError(inputlimit.ErrBusy)
		c.in.drop()
	}
}

// owner is charged for input and answers of the connection after its authentication.
func (c *conn) owner() budget.Owner {
	return budget.Owner{User: uint64(c.caller.User), Network: c.network}
}

// read handles bytes from the wire. It may change data, and does not keep it. Only the reading goroutine calls it.
func (c *conn) read(data []byte) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.readLocked(data)
}

// readLocked is read for a caller that holds reading.
func (c *conn) readLocked(data []byte) {
	now := c.server.now.Load()
	c.server.stats.BytesIn.Add(int64(len(data)))
	if c.lastInput.Load() != now {
		c.lastInput.Store(now)
		if c.isReady() {
			c.server.deps.Directory.Active(c.caller)
		}
	}
	whole := data
	if len(c.in.partial) > 0 {
		c.in.partial = append(c.in.partial, data...)
		if len(c.in.partial) < c.in.frameSize {
			c.holdInput()
			c.trackIncomplete(now)
			return
		}
		whole = c.in.partial
	}
	c.in.completedMessage = false
	rest, err := c.handleFrames(whole)
	if err != nil {
		c.closeForError(err)
		c.in.drop()
		return
	}
	c.keepRest(rest)
	c.holdInput()
	c.trackIncomplete(now)
}

const (
	// Of an incomplete message, chunkSize bytes or its rest must come every chunkTime seconds.
	chunkSize = 16 << 10
	chunkTime = 30
)

// trackIncomplete notes since when a message is incomplete and brings less than chunkSize.
func (c *conn) trackIncomplete(now uint32) {
	if c.in.op == 0 && len(c.in.partial) == 0 || !c.isReady() { // authentication has a deadline of its own
		c.incompleteSince.Store(0)
		c.in.chunks = 0
		return
	}
	brought := uint8(min((len(c.in.parts)+len(c.in.partial))/chunkSize, 255))
	if c.in.completedMessage || c.incompleteSince.Load() == 0 || brought > c.in.chunks {
		c.in.chunks = brought
		c.incompleteSince.Store(now)
	}
	c.in.completedMessage = false
}

// keepRest keeps the incomplete rest until more comes. An idle connection keeps nothing.
func (c *conn) keepRest(rest []byte) {
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

func (c *conn) currentState() connState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *conn) isReady() bool { return c.currentState() == stateReady }

// handleFrames handles the complete frames of b and returns the rest.
func (c *conn) handleFrames(b []byte) (rest []byte, err error) {
	for {
		c.mu.Lock()
		state, throttled := c.state, c.throttledUntil != 0 && c.reads != readOn
		waits := state == stateGreeting || c.decodingAsync
		if throttled && !waits && state == stateReady && len(b) > 0 {
			c.reads = readBacklogged
		}
		c.mu.Unlock()
		if state >= stateClosing {
			c.in.frameSize = 0
			return nil, nil
		}
		if throttled || waits || state == stateReady && len(b) > 0 && c.waitsForSender() {
			c.in.frameSize = 0
			return b, nil
		}
		f := inFrame{maxMessage: maxFrame}
		if state != stateReady {
			f.maxMessage = maxFirstMessage
		}
		var ok bool
		if c.prefixed {
			f.payload, b, ok, c.in.frameSize, err = cutFrame(b, f.maxMessage)
		} else {
			b, ok, c.in.frameSize, err = f.parse(b, c.deflate)
		}
		if err != nil || !ok {
			return b, err
		}
		if c.prefixed {
			c.in.completedMessage = true
			err = c.handleMessage(opBinary, false, f.payload)
		} else {
			err = c.handleWSFrame(&f)
		}
		if err != nil {
			return nil, err
		}
	}
}

// handleWSFrame handles one WebSocket frame.
func (c *conn) handleWSFrame(f *inFrame) error {
	switch f.op {
	case opPing:
		if err := c.countEmptyFrame(); err != nil {
			return err
		}
		c.sendPong(opPong, f.payload)
		c.server.requestFlush(c)
		return nil
	case opPong:
		return c.countEmptyFrame()
	case opClose:
		c.mu.Lock()
		if !c.isEnding() {
			c.appendClose(closeAnswer(f.payload), "")
		}
		c.mu.Unlock()
		c.server.requestFlush(c)
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
			c.in.completedMessage = true
			return c.handleMessage(f.op, f.compressed, f.payload)
		}
		c.in.op, c.in.compressed = f.op, f.compressed
	}
	if c.in.partCount++; len(c.in.parts)+len(f.payload) > f.maxMessage || c.in.partCount > maxParts {
		return tooLarge(f.maxMessage)
	}
	c.in.parts = append(c.in.parts, f.payload...)
	if !f.final {
		return nil
	}
	parts, op, compressed := c.in.parts, c.in.op, c.in.compressed
	c.in.parts, c.in.op, c.in.partCount, c.in.completedMessage = nil, 0, 0, true
	return c.handleMessage(op, compressed, parts)
}

// countEmptyFrame counts empty frames, and pings and pongs of WebSocket. A normal client sends a few of them a second, and none before its
// authentication: nobody but the address can be charged for those.
func (c *conn) countEmptyFrame() error {
	if now := c.server.now.Load(); c.in.emptySecond != now {
		c.in.emptySecond, c.in.emptyFrames = now, 0
	}
	if c.in.emptyFrames++; c.in.emptyFrames > maxEmptyFrames {
		return errFlood
	}
	if c.caller.User != 0 {
		c.chargeSmallFrames(1)
	} else if c.server.deps.Limits.Allow(ratelimit.UnauthenticatedPing, 0, c.network, 1) != nil {
		return errUnauthenticatedFlood
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

// requestFlush has c written soon, outside of a batch.
func (s *Server) requestFlush(c *conn) { s.flush[c.shard].signal() }

// handleMessage handles one complete message of the client.
func (c *conn) handleMessage(op byte, compressed bool, p []byte) (err error) {
	if compressed {
		out := inflated.Get().(*bytes.Buffer)
		defer func() { // nothing keeps parts of a message once it is handled
			out.Reset()
			inflated.Put(out)
		}()
		if err := inflate(out, p); err != nil {
			return err
		}
		p = out.Bytes()
		c.countBytes(len(p))
	}
	if (op == opText) != c.json {
		want := "binary messages"
		if c.json {
			want = "text messages"
		}
		return c.rejectFrame(errs.New(errs.Invalid, "wrong_type", "this subprotocol takes "+want+" only"))
	}
	c.server.stats.FramesIn.Add(1)
	if c.json && !utf8.Valid(p) {
		return c.rejectFrame(errs.New(errs.Invalid, "bad_json", "text messages must be UTF-8"))
	}
	if c.currentState() < stateReady {
		return c.handleFirst(p)
	}
	if !c.json {
		if ok, err := c.handleFast(p); err != nil {
			return c.rejectFrame(err)
		} else if ok {
			return nil
		}
	}
	return c.handleComplete(p, compressed)
}

// rejectFrame answers a frame that could not be decoded. Too many of them end the connection.
func (c *conn) rejectFrame(err error) error {
	if c.in.undecodable++; c.in.undecodable >= maxUndecodable {
		return errs.New(errs.Invalid, "bad_frame", "too many frames could not be decoded")
	}
	c.sendFrame(&gatewayv1.ServerFrame{Error: errorOf(err)})
	c.server.requestFlush(c)
	return nil
}

// closeForError closes a connection whose client violated the protocol.
func (c *conn) closeForError(err error) {
	code, reason, retry := uint16(closeProtocol), errs.Of(err).Message, time.Duration(0)
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errFirst):
		code, reason = closeTooLarge, err.Error()
	case errors.Is(err, errFlood), errors.Is(err, errUnauthenticatedFlood):
		code, reason = closeFlood, err.Error()
	case errors.Is(err, errFraming):
		reason = err.Error()
	case errs.Is(err, errs.Unauthenticated):
		code = closeAuth
	case errors.Is(err, inputlimit.ErrBusy):
		code, retry = closeBusy, c.server.config.DrainOver
	}
	c.sayGoodbye(code, reason, retry)
	c.mu.Lock()
	if c.state != stateClosed { // nothing that it still sends is of use
		c.pauseReading()
	}
	c.mu.Unlock()
	c.server.requestFlush(c)
}
