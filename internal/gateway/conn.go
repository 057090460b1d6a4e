package gateway

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// transport carries a connection's bytes.
type transport interface {
	// write has what is pending written, sooner or later; it does not block.
	write(c *conn)
	// read stops and restarts reading. The caller holds c.mu.
	read(c *conn, on bool)
	// hangUp ends the connection for both sides. The transport calls closed when it is done with it.
	hangUp(c *conn)
}

// conn is one connection. Its reading side belongs to the goroutine that reads; the writing side is guarded by mu.
type conn struct {
	server  *Server
	via     transport
	json    bool
	deflate bool
	shard   uint8  // its flusher
	fd      int32  // of the event loop's
	opened  uint32 // second
	caller  id.Caller
	next    *conn // of the same user; guarded by the hub

	last     atomic.Uint32 // second of the last input
	begun    atomic.Uint32 // second since which a message has not come whole, 0 without one
	inFlight atomic.Int32  // sends without a receipt
	underWay atomic.Int64  // bytes of them

	reading sync.Mutex // guards in: the reading goroutine's, but for the moment after the first frame's authentication. Before mu.
	in      inbound

	mu      sync.Mutex // guards all below
	out     *buffer    // nil while there is nothing to write
	frameAt int        // start of the frame that is still open in out, -1 without one
	rest    []byte     // of restOf: what the socket did not take yet
	restOf  *buffer
	stalled uint32           // second since which rest has not moved, 0 without rest
	answers int              // bytes of answers to calls that were put since nothing waited
	at      message.Position // the newest event of its stream that it was pushed, or told of
	running *running
	large   []id.Conversation // that it follows
	news    uint32            // counts what deliveries said of large
	judged  uint64            // the turn of the newest reading that large was compared with
	left    []id.Conversation // large ones that were left while the connection was greeted
	flags

	door    sync.Mutex // guards inside and outside, and is held while the rooms are told. Before mu and the hub's.
	inside  bool       // the rooms know the connection
	outside bool       // it is over: they must not get to know it any more
}

type flags struct {
	queued  bool // in the flusher's list
	writing bool // somebody writes
	paused  bool // nothing is read
	ready   bool // Hello was put
	missed  bool // an event came before Hello
	hint    bool // events were left out
	closing bool // nothing is put any more; hung up when all is written
	waits   bool // the socket is full; told when it takes more
	hungUp  bool
	gone    bool // torn down
}

type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 4096)} }}

