package tracing

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Ended is a span that has ended. Those of messages are made at once in this form, which costs a fraction of a span of OpenTelemetry's SDK.
type Ended struct {
	Name       string
	Kind       trace.SpanKind
	Self       trace.SpanContext
	Parent     trace.SpanID // zero: none
	Start, End time.Time
	// Message and Step of the span of a message; zero for others.
	Message    id.Message
	Step       string
	Attributes []attribute.KeyValue
	Links      []trace.SpanContext
	// Failure is the kind and the reason of an error; "" if there was none.
	Failure string
}

// Exporter sends spans.
type Exporter interface {
	// Export sends spans, which it must not keep. They are lost if it fails; with a *Rejected only some are.
	Export(ctx context.Context, spans []*Ended) error
	// Close is called once no more spans will come.
	Close()
}

// endedOf is the form of a span of the SDK.
func endedOf(s sdktrace.ReadOnlySpan) *Ended {
	e := &Ended{Name: s.Name(), Kind: s.SpanKind(), Self: s.SpanContext(), Parent: s.Parent().SpanID(), Start: s.StartTime(), End: s.EndTime(), Attributes: s.Attributes()}
	for _, l := range s.Links() {
		e.Links = append(e.Links, l.SpanContext)
	}
	if s.Status().Code == codes.Error {
		e.Failure = s.Status().Description
	}
	return e
}
