package tracing

import (
	"context"
	"math/rand/v2"

	"github.com/rialto-im/rialto/internal/base/errs"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span of something that is going on. A nil Span does nothing.
type Span struct{ span trace.Span }

// Root begins the trace of a request or a job, if it is sampled. parent is the caller's header traceparent; "" if there is none.
func (t *Tracer) Root(ctx context.Context, name string, kind trace.SpanKind, parent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var caller trace.SpanContext
	if parent != "" {
		caller = contextOf(parent)
	}
	if t.trust && caller.IsValid() {
		if !caller.IsSampled() {
			return ctx, nil
		}
		return t.begin(trace.ContextWithRemoteSpanContext(ctx, caller), name, trace.WithSpanKind(kind))
	}
	low := rand.Uint64()
	if !t.sampled(low) {
		return ctx, nil
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(kind)}
	if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	inner, span := t.begin(withIDs{ctx, newSpan(traceID(rand.Uint64(), low))}, name, options...)
	return withoutIDs{inner}, span
}

func (t *Tracer) begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, &Span{span}
}

// withoutIDs hides the ids that a span was to have from the spans within it.
type withoutIDs struct{ context.Context }

// Value implements context.Context.
func (c withoutIDs) Value(key any) any {
	if key == (idsKey{}) {
		return nil
	}
	return c.Context.Value(key)
}

// Start begins a span within that of ctx. Without one that is sampled, it returns ctx and nil.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, &Span{span}
}

// Active reports whether ctx has a span that is sampled.
func Active(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Current returns the sampled span of ctx; nil if there is none.
func Current(ctx context.Context) *Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return &Span{span}
	}
	return nil
}

// ContextOf returns the context of the sampled span of ctx, for links to it; nil if there is none.
func ContextOf(ctx context.Context) *trace.SpanContext {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return nil
	}
	of := span.SpanContext()
	return &of
}

// Adopt returns ctx with the sampled span of another context, or ctx if that has none: for what is done for a caller, but does not end with its
// context.
func Adopt(ctx, of context.Context) context.Context {
	span := trace.SpanFromContext(of)
	if !span.IsRecording() {
		return ctx
	}
	return trace.ContextWithSpan(ctx, span)
}

// TraceID returns the id of the trace, in hexadecimal digits; "" if there is none.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// Int adds a number to the span.
func (s *Span) Int(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// Text adds a text to the span: a name or an id, never contents.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// End ends the span with the error of what it is about, or nil.
func (s *Span) End(err error) {
	if s != nil {
		setError(s.span, err)
		s.span.End()
	}
}

// Parent returns the header traceparent for a request of ctx to another server of the operator; "" if ctx has no sampled span.
func Parent(ctx context.Context) string {
	if !Active(ctx) {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

type parentKey struct{}

// WithParent returns ctx with the traceparent of a caller, for who begins the trace of the call. "" is none.
func WithParent(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return context.WithValue(ctx, parentKey{}, parent)
}

// ParentOf returns what WithParent has set; "" if there is none.
func ParentOf(ctx context.Context) string {
	parent, _ := ctx.Value(parentKey{}).(string) // there is no other type
	return parent
}

// maxParent bounds the header in bytes. Version 00 has 55.
const maxParent = 256

// contextOf reads a header traceparent; zero if it is not valid.
func contextOf(parent string) trace.SpanContext {
	if len(parent) > maxParent {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent}))
}

// reasonOf is what spans have of an error: its kind and reason; "" if there is none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	e := errs.Of(err)
	if e.Reason == "" {
		return e.Kind.String()
	}
	return e.Kind.String() + " " + e.Reason
}
