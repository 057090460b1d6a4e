package gateway

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
)

// The fast path decodes frames with only sends, an acknowledgement and marks without allocation. All other frames use the generated code
// (handle.go); a fuzz test compares the two.

// Tags of a ClientFrame's fields that the fast path knows.
const (
	tagSends = 3<<3 | 2
	tagAck   = 4<<3 | 2
	tagMarks = 5<<3 | 2
)

var drafts = sync.Pool{New: func() any { return new(message.Draft) }}

// handleFast handles a frame if it is simple; else it does nothing and ok is false.
func (c *conn) handleFast(p []byte) (ok bool, err error) {
	if len(p) == 0 || !c.isReady() {
		return false, nil
	}
	sends, acks, marks := 0, 0, 0
	for b := p; len(b) > 0; {
		t := b[0]
		v, rest, fine := cutField(b[1:])
		if !fine {
			return false, nil
		}
		b = rest
		switch t {
		case tagSends:
			var s sendFields
			if !s.decode(v) || s.clientSeq == 0 {
				return false, nil
			}
			sends++
		case tagAck, tagMarks:
			var n [3]uint64
			if !decodeVarints(v, &n) {
				return false, nil
			}
			if t == tagMarks {
				marks++
			} else {
				acks++
			}
		default:
			return false, nil
		}
		if sends > inputlimit.MaxSends || marks > inputlimit.MaxMarks {
			return false, inputlimit.ErrSends
		}
		if acks > 1 { // they are one
			return false, nil
		}
	}
	c.chargeFrame(sends, marks, len(p))
	for b := p; len(b) > 0; {
		t := b[0]
		v, rest, _ := cutField(b[1:])
		b = rest
		switch t {
		case tagSends:
			var s sendFields
			s.decode(v)
			d := drafts.Get().(*message.Draft)
			content := append(d.Content[:0], s.content...)
			*d = message.Draft{Conversation: id.Conversation(s.conversation), ClientSeq: s.clientSeq, ClientMsgID: string(s.clientMsgID), PrevClientSeq: s.prevClientSeq, Content: content}
			c.submit(d)
		case tagAck:
			var n [3]uint64
			decodeVarints(v, &n)
			c.server.deps.Inbox.Ack(c.caller, message.Position(n[1]))
		case tagMarks:
			var n [3]uint64
			decodeVarints(v, &n)
			c.server.deps.Inbox.Mark(c.caller.User, id.Conversation(n[0]), n[1], n[2])
		}
	}
	return true, nil
}

// submit hands a draft to chat. Reading stops while a connection has too many in flight.
func (c *conn) submit(d *message.Draft) {
	d.Sender, d.Device, d.Network, d.Done, d.Context = c.caller.User, c.caller.Device, c.network, onStored, c
	c.server.stats.Sends.Add(1)
	d.Cost, d.Accepted, d.Sent = len(d.Content), time.Since(c.server.opened), d.Content
	c.turns++
	d.Turn = c.turns
	full := c.addInFlight(d.Cost)
	if h := c.held.Load(); h == nil || !h.enqueueBehind(d) {
		d.OnPark = onPark
		c.server.deps.Chat.Submit(d)
	}
	if full && c.isFull() {
		c.mu.Lock()
		if !c.isEnding() {
			c.pauseReading()
			c.resumeReading() // the receipts that would resume it may have come already
		}
		c.mu.Unlock()
	}
}

// onStored is the Done of every draft that is not held.
func onStored(d *message.Draft) {
	c := d.Context.(*conn)
	switch {
	case d.Err == nil:
		c.server.outages.recordSuccess(d.Conversation)
		c.receipt(d)
	case !c.hold(d):
		c.receipt(d)
		c.server.requestFlush(c) // a refusal may come without a batch of the log
	}
	recycle(d)
}

// recycle keeps a draft for the next send.
func recycle(d *message.Draft) {
	if d.Sent = nil; cap(d.Content) <= 4096 {
		drafts.Put(d)
	}
}

// cutField cuts a length-delimited value off b.
func cutField(b []byte) (v, rest []byte, ok bool) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, false
	}
	return b[k : k+int(n)], b[k+int(n):], true
}

type sendFields struct {
	conversation, clientSeq, prevClientSeq uint64
	clientMsgID, content                   []byte
}

// decode reads a Send whose fields come once each, in rising order.
func (s *sendFields) decode(b []byte) bool {
	last := byte(0)
	for len(b) > 0 {
		t := b[0]
		if t <= last {
			return false
		}
		last = t
		b = b[1:]
		switch t {
		case 1 << 3, 2 << 3, 5 << 3:
			v, k := binary.Uvarint(b)
			if k <= 0 {
				return false
			}
			b = b[k:]
			switch t {
			case 1 << 3:
				s.conversation = v
			case 2 << 3:
				s.clientSeq = v
			default:
				s.prevClientSeq = v
			}
		case 3<<3 | 2, 4<<3 | 2:
			v, rest, ok := cutField(b)
			if !ok {
				return false
			}
			b = rest
			if t == 3<<3|2 {
				s.clientMsgID = v
			} else {
				s.content = v
			}
		default:
			return false
		}
	}
	// A client's id is text; the generated code checks its encoding.
	return len(s.clientMsgID) == 0
}

// decodeVarints decodes a message of up to three varint fields, once each, in rising order.
func decodeVarints(b []byte, n *[3]uint64) bool {
	last := byte(0)
	for len(b) > 0 {
		t := b[0]
		v, k := binary.Uvarint(b[1:])
		if k <= 0 || t&7 != 0 || t <= last || t > 3<<3 {
			return false
		}
		last = t
		n[t>>3-1] = v
		b = b[1+k:]
	}
	return true
}
