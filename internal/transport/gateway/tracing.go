package gateway

import (
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	// maxTracedWrites bounds the writes of a message that are recorded on a node.
	maxTracedWrites = 8
	// maxWritesOfConn bounds the recorded messages of one write to a connection.
	maxWritesOfConn = 16
)

// traceSend records the send of a sampled message, from its arrival to its receipt.
func (c *conn) traceSend(d *message.Draft, took time.Duration) {
	if d.ID == (id.Message{}) || d.Accepted == 0 { // refused before it had an id
		return
	}
	c.server.deps.Tracer.Record(tracing.StepSpan{Message: d.ID, Step: tracing.Send, Began: c.server.opened.Add(d.Accepted), Again: d.Duplicate, Err: d.Err,
		Attributes: []attribute.KeyValue{attribute.String("rialto.conversation", d.Conversation.String()), attribute.Int64("rialto.seq", int64(d.Seq)),
			attribute.String("rialto.sender", d.Sender.String()), attribute.String("rialto.device", d.Device.String())}})
	c.server.sends.Exemplar(took, tracing.TraceOf(d.ID).String())
}

// tracedPush is the push of a sampled message to connections of this node.
type tracedPush struct {
	message id.Message
	span    trace.SpanContext
	began   time.Time
	pushed  int          // connections; the deliverer's
	writes  atomic.Int32 // that are or will be recorded
}

// beginPush returns what is recorded of a push, nil if the message is not sampled, or is a control entry, which nobody sends.
func (d *deliverer) beginPush(e *message.Entry) *tracedPush {
	tracer := d.server.deps.Tracer
	if !tracer.Samples(e.ID) || e.Control {
		return nil
	}
	return &tracedPush{message: e.ID, span: tracer.NewStep(e.ID), began: time.Now()}
}

// endPush records a push if the message is sampled and somebody has got it here.
func (d *deliverer) endPush() {
	p := d.body.traced
	if p == nil || p.pushed == 0 {
		return
	}
	d.traced.Add(p.span)
	d.server.deps.Tracer.Record(tracing.StepSpan{Message: p.message, Step: tracing.Push, Self: p.span, Began: p.began, Batch: d.traced.Context(),
		Attributes: []attribute.KeyValue{attribute.Int("rialto.connections", p.pushed)}})
}

// notePushes counts connections on which a message was queued, if it is sampled.
func (d *deliverer) notePushes(n int) {
	if d.body.traced != nil {
		d.body.traced.pushed += n
	}
}

// queuedWrite is a message that waits for the flusher.
type queuedWrite struct {
	push *tracedPush
	at   time.Time
}

// traceWrite records the next write to the connection for a message, if it is sampled. The caller holds mu.
func (c *conn) traceWrite(p *tracedPush) {
	if p == nil || p.writes.Add(1) > maxTracedWrites {
		return
	}
	if c.traced == nil {
		c.traced = &[]queuedWrite{}
	}
	if len(*c.traced) < maxWritesOfConn {
		*c.traced = append(*c.traced, queuedWrite{p, time.Now()})
	}
}

// recordWrites records what was written.
func (c *conn) recordWrites(list *[]queuedWrite) {
	for _, w := range *list {
		c.server.deps.Tracer.Record(tracing.StepSpan{Message: w.push.message, Step: tracing.Write, Parent: w.push.span, Began: w.at,
			Attributes: []attribute.KeyValue{attribute.String("rialto.user", c.caller.User.String()), attribute.String("rialto.device", c.caller.Device.String())}})
	}
}
