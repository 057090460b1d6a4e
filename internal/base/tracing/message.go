package tracing

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Step in the life of a message: a span of its trace. Where rialto where shows when a step was complete, the attribute rialto.step has its name
// there.
type Step uint8

// The steps.
const (
	// Send is from the message's arrival until its sender is answered.
	Send Step = 1 + iota
	// Commit is from the append until the message is durable.
	Commit
	// Dispatch finds the audience and queues the message for it.
	Dispatch
	// FanOut appends references to the inboxes of members, or begins a broadcast to the nodes with followers.
	FanOut
	// Push queues the message on the connections of one node.
	Push
	// Write writes it to one connection.
	Write
	// Notify attempts to send a push notification.
	Notify
)

// steps by their numbers. A step that is named as a parent has an id that follows from the message's, so it happens once for each message.
var steps = [...]struct {
	name, step string
	parent     Step
	named      bool
	kind       trace.SpanKind
}{
	Send:     {"message.send", "accepted", 0, true, trace.SpanKindServer},
	Commit:   {"message.commit", "committed", Send, false, trace.SpanKindInternal},
	Dispatch: {"message.dispatch", "", Send, true, trace.SpanKindInternal},
	FanOut:   {"message.fan_out", "fanned_out", Dispatch, false, trace.SpanKindProducer},
	Push:     {"message.push", "pushed", Dispatch, false, trace.SpanKindConsumer},
	Write:    {"message.write", "", Dispatch, false, trace.SpanKindInternal},
	Notify:   {"message.notify", "notified", Dispatch, false, trace.SpanKindClient},
}

// StepSpan is a step of a sampled message that is complete.
type StepSpan struct {
	Message id.Message
	Step    Step
	Began   time.Time
	Ended   time.Time // zero: now
	// Self is what NewStep returned; zero: an id of its own.
	Self trace.SpanContext
	// Parent is another than that of the step; zero: none.
	Parent trace.SpanContext
	// Again: the message was there already, so this is not its first such step.
	Again bool
	// Batch with which the message was handled; zero: none.
	Batch trace.SpanContext
	// Request that sent the message; nil: none.
	Request    *trace.SpanContext
	Attributes []attribute.KeyValue
	Err        error
}

// Now is the time; zero without a Tracer, so that nobody asks the clock for nothing.
func (t *Tracer) Now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// NewStep returns the context of a span of a sampled message, which Record records later.
func (t *Tracer) NewStep(m id.Message) trace.SpanContext { return newSpan(TraceOf(m)) }

// Record records a step of a sampled message, and returns its context. Call it only if Samples is true.
func (t *Tracer) Record(s StepSpan) trace.SpanContext {
	step, of := steps[s.Step], TraceOf(s.Message)
	if !s.Self.IsValid() {
		s.Self = newSpan(of)
		if step.named && !s.Again {
			s.Self = spanContext(of, stepID(of, s.Step))
		}
	}
	parent := s.Parent
	if !parent.IsValid() {
		if step.parent != 0 {
			parent = spanContext(of, stepID(of, step.parent))
		} else if s.Again {
			parent = spanContext(of, stepID(of, s.Step))
		}
	}
	e := &Ended{Name: step.name, Kind: step.kind, Self: s.Self, Parent: parent.SpanID(), Start: s.Began, End: s.Ended, Message: s.Message, Step: step.step, Attributes: s.Attributes, Failure: reasonOf(s.Err)}
	switch {
	case s.Batch.IsValid() && s.Request != nil:
		e.Links = []trace.SpanContext{s.Batch, *s.Request}
	case s.Batch.IsValid():
		e.Links = []trace.SpanContext{s.Batch}
	case s.Request != nil:
		e.Links = []trace.SpanContext{*s.Request}
	}
	t.record(e)
	return s.Self
}

// record queues a span. Without an end, it ends now.
func (t *Tracer) record(e *Ended) {
	if e.End.IsZero() {
		e.End = time.Now()
	}
	t.queue.add(e)
}

// setError marks a span as failed. The text of an error may quote what a client sent, so that only its kind and reason are recorded.
func setError(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, reasonOf(err))
	}
}
