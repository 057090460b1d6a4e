package gateway

import "encoding/binary"

// Receipts and events that wait are merged into frames, in order. In protobuf, the fields of several frames are one frame. In JSON a merged
// frame is one list: several receipts, or several events.

// maxMergedFrame bounds a merged frame.
const maxMergedFrame = 60_000

// jsonList is the list that an open frame is in JSON.
type jsonList uint8

const (
	listNone jsonList = iota // an open frame in protobuf
	listReceipts
	listEvents
)

var jsonListStart = [...]string{listReceipts: `{"receipts":[`, listEvents: `{"events":[`}

const jsonListEnd = "]}"

// reserveField prepares the open frame for a field of n bytes. The caller holds mu.
func (c *conn) reserveField(n int) *buffer {
	c.ensureBuffer()
	if c.frameAt >= 0 && len(c.out.b)-c.frameAt+n > maxMergedFrame {
		c.sealFrame()
	}
	switch {
	case c.frameAt >= 0:
	case n > maxMergedFrame:
		c.out.b = c.appendHeader(c.out.b, opBinary, n)
	default:
		c.openFrame(opBinary, listNone)
	}
	return c.out
}

// appendFields appends whole fields of a ServerFrame. The caller holds mu.
func (c *conn) appendFields(fields []byte) {
	o := c.reserveField(len(fields))
	o.b = append(o.b, fields...)
}

// appendJSONItem appends an object to the open list of its kind. The caller holds mu.
func (c *conn) appendJSONItem(list jsonList, object []byte) {
	c.ensureBuffer()
	if c.frameAt >= 0 && (c.frameList != list || len(c.out.b)-c.frameAt+len(object) > maxMergedFrame) {
		c.sealFrame()
	}
	switch start := jsonListStart[list]; {
	case c.frameAt >= 0:
		c.out.b = append(c.out.b, ',')
	case len(object) > maxMergedFrame:
		c.out.b = c.appendHeader(c.out.b, opText, len(start)+len(object)+len(jsonListEnd))
		c.out.b = append(append(append(c.out.b, start...), object...), jsonListEnd...)
		return
	default:
		c.openFrame(opText, list)
		c.out.b = append(c.out.b, start...)
	}
	c.out.b = append(c.out.b, object...)
}

// openFrame opens a frame whose length is not known yet. The caller holds mu.
func (c *conn) openFrame(op byte, list jsonList) {
	c.frameAt, c.frameList = len(c.out.b), list
	c.out.b = append(c.out.b, finalBit|op, 126, 0, 0) // lengthSize bytes, too
}

// sealFrame ends the open frame. The caller holds mu.
func (c *conn) sealFrame() {
	if c.frameAt < 0 || c.out == nil {
		return
	}
	if c.frameList != listNone {
		c.out.b = append(c.out.b, jsonListEnd...)
	}
	b, at := c.out.b, c.frameAt
	c.frameAt = -1
	n := len(b) - at - 4
	if c.prefixed {
		binary.BigEndian.PutUint32(b[at:], uint32(n))
		return
	}
	if n < 126 { // the shortest form of a length is the only one allowed
		b[at+1] = byte(n)
		copy(b[at+2:], b[at+4:])
		c.out.b = b[:len(b)-2]
		return
	}
	binary.BigEndian.PutUint16(b[at+2:], uint16(n))
}
