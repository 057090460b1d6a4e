package bench

import (
	"encoding/binary"
	"fmt"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxInFlight is the number of messages of a connection that wait for receipts; a server reads no more than 1,024 (docs/protocol.md).
	maxInFlight = 1000
	// frameSends and frameBytes limit a frame of messages that are sent again.
	frameSends = 512
	frameBytes = 256 << 10
)

// write writes a frame, if there is a connection. The reading goroutine notices when the connection breaks, and reconnects. The caller
// holds writes.
func (c *client) write(payload []byte) {
	if c.down {
		return
	}
	if err := c.sock.write(payload); err != nil {
		c.down = true
		_ = c.sock.close() // ends the reader
	}
}

// receipt handles one answer to a send. The caller holds writes.
func (c *client) receipt(b []byte) error {
	number, seq, failed, err := fields(b, 2, 5, 9)
	if err != nil {
		return err
	}
	n := number - c.seqBase
	if n == 0 || n > uint64(c.next) {
		return fmt.Errorf("a receipt for a message that was not sent: %d", number)
	}
	if failed != nil {
		return c.refused(failed)
	}
	if c.acked.has(uint32(n)) {
		if c.resent == 0 {
			c.violations.reordered++
		}
		return nil // a resent message has two receipts
	}
	c.waiting--
	c.ack.add(time.Since(c.inFlight[n%uint64(len(c.inFlight))]))
	// The receipt of a resent message may follow those of newer ones; the histories show whether it was stored in order.
	if uint32(n) > c.repeatedTo && (uint32(n) < c.acked.highest || seq <= c.lastSeq) {
		c.violations.reordered++
	}
	c.acked.add(uint32(n))
	for c.acked.has(c.ackedTo + 1) {
		c.ackedTo++
	}
	c.lastSeq = max(c.lastSeq, seq)
	c.to.acked.Add(1)
	for top := c.to.top.Load(); seq > top && !c.to.top.CompareAndSwap(top, seq); top = c.to.top.Load() {
	}
	return nil
}

// refused handles the error of a receipt: a retryable message is sent again, with all later ones.
func (c *client) refused(b []byte) error {
	var e gatewayv1.Error
	if err := proto.Unmarshal(b, &e); err != nil {
		return err
	}
	if e.RetryMs == 0 {
		return fmt.Errorf("a send was refused: %s: %s", e.Reason, e.Message)
	}
	c.retryAt = time.Now().Add(time.Duration(e.RetryMs) * time.Millisecond)
	return nil
}

// retry sends refused messages again when it is time. The caller holds writes.
func (c *client) retry(now time.Time) {
	if !c.retryAt.IsZero() && now.After(c.retryAt) {
		c.retryAt = time.Time{}
		c.sent = c.ackedTo
		c.sendPending()
	}
}

// refill sends messages until the window is full. The caller holds writes.
func (c *client) refill() {
	switch {
	case c.to == nil:
	case c.stopped || c.load.config.rate > 0 || c.load.config.whole:
		c.sendPending() // messages that did not fit in the window before
	default:
		c.send(c.load.config.window-c.waiting, time.Time{})
	}
}

// send creates messages and sends those that fit in the window. The caller holds writes. due is the intended send time; zero is now.
func (c *client) send(count int, due time.Time) {
	if due.IsZero() {
		due = time.Now()
	}
	for range count {
		c.next++
		c.waiting++
		c.inFlight[uint64(c.next)%uint64(len(c.inFlight))] = due
	}
	c.sendPending()
}

// sendPending writes messages that were not yet written to this connection, oldest first. A resent message has the same number and text.
// The caller holds writes.
func (c *client) sendPending() {
	if c.down || !c.retryAt.IsZero() {
		return
	}
	for c.sent < c.next && c.sent-c.ackedTo < maxInFlight {
		b, count := c.frame[:0], 0
		for c.sent < c.next && c.sent-c.ackedTo < maxInFlight && count < frameSends && len(b) < frameBytes {
			c.sent++
			if c.acked.has(c.sent) {
				continue
			}
			if c.sent <= c.written {
				c.resent++
				c.repeatedTo = max(c.repeatedTo, c.sent)
			}
			c.written = max(c.written, c.sent)
			b = c.appendSend(b, c.sent)
			count++
		}
		c.frame = b
		if count > 0 {
			c.write(b)
		}
	}
}

// appendSend appends message n as a field of a ClientFrame.
func (c *client) appendSend(b []byte, n uint32) []byte {
	text := c.load.corpus.appendText(c.text[:0], c.number, n, c.inFlight[uint64(n)%uint64(len(c.inFlight))].UnixNano())
	one := append(c.one[:0], 1<<3)
	one = binary.AppendUvarint(one, c.to.id)
	one = append(one, 2<<3)
	one = binary.AppendUvarint(one, c.seqBase+uint64(n))
	one = append(one, 4<<3|2)
	one = binary.AppendUvarint(one, uint64(1+uvarintLen(len(text))+len(text)))
	one = append(one, 1<<3|2)
	one = binary.AppendUvarint(one, uint64(len(text)))
	one = append(one, text...)
	b = append(b, 3<<3|2)
	b = binary.AppendUvarint(b, uint64(len(one)))
	c.one, c.text = one, text
	return append(b, one...)
}

func uvarintLen(n int) int {
	k := 1
	for n >= 0x80 {
		n >>= 7
		k++
	}
	return k
}
