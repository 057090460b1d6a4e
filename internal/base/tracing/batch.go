package tracing

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Batch is the span of what was done for many messages at once. It is recorded if one of them is sampled, and links to the spans of those. The zero
// Batch, which a nil Tracer returns, records nothing.
type Batch struct {
	tracer *Tracer
	name   string
	self   trace.SpanContext // made with the first link
	began  time.Time
	links  []trace.SpanContext
}

// Batch begins a batch.
func (t *Tracer) Batch(name string) Batch {
	if t == nil {
		return Batch{}
	}
	return Batch{tracer: t, name: name, began: time.Now()}
}

// On reports whether the batch may be recorded.
func (b *Batch) On() bool { return b.tracer != nil }

// Began is when the batch began.
func (b *Batch) Began() time.Time { return b.began }

// Context returns the context of the batch, for links to it. It is for batches with a sampled message only.
func (b *Batch) Context() trace.SpanContext {
	if !b.self.IsValid() {
		b.self = newTrace()
	}
	return b.self
}

// Add links the batch to the span of a sampled message; of more than 128 it links to the first ones.
func (b *Batch) Add(to trace.SpanContext) {
	b.Context()
	if len(b.links) < maxLinks {
		b.links = append(b.links, to)
	}
}

// Linked reports whether a message of the batch is sampled.
func (b *Batch) Linked() bool { return len(b.links) > 0 }

// Part records something that was done for the batch, if it has a sampled message so far.
func (b *Batch) Part(name string, kind trace.SpanKind, began time.Time, err error, attributes ...attribute.KeyValue) {
	if b.Linked() {
		b.tracer.record(&Ended{Name: name, Kind: kind, Self: newSpan(b.self.TraceID()), Parent: b.self.SpanID(), Start: began, Attributes: attributes, Failure: reasonOf(err)})
	}
}

// End records the batch, of so many messages, if one of them is sampled.
func (b *Batch) End(messages int) {
	if b.Linked() {
		b.tracer.record(&Ended{Name: b.name, Kind: trace.SpanKindInternal, Self: b.self, Start: b.began, Attributes: []attribute.KeyValue{attribute.Int("rialto.batch.messages", messages)}, Links: b.links})
	}
}

// Member is a message that is handled in a batch by somebody who does not know messages.
type Member struct {
	tracer *Tracer
	// Self is the span of the message that the batch links to.
	Self trace.SpanContext
	// Batch is set once the message was in one.
	Batch trace.SpanContext
}

// NewMember returns a Member for a sampled message.
func (t *Tracer) NewMember(m id.Message) *Member { return &Member{tracer: t, Self: t.NewStep(m)} }

// RecordBatch records a batch of so many messages, of which some are sampled, and tells them. Without them it does nothing.
func RecordBatch(name string, began time.Time, sampled []*Member, messages int) {
	if len(sampled) == 0 {
		return
	}
	b := Batch{tracer: sampled[0].tracer, name: name, began: began}
	for _, m := range sampled {
		b.Add(m.Self)
		m.Batch = b.self
	}
	b.End(messages)
}
