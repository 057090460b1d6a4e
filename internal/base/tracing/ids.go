package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/rialto-im/rialto/internal/base/id"
	"go.opentelemetry.io/otel/trace"
)

// TraceOf returns the id of the trace of a message. It follows from the message's id, on all nodes and in all releases.
func TraceOf(m id.Message) trace.TraceID {
	high, low := traceOf(m)
	return traceID(high, low)
}

func traceOf(m id.Message) (high, low uint64) {
	const golden = 0x9e3779b97f4a7c15
	first, last := binary.BigEndian.Uint64(m[:8]), uint64(binary.BigEndian.Uint16(m[8:]))
	low = id.Hash(first ^ id.Hash(last+golden))
	return id.Hash(first + low + golden), low
}

// Samples reports whether a message is traced.
func (t *Tracer) Samples(m id.Message) bool {
	if t == nil {
		return false
	}
	_, low := traceOf(m)
	return t.sampled(low)
}

func traceID(high, low uint64) (out trace.TraceID) {
	binary.BigEndian.PutUint64(out[:8], high)
	binary.BigEndian.PutUint64(out[8:], low|1) // no id is zero
	return out
}

func spanID(n uint64) (out trace.SpanID) {
	if n == 0 {
		n = 1
	}
	binary.BigEndian.PutUint64(out[:], n)
	return out
}

// stepID is the id of the span of a step of a message that spans of other nodes name as their parent.
func stepID(of trace.TraceID, s Step) trace.SpanID {
	return spanID(id.Hash(binary.BigEndian.Uint64(of[8:]) ^ id.Hash(uint64(s))))
}

func spanContext(of trace.TraceID, span trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: span, TraceFlags: trace.FlagsSampled})
}

// newSpan is the context of a span with a random id, in a trace.
func newSpan(of trace.TraceID) trace.SpanContext { return spanContext(of, spanID(rand.Uint64())) }

// newTrace is the context of the first span of a random trace.
func newTrace() trace.SpanContext { return newSpan(traceID(rand.Uint64(), rand.Uint64())) }

// withIDs is a context of a span that is to have certain ids.
type withIDs struct {
	context.Context
	span trace.SpanContext
}

type idsKey struct{}

// Value implements context.Context.
func (c withIDs) Value(key any) any {
	if key == (idsKey{}) {
		return c.span
	}
	return c.Context.Value(key)
}

// ids gives spans the ids of their contexts, or else random ones.
type ids struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	span, ok := ctx.Value(idsKey{}).(trace.SpanContext)
	if !ok {
		span = newTrace()
	}
	return span.TraceID(), span.SpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if span, ok := ctx.Value(idsKey{}).(trace.SpanContext); ok {
		return span.SpanID()
	}
	return spanID(rand.Uint64())
}
