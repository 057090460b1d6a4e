// Package tracingtest has a tracer for tests, which records everything.
package tracingtest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/tracing"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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
	t        testing.TB
	exporter *tracetest.InMemoryExporter
}

// New returns a Recorder.
func New(t testing.TB) *Recorder {
	r := &Recorder{t: t, exporter: tracetest.NewInMemoryExporter()}
	r.Tracer = tracing.New(tracing.Deps{Exporter: keeping{r.exporter}, Node: "test", Logger: slog.New(slog.DiscardHandler)}, tracing.Config{Endpoint: "http://127.0.0.1:1", Sample: 1})
	return r
}

// keeping is an exporter that keeps its spans when it is shut down.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

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
	all := r.exporter.GetSpans()
	names := map[trace.SpanID]string{}
	for _, s := range all {
		names[s.SpanContext.SpanID()] = s.Name
	}
	for _, s := range all {
		list = append(list, Span{s.Name, names[s.Parent.SpanID()], s.SpanContext.TraceID().String(), len(s.Links), attributesOf(s.Snapshot()), s.Status.Description})
	}
	return list
}

func attributesOf(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes() {
		out[string(a.Key)] = a.Value.Emit()
	}
	return out
}
