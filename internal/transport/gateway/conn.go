package gateway

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// transport carries a connection's bytes.
type transport interface {
	// flush starts writing the pending output; it does not block.
	flush(c *conn)
	// setReading stops and restarts reading. The caller holds c.mu.
	setReading(c *conn, on bool)
	// hangUp ends the connection for both sides. The transport calls closed when it is done with it.
	hangUp(c *conn)
}

// conn is one connection. Its reading side belongs to the goroutine that reads; the writing side is guarded by mu.
type conn struct {
	server    *Server
	transport transport
	receiver  *receiver // the transport of a connection over HTTP, which only receives; nil for a socket
	json      bool
	deflate   bool
	prefixed  bool   // frames have their length before them (tcp.go), in place of WebSocket's framing
	keepsAck  bool   // a sync does not acknowledge earlier events
	shard     uint8  // its flusher
	fd        int32  // of the event loop's
	opened    uint32 // second
	caller    id.Caller
	network   netip.Prefix // of its address; zero for programs on this machine
	next      *conn        // of the same user; guarded by the hub

	lastInput       atomic.Uint32             // second of the last input
	silence         atomic.Uint32             // seconds of silence that the client announced, in addition to the grace period
	incompleteSince atomic.Uint32             // second since which a message is incomplete; 0: none is
	inFlight        atomic.Int32              // sends without a receipt
	inFlightBytes   atomic.Int64              // bytes of them
	held            atomic.Pointer[heldSends] // nil before a send was held; set with mu

	slot *inputlimit.Slot // until it is authenticated; nil where its handshake was

	sender  atomic.Pointer[sender] // nil before the first send; set by the reading goroutine
	turns   uint64                 // the number of its last send; the reading goroutine's
	reading sync.Mutex             // guards in: the reading goroutine's, but for the moment after a frame that was decoded by another goroutine. Before mu.
	in      inbound

	mu                sync.Mutex // guards all below
	out               *buffer    // nil while there is nothing to write
	frameAt           int        // start of the frame that is still open in out; -1: none is
	frameList         jsonList   // the list that this frame is, in JSON
	unsent            []byte     // the part of unsentBuffer that the socket has not accepted yet
	unsentBuffer      *buffer
	watching          uint32           // the events for which the event loop watches its descriptor
	unreadBytes       int              // bytes of answers that are counted as held
	answerBytes       int              // bytes of answers to calls that were put since nothing waited
	withheld          *withheld        // events that wait for the answers of syncs, nil where none is under way
	newestPushed      message.Position // the newest event of its stream that was pushed, or covered by a hint
	activeCalls       *activeCalls
	follows           []id.Conversation  // large conversations
	followsAbove      []uint64           // of each of these: entries up to this one are not pushed; see hub.follow
	grown             []grownTo          // what the next hint says of them
	rooms             map[id.Room]uint64 // that it is in, or enters: the turn of the last entry
	roomTurn          uint64
	followChanges     uint32            // counts the changes of follows by deliveries
	appliedGeneration uint64            // of the newest reading of the rows that follows was compared with
	leftWhileGreeted  []id.Conversation // large conversations that the user left during the greeting
	readersTurn       uint32            // counts the requests to watch readers
	postsTurn         uint32            // counts the requests to watch posts
	state             connState         // changed by advance only
	readFlow
	writeFlow

	registering  sync.Mutex // guards registration, and is held during Connected and Disconnected. Taken before mu and the hub's locks.
	registration registrationState
	away         bool // what it said of the device last; guarded by registering
}

type buffer struct {
	b      []byte
	shared bool // by several connections: it is not changed
}

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 4096)} }}

