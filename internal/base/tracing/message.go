package tracing

import (
	"context"
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
	attributes := append(s.Attributes, attribute.String("rialto.message.id", s.Message.String()))
	if step.step != "" {
		attributes = append(attributes, attribute.String("rialto.step", step.step))
	}
	var links []trace.Link
	if s.Batch.IsValid() {
		links = append(links, trace.Link{SpanContext: s.Batch})
	}
	if s.Request != nil {
		links = append(links, trace.Link{SpanContext: *s.Request})
	}
	t.record(s.Self, parent, step.name, step.kind, s.Began, s.Ended, attributes, links, s.Err)
	return s.Self
}

// record records a span that is complete.
func (t *Tracer) record(self, parent trace.SpanContext, name string, kind trace.SpanKind, began, ended time.Time, attributes []attribute.KeyValue, links []trace.Link, err error) {
	ctx := context.Background()
	if parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(withIDs{ctx, self}, name, trace.WithSpanKind(kind), trace.WithTimestamp(began), trace.WithAttributes(attributes...), trace.WithLinks(links...))
	setError(span, err)
	if ended.IsZero() {
		span.End()
		return
	}
	span.End(trace.WithTimestamp(ended))
}

// setError marks a span as failed. The text of an error may quote what a client sent, so that only its kind and reason are recorded.
func setError(span trace.Span, err error) {
	if err == nil {
		return
	}
	text := reasonOf(err)
	span.SetStatus(codes.Error, text)
	span.SetAttributes(attribute.String("error.type", text))
}
