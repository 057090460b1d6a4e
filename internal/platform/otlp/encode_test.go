package otlp

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/platform/otlp/otlptest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

func contextOf(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{n, 15: 1}, SpanID: trace.SpanID{n, 7: 2}, TraceFlags: trace.FlagsSampled})
}

// All fields of spans arrive as OpenTelemetry's own types read them, compressed or not, and in each of several requests.
func TestSpansAreEncoded(t *testing.T) {
	r := otlptest.New(t)
	for _, compress := range []bool{false, true} {
		made, err := NewExporter(tracing.Config{Endpoint: r.Endpoint}, "n1", "v1", outgoing.New(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		by := made.(*exporter)
		if by.compress {
			t.Error("requests to this machine are compressed")
		}
		by.compress = compress
		full := &tracing.Ended{Name: "first", Kind: trace.SpanKindProducer, Self: contextOf(1), Parent: trace.SpanID{9}, Start: time.Unix(1_795_000_000, 7), End: time.Unix(1_795_000_001, 8),
			Message: id.MessageOf(1_795_000_000_000, 1, 2, 249812863164612608), Step: "pushed", Links: []trace.SpanContext{contextOf(2), contextOf(3)}, Failure: "unavailable busy",
			Attributes: []attribute.KeyValue{attribute.String("text", "a ü"), attribute.Int64("number", -3), attribute.Bool("yes", true), attribute.Bool("no", false), attribute.Float64("real", 1.5), attribute.String("empty", "")}}
		for range 2 {
			if err := by.Export(context.Background(), []*tracing.Ended{full, {Name: "second", Kind: trace.SpanKindInternal, Self: contextOf(4), Start: time.Unix(1, 0), End: time.Unix(2, 0)}}); err != nil {
				t.Fatal(err)
			}
		}
		by.Close()
	}
	got := r.Spans()
	first := otlptest.Span{Node: "n1", Name: "first", Trace: contextOf(1).TraceID().String(), ID: contextOf(1).SpanID().String(), Parent: "0900000000000000", Failed: true, Start: 1_795_000_000_000_000_007, End: 1_795_000_001_000_000_008,
		Links:      []otlptest.Link{{Trace: contextOf(2).TraceID().String(), ID: contextOf(2).SpanID().String()}, {Trace: contextOf(3).TraceID().String(), ID: contextOf(3).SpanID().String()}},
		Attributes: map[string]string{"text": "a ü", "number": "-3", "yes": "true", "no": "false", "real": "1.5", "empty": "", "rialto.message.id": id.MessageOf(1_795_000_000_000, 1, 2, 249812863164612608).String(), "rialto.step": "pushed"}}
	second := otlptest.Span{Node: "n1", Name: "second", Trace: contextOf(4).TraceID().String(), ID: contextOf(4).SpanID().String(), Start: 1e9, End: 2e9, Attributes: map[string]string{}}
	if len(got) != 8 {
		t.Fatalf("received %d spans", len(got))
	}
	for i, s := range got {
		if want := []otlptest.Span{first, second}[i%2]; !reflect.DeepEqual(s, want) {
			t.Errorf("span %d: received %+v, want %+v", i, s, want)
		}
	}
}

// BenchmarkEncode is what a span costs until it is sent.
func BenchmarkEncode(b *testing.B) {
	e := newEncoder("n1", "v1")
	var spans []*tracing.Ended
	for range 512 {
		spans = append(spans, &tracing.Ended{Name: "message.fan_out", Kind: trace.SpanKindProducer, Self: contextOf(1), Parent: trace.SpanID{9}, Start: time.Now(), End: time.Now(),
			Message: id.MessageOf(1_795_000_000_000, 1, 2, 249812863164612608), Step: "fanned_out", Links: []trace.SpanContext{contextOf(2)}, Attributes: []attribute.KeyValue{attribute.Int64("rialto.inboxes", 2)}})
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(spans) {
		b.SetBytes(int64(len(e.encode(spans))) / int64(len(spans)))
	}
}