func (b *buffer) free() {
	if !b.shared && cap(b.b) <= 128<<10 {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

func (c *conn) pending() int {
	n := len(c.unsent)
	if c.out != nil {
		n += len(c.out.b)
	}
	return n
}

// ensureBuffer makes an output buffer where there is none, or only a shared one. The caller holds mu.
func (c *conn) ensureBuffer() {
	if c.out != nil && !c.out.shared {
		return
	}
	b, before := buffers.Get().(*buffer), c.out
	c.setOutput(b)
	if before != nil {
		b.b = append(b.b, before.b...)
	}
}

// setOutput makes whole frames, or nothing, the output. The caller holds mu.
func (c *conn) setOutput(b *buffer) {
	if c.out == nil {
		c.answerBytes = min(c.answerBytes, len(c.unsent))
	}
	c.out, c.frameAt = b, -1
}

// appendFrame appends a whole frame. The caller holds mu.
func (c *conn) appendFrame(op byte, payload []byte) {
	if c.receiver != nil {
		c.receiver.appendFrame(op, payload)
		return
	}
	c.ensureBuffer()
	c.sealFrame()
	c.out.b = append(c.appendHeader(c.out.b, op, len(payload)), payload...)
}

// queueWrite makes the next Flush write the connection. The caller holds mu.
func (c *conn) queueWrite() {
	if !c.queued {
		c.queued = true
		c.server.flush[c.shard].add(c)
	}
	c.cutIfOverflowing()
}

// queueLater makes a Flush write the connection after those of queueWrite, so that pushes to many do not delay output for one user. The caller holds mu.
func (c *conn) queueLater() {
	if !c.queued && !c.queuedLater {
		c.queuedLater = true
		c.server.flush[c.shard].addLater(c)
	}
	c.cutIfOverflowing()
}

// receipt answers a send that is in flight.
func (c *conn) receipt(d *message.Draft) {
	c.endInFlight(d)
	c.sendReceipt(d)
}

// sendReceipt tells the client that a send is stored or refused.
func (c *conn) sendReceipt(d *message.Draft) {
	c.server.stats.Receipts.Add(1)
	took := time.Duration(0)
	if d.Accepted > 0 {
		took = time.Since(c.server.opened) - d.Accepted
	}
	c.server.sends.Done(uint32(d.Conversation), took, d.Err)
	if c.server.deps.Tracer.Samples(d.ID) {
		c.traceSend(d, took)
	}
	var encoded []byte
	switch {
	case c.json:
		_, encoded = c.encode(receiptOf(d))
	case d.Err != nil: // they are rare: the generated code encodes them
		_, encoded = c.encode(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{receiptOf(d)}})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.isEnding():
		return
	case c.json:
		c.appendJSONItem(listReceipts, encoded)
	case d.Err != nil:
		c.appendFields(encoded)
	default:
		o := c.reserveField(160 + len(d.ClientMsgID))
		o.b = message.AppendReceiptProto(o.b, d)
	}
	c.queueWrite()
}

func receiptOf(d *message.Draft) *gatewayv1.Receipt {
	r := &gatewayv1.Receipt{Conversation: uint64(d.Conversation), ClientSeq: d.ClientSeq, ClientMsgId: d.ClientMsgID}
	if d.Err != nil {
		r.Error = errorOf(d.Err)
		return r
	}
	r.Id, r.Seq, r.TimeMs, r.Counted, r.Duplicate = d.ID.String(), d.Seq, d.ID.Ms(), d.Counted, d.Duplicate
	return r
}

// errorOf returns an error's form in frames. Kinds become codes here and in rpc only.
func errorOf(err error) *gatewayv1.Error {
	e := errs.Of(err)
	return &gatewayv1.Error{Code: e.Kind.String(), Reason: e.Reason, Message: e.Message, RetryMs: uint32(min(e.Retry.Milliseconds(), math.MaxInt32))}
}

// pushEvent pushes one event, and reports whether it did. A slow consumer gets a hint instead of events, and a connection that syncs gets them afterwards.
func (c *conn) pushEvent(at, prev message.Position, body *payload) (pushed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pushLocked(at, prev, body)
}

// pushLocked is pushEvent for a caller that holds mu.
func (c *conn) pushLocked(at, prev message.Position, body *payload) (pushed bool) {
	c.newestPushed = max(c.newestPushed, at) // a dropped event is covered by a hint
	if !c.canPush() {
		return false
	}
	switch {
	case c.receiver != nil:
		return c.receiver.pushEvent(at, prev, body)
	case c.json:
		scratch := buffers.Get().(*buffer)
		defer scratch.free()
		var err error
		if scratch.b, err = appendEventJSON(scratch.b, at, prev, body); err != nil {
			c.queueHint() // the deliverer logs it
			return false
		}
		if c.withheld != nil {
			c.withholdEvent(withheldEvent{data: slices.Clone(scratch.b)})
			return false
		}
		c.appendEvent(scratch.b)
	case c.withheld != nil:
		c.withholdEvent(withheldEvent{data: message.AppendEventField(nil, 4, at, prev, body.proto)})
		return false
	default:
		o := c.reserveField(message.EventFieldLen(at, prev, body.proto))
		o.b = message.AppendEventField(o.b, 4, at, prev, body.proto)
	}
	if at == 0 { // of a large conversation
		c.queueLater()
		c.traceWrite(body.traced)
		return true
	}
	c.queueWrite()
	c.traceWrite(body.traced)
	return true
}

// appendEvent appends an encoded event: an object in JSON, or whole fields of a ServerFrame. The caller holds mu.
func (c *conn) appendEvent(data []byte) {
	if c.json {
		c.appendJSONItem(listEvents, data)
	} else {
		c.appendFields(data)
	}
}

// encode returns a message's bytes in the connection's encoding. A frame that has no such form is replaced by an error for its request.
func (c *conn) encode(f proto.Message) (op byte, b []byte) {
	op, marshal := byte(opBinary), proto.Marshal
	if c.json {
		op, marshal = opText, protojson.Marshal
	}
	b, err := marshal(f)
	if err == nil {
		return op, b
	}
	c.server.deps.Logger.Error("a frame cannot be encoded", "error", err)
	request := uint64(0)
	if frame, ok := f.(*gatewayv1.ServerFrame); ok {
		request = frame.Request
	}
	if b, err = marshal(&gatewayv1.ServerFrame{Request: request, Error: errorOf(err)}); err != nil {
		panic(err) // it has constant texts
	}
	return op, b
}

// sendFrame queues one frame.
func (c *conn) sendFrame(f *gatewayv1.ServerFrame) {
	op, b := c.encode(f)
	c.sendEncoded(op, b)
}

// sendEncoded queues the bytes of one frame.
func (c *conn) sendEncoded(op byte, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		return
	}
	c.appendFrame(op, b)
	c.queueWrite()
}

