package gateway

import (
	"bytes"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	// inlineElements is how many elements a frame has at most that is decoded where all connections are read. They take about a millisecond. A larger frame
	// is decoded in another goroutine, and its connection is not read meanwhile.
	inlineElements = 1024
	// freeElements of a frame cost nothing, nor do elementsPerSend of each message in it. Each further one costs as much as bytesPerElement bytes: so many
	// bytes of a text are decoded in the same time.
	freeElements    = 1024
	elementsPerSend = 16
	bytesPerElement = 256
)

// handleComplete decodes a message of an authenticated connection, and handles it.
func (c *conn) handleComplete(p []byte, compressed bool) error {
	counted, err := c.count(p)
	if err != nil {
		return c.rejectFrame(err)
	}
	if counted.Elements-counted.BodyElements > inlineElements {
		return c.startDecode(bytes.Clone(p), compressed)
	}
	f, err := c.decode(p, counted)
	return c.handleDecoded(f, err, len(p), counted.Elements, compressed)
}

// handleDecoded charges a frame and handles it, or rejects it if it could not be decoded. A frame that came compressed has its bytes charged already.
func (c *conn) handleDecoded(f *gatewayv1.ClientFrame, err error, bytes, elements int, compressed bool) error {
	if err != nil {
		c.countBytes(max(elements-freeElements, 0) * bytesPerElement)
		return c.rejectFrame(err)
	}
	cost := max(elements-freeElements-elementsPerSend*len(f.Sends), 0) * bytesPerElement
	if !compressed && len(f.Sends) == 0 {
		cost += bytes
	}
	if cost > 0 && c.isReady() {
		c.countBytes(cost)
	}
	return c.handle(f, bytes)
}

// startDecode has a large frame decoded in another goroutine. What the connection sends after it waits.
func (c *conn) startDecode(p []byte, compressed bool) error {
	var hold budget.Hold
	if !hold.Set(c.server.deps.Input.Authenticated, c.owner(), len(p)) {
		return inputlimit.ErrBusy
	}
	c.mu.Lock()
	c.pauseReading()
	c.decodingAsync = true
	c.mu.Unlock()
	c.server.serving.Go(func() {
		defer hold.Release()
		c.decodeAsync(p, false, compressed)
	})
	return nil
}

// decodeAsync decodes and handles a frame that the connection waits for: the first one, whose credentials were accepted, or a large one. It then handles
// the frames behind it, and resumes reading. Few large frames are decoded at once: decoding takes some hundred bytes of memory for each element.
func (c *conn) decodeAsync(p []byte, first, compressed bool) {
	s := c.server
	var f *gatewayv1.ClientFrame
	counted, err := c.count(p)
	if err == nil && counted.Elements-counted.BodyElements > inlineElements {
		select {
		case s.decoders <- struct{}{}:
			defer func() { <-s.decoders }()
		case <-s.ctx.Done():
			return
		}
	}
	if err == nil && c.isReady() {
		if f, err = c.decode(p, counted); err == nil && first {
			f.Auth = nil
		}
	}
	c.reading.Lock() // until the reading goroutine has stored the bytes behind the frame
	defer c.reading.Unlock()
	if !c.isReady() {
		c.in.drop() // it closes: nothing that it sent is of use
		return
	}
	c.mu.Lock()
	c.decodingAsync = false
	c.mu.Unlock()
	if err := c.handleDecoded(f, err, len(p), counted.Elements, compressed); err != nil {
		c.closeForError(err)
		return
	}
	c.resumeLocked()
}

// resumeLocked handles the frames that were read while the connection was not, and resumes reading. The caller holds reading.
func (c *conn) resumeLocked() {
	came := c.in.partial
	c.in.partial, c.in.frameSize = nil, 0
	c.readLocked(came)
	c.mu.Lock()
	c.resumeReading()
	c.mu.Unlock()
	c.server.requestFlush(c)
}