func (b *buffer) free() {
	if cap(b.b) <= 128<<10 {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

func (c *conn) pending() int {
	n := len(c.rest)
	if c.out != nil {
		n += len(c.out.b)
	}
	return n
}

// mergeMost bounds a frame into which receipts and events are put together.
const mergeMost = 60_000

// open makes a buffer where there is none. The caller holds mu.
func (c *conn) open() {
	if c.out == nil {
		c.answers = min(c.answers, len(c.rest))
		c.out, c.frameAt = buffers.Get().(*buffer), -1
	}
}

// begin makes place for a field of n bytes in the frame that is open. The caller holds mu.
func (c *conn) begin(n int) *buffer {
	c.open()
	if c.frameAt >= 0 && len(c.out.b)-c.frameAt+n > mergeMost {
		c.seal()
	}
	switch {
	case c.frameAt >= 0:
	case n > mergeMost:
		c.out.b = appendHeader(c.out.b, opBinary, n, false)
	default:
		c.frameAt = len(c.out.b)
		c.out.b = append(c.out.b, finalBit|opBinary, 126, 0, 0)
	}
	return c.out
}

// seal ends the open frame. The caller holds mu.
func (c *conn) seal() {
	if c.frameAt < 0 || c.out == nil {
		return
	}
	b, at := c.out.b, c.frameAt
	c.frameAt = -1
	n := len(b) - at - 4
	if n < 126 { // the shortest form of a length is the only one allowed
		b[at+1] = byte(n)
		copy(b[at+2:], b[at+4:])
		c.out.b = b[:len(b)-2]
		return
	}
	binary.BigEndian.PutUint16(b[at+2:], uint16(n))
}

// alone appends a whole frame. The caller holds mu.
func (c *conn) alone(op byte, payload []byte) {
	c.open()
	c.seal()
	if c.deflate && len(payload) >= deflateFrom && op < 8 {
		if packed, ok := deflate(payload); ok {
			c.out.b = append(appendHeader(c.out.b, op, len(packed), true), packed...)
			return
		}
	}
	c.out.b = append(appendHeader(c.out.b, op, len(payload), false), payload...)
}

// queue has the connection written at the next Flush. The caller holds mu.
func (c *conn) queue() {
	if !c.queued {
		c.queued = true
		c.server.flush[c.shard].add(c)
	}
	if c.pending()-c.answers > maxPending && !c.closing {
		// Receipts and such, which cannot be left out, to one who sends and does not listen.
		c.server.stats.Slow.Add(1)
		c.closing = true
		c.hungUp = true
		c.via.hangUp(c)
	}
}

// receipt answers a send that is stored or refused.
func (c *conn) receipt(d *message.Draft) {
	c.inFlight.Add(-1)
	c.underWay.Add(-int64(d.Cost))
	c.server.stats.Receipts.Add(1)
	if d.Err != nil || c.json {
		c.frame(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{receiptOf(d)}})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	o := c.begin(160 + len(d.ClientMsgID))
	o.b = message.AppendReceiptProto(o.b, d)
	c.queue()
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

// errorOf gives an error's form in frames. Kinds become codes here and in rpc only.
func errorOf(err error) *gatewayv1.Error {
	e := errs.Of(err)
	return &gatewayv1.Error{Code: e.Kind.String(), Reason: e.Reason, Message: e.Message, RetryMs: uint32(min(e.Retry.Milliseconds(), math.MaxInt32))}
}

// event pushes one event. Too slow a connection gets a hint in place of events.
func (c *conn) event(at, prev message.Position, body *payload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = max(c.at, at) // by a hint at least
	if !c.admits() {
		return
	}
	if c.json {
		scratch := buffers.Get().(*buffer)
		scratch.b = appendEventJSON(scratch.b, at, prev, body)
		c.alone(opText, scratch.b)
		scratch.free()
	} else {
		o := c.begin(message.EventFieldLen(at, prev, body.proto))
		o.b = message.AppendEventField(o.b, 4, at, prev, body.proto)
	}
	c.queue()
}

// events pushes bytes that are whole fields of a ServerFrame; only to connections that speak protobuf.
func (c *conn) events(fields []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.admits() {
		return
	}
	o := c.begin(len(fields))
	o.b = append(o.b, fields...)
	c.queue()
}

// admits tells whether an event can be pushed. The caller holds mu.
func (c *conn) admits() bool {
	switch {
	case c.closing:
		return false
	case !c.ready:
		c.missed = true
		return false
	case c.hint:
		return false
	case c.pending() > hintPending:
		c.hint = true
		c.server.stats.Hints.Add(1)
		return false
	}
	c.server.stats.Events.Add(1)
	return true
}

// hintNow has the client pull. It gets what waits first.
func (c *conn) hintNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putHint()
}

// behind has the client pull, where it was not pushed what is at a position.
func (c *conn) behind(at message.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready && c.at < at {
		c.at = at
		c.putHint()
	}
}

// putHint has the next that is written be a hint. The caller holds mu.
func (c *conn) putHint() {
	switch {
	case c.closing || c.hint:
	case !c.ready:
		c.missed = true
	default:
		c.hint = true
		c.server.stats.Hints.Add(1)
		c.queue()
	}
}

// encode gives a frame's bytes in the connection's form.
func (c *conn) encode(f *gatewayv1.ServerFrame) (op byte, b []byte) {
	if c.json {
		b, err := protojson.Marshal(f)
		if err != nil {
			c.server.deps.Logger.Error("a frame cannot be encoded", "error", err)
			return opText, []byte("{}")
		}
		return opText, b
	}
	b, err := proto.Marshal(f)
	if err != nil {
		c.server.deps.Logger.Error("a frame cannot be encoded", "error", err)
	}
	return opBinary, b
}

// frame puts one frame.
func (c *conn) frame(f *gatewayv1.ServerFrame) {
	op, b := c.encode(f)
	c.raw(op, b)
}

// raw puts one frame's bytes.
func (c *conn) raw(op byte, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	c.alone(op, b)
	c.queue()
}

// errUnread answers calls of one who does not take the answers.
var errUnread = &errs.Error{Kind: errs.Exhausted, Reason: "unread_answers", Message: "read the answers that wait before asking for more", Retry: 1e9}

// answer puts the answer to a call, however long, unless earlier ones wait.
func (c *conn) answer(request uint64, op byte, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	if c.pending() > maxPending {
		op, b = c.encode(&gatewayv1.ServerFrame{Request: request, Error: errorOf(errUnread)})
		c.alone(op, b)
	} else {
		before := c.pending()
		c.alone(op, b)
		c.answers += c.pending() - before
	}
	c.queue()
}

// bye says why, and closes. What waits is still written.
func (c *conn) bye(code uint16, reason string, retry time.Duration) {
	op, b := c.encode(&gatewayv1.ServerFrame{Bye: &gatewayv1.Bye{Code: uint32(code), Reason: reason, RetryMs: uint32(retry.Milliseconds())}})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	c.alone(op, b)
	c.close(code, reason)
}

// close puts a WebSocket close frame. The caller holds mu.
func (c *conn) close(code uint16, reason string) {
	p := binary.BigEndian.AppendUint16(nil, code)
	p = append(p, reason[:min(len(reason), 100)]...)
	c.alone(opClose, p)
	c.closing = true
	c.queue()
}

// end hangs up at once.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	if !c.hungUp {
		c.hungUp = true
		c.via.hangUp(c)
	}
}