// sendPong queues the answer to a ping behind all other answers: thousands of clients may send their pings at the same moment.
func (c *conn) sendPong(op byte, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		return
	}
	c.appendFrame(op, b)
	c.queueLater()
}

// sendAnswer queues the answer to a call, however long, unless too many earlier ones are unread.
func (c *conn) sendAnswer(request uint64, op byte, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		return
	}
	if c.pending() > maxPending || c.holdAnswer(len(b)) != nil {
		op, b = c.encode(&gatewayv1.ServerFrame{Request: request, Error: errorOf(outputlimit.ErrUnread)})
		c.appendFrame(op, b)
	} else {
		before := c.pending()
		c.appendFrame(op, b)
		c.answerBytes += c.pending() - before
	}
	c.queueWrite()
}

// sayGoodbye sends the client the reason and closes. Pending output is still written.
func (c *conn) sayGoodbye(code uint16, reason string, retry time.Duration) {
	op, b := c.encode(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: uint32(code), Reason: reason, RetryMs: uint32(retry.Milliseconds())}})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isEnding() {
		return
	}
	c.receiver.appendRetry(retry)
	c.appendFrame(op, b)
	c.appendClose(code, reason)
}

// appendClose appends the close frame of WebSocket, if the connection has such frames. The caller holds mu.
func (c *conn) appendClose(code uint16, reason string) {
	if !c.prefixed {
		p := binary.BigEndian.AppendUint16(nil, code)
		p = append(p, reason[:min(len(reason), 100)]...)
		c.appendFrame(opClose, p)
	}
	c.advance(stateClosing)
	c.queueWrite()
}

// hangUp ends the connection at once.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort()
}

// abort is hangUp for a caller that holds mu.
func (c *conn) abort() {
	if c.advance(stateAborted) {
		c.transport.hangUp(c)
	}
}

// takeOutput returns the pending output, nil if there is none. The caller holds mu, is the only writer, and frees the buffer.
func (c *conn) takeOutput() *buffer {
	if c.receiver == nil && c.needsHint && c.out == nil && c.state == stateReady && c.withheld == nil { // after the answers of syncs, which do not contain the dropped events
		c.needsHint = false
		op, b := c.encode(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{}})
		c.appendFrame(op, b)
	}
	c.appendGrowth()
	if c.out == nil {
		return nil
	}
	c.sealFrame()
	b := c.out
	c.out = nil
	return b
}

// resumeReading resumes paused reading once the limits allow it. The caller holds mu.
func (c *conn) resumeReading() {
	c.releaseAnswers(c.pending())
	if c.reads == readPaused && c.state == stateReady && !c.decodingAsync && c.throttledUntil == 0 && c.hasWindow() && c.pending() < hintAbove {
		c.reads = readOn
		c.lastInput.Store(c.server.now.Load())             // nothing was read: the time of silence begins again
		if begun := c.incompleteSince.Load(); begun != 0 { // the server did not read: the deadline restarts
			c.incompleteSince.CompareAndSwap(begun, c.server.now.Load())
		}
		c.transport.setReading(c, true)
	}
}

// onClosed is called once by the transport, when it no longer reads or writes.
func (c *conn) onClosed() {
	c.reading.Lock()
	c.in.drop()
	if u := c.sender.Load(); u != nil { // it stays: sends may be in flight
		c.server.senders.leave(u)
	}
	c.reading.Unlock()
	c.slot.Release()
	c.mu.Lock()
	c.advance(stateClosed)
	watches, watchesPosts := c.readersTurn > 0, c.postsTurn > 0
	large, rooms := c.follows, c.rooms
	c.follows, c.followsAbove, c.rooms = nil, nil, nil
	c.releaseAnswers(0)
	if c.activeCalls != nil {
		c.activeCalls.end()
	}
	if c.out != nil {
		c.out.free()
		c.out = nil
	}
	c.mu.Unlock()
	c.leaveQueue() // nobody enters it now
	if h := c.held.Load(); h != nil {
		h.end()
	}
	if watches {
		c.server.deps.Inbox.UnwatchReaders(c)
	}
	if watchesPosts {
		c.server.deps.Posts.UnwatchPosts(c)
	}
	for r := range rooms {
		c.server.deps.Rooms.Leave(r, c)
	}
	for _, l := range large {
		s := c.server.hub.conversation(l)
		s.mu.Lock()
		c.server.hub.drop(s, c, l)
		s.mu.Unlock()
	}
	c.registering.Lock()
	if c.registration == registered {
		c.server.hub.remove(c)
		c.server.deps.Directory.Disconnected(c.caller, c.away)
	}
	c.registration = deregistered
	c.registering.Unlock()
	if _, own := c.transport.(*netTransport); own || c.receiver != nil {
		c.server.stats.Streams.Add(-1)
	}
	if c.receiver != nil {
		c.server.stats.Held.Add(-1)
	}
	c.server.stats.Connections.Add(-1)
}
