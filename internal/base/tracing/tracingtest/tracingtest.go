// Package tracingtest has a tracer for tests, which records everything.
package tracingtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/trace"
)

// Span is a span that has ended.
type Span struct {
	Name, Parent string // Parent is the name of the span that it is in, "" if there is none
	Trace        string
	Links        int
	// Attributes in text form.
	Attributes map[string]string
	// Failure is the kind and the reason of its error.
	Failure string
}

// Recorder records spans.
type Recorder struct {
	*tracing.Tracer
	t     testing.TB
	spans []*tracing.Ended
}

// New returns a Recorder.
func New(t testing.TB) *Recorder {
	r := &Recorder{t: t}
	r.Tracer = tracing.New(tracing.Deps{Exporter: (*exporter)(r), Logger: slog.New(slog.DiscardHandler)}, tracing.Config{Endpoint: "http://127.0.0.1:1", Sample: 1})
	return r
}

// exporter adds to the spans of a Recorder.
type exporter Recorder

func (e *exporter) Export(_ context.Context, spans []*tracing.Ended) error {
	e.spans = append(e.spans, spans...)
	return nil
}

func (e *exporter) Close() {}

// Root begins a trace.
func (r *Recorder) Root(name string) (context.Context, *tracing.Span) {
	return r.Tracer.Root(r.t.Context(), name, trace.SpanKindServer, "")
}

// Spans returns the spans that have ended so far, in the order in which they ended.
func (r *Recorder) Spans() (list []Span) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Run(ctx); err != nil {
		r.t.Fatal(err)
	}
	names := map[trace.SpanID]string{}
	for _, s := range r.spans {
		names[s.Self.SpanID()] = s.Name
	}
	for _, s := range r.spans {
		attributes := map[string]string{}
		for _, a := range s.Attributes {
			attributes[string(a.Key)] = a.Value.String()
		}
		list = append(list, Span{s.Name, names[s.Parent], s.Self.TraceID().String(), len(s.Links), attributes, s.Failure})
	}
	return list
}