// take gives what is to be written now, nil for nothing. The caller holds mu, is the only writer, and frees the buffer.
func (c *conn) take() *buffer {
	if c.hint && c.out == nil && !c.closing {
		c.hint = false
		op, b := c.encode(&gatewayv1.ServerFrame{Hint: &gatewayv1.Hint{}})
		c.alone(op, b)
	}
	if c.out == nil {
		return nil
	}
	c.seal()
	b := c.out
	c.out = nil
	return b
}

// relax reads on where reading was stopped and there is room again. The caller holds mu.
func (c *conn) relax() {
	if c.paused && c.ready && !c.closing && c.inFlight.Load() < maxInFlight/2 && c.underWay.Load() < maxUnderWay/2 && c.pending() < hintPending {
		c.paused = false
		if begun := c.begun.Load(); begun != 0 { // we did not read: the time begins again
			c.begun.CompareAndSwap(begun, c.server.now.Load())
		}
		c.via.read(c, true)
	}
}

// closed is called once by the transport, when nothing will be read or written any more.
func (c *conn) closed() {
	c.mu.Lock()
	c.closing, c.gone = true, true
	large := c.large
	c.large = nil
	if c.running != nil {
		c.running.end()
	}
	if c.out != nil {
		c.out.free()
		c.out = nil
	}
	c.mu.Unlock()
	for _, l := range large {
		s := c.server.hub.conversation(l)
		s.mu.Lock()
		c.server.hub.drop(s, c, l)
		s.mu.Unlock()
	}
	c.door.Lock()
	c.outside = true
	if c.inside {
		c.server.hub.remove(c)
		c.server.deps.Presence.Disconnected(c.caller)
	}
	c.door.Unlock()
	c.server.stats.Connections.Add(-1)
}
