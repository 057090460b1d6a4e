package otlp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/platform/otlp"
	"github.com/rialto-im/rialto/internal/platform/otlp/otlptest"
	"google.golang.org/protobuf/encoding/protowire"
)

var message = id.MessageOf(1_795_000_000_000, 1, 2, 249812863164612608)

// send records so many steps of a message, exports them, and returns what became of them.
func send(t *testing.T, c tracing.Config, spans int) tracing.Stats {
	t.Helper()
	c.Sample = 1
	exporter, err := otlp.NewExporter(c, "n1", "v1", outgoing.New(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	tracer := tracing.New(tracing.Deps{Exporter: exporter, Logger: slog.New(slog.DiscardHandler)}, c)
	for range spans {
		tracer.Record(tracing.StepSpan{Message: message, Step: tracing.Push, Began: time.Now()})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracer.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return tracer.Stats()
}

func check(t *testing.T, got []otlptest.Span) {
	t.Helper()
	if len(got) != 2 {
		t.Fatalf("received %v", got)
	}
	for _, s := range got {
		if s.Node != "n1" || s.Name != "message.push" || s.Trace != tracing.TraceOf(message).String() || s.Attributes["rialto.message.id"] != message.String() || s.Attributes["rialto.step"] != "pushed" || s.Failed || s.End < s.Start || s.Start == 0 {
			t.Errorf("received %+v", s)
		}
	}
}

func TestSpansAreSent(t *testing.T) {
	r := otlptest.New(t)
	if s := send(t, tracing.Config{Endpoint: r.Endpoint, Authorization: "Bearer a token"}, 2); s != (tracing.Stats{Exported: 2}) {
		t.Errorf("sent %+v", s)
	}
	check(t, r.Spans())
	if h := r.Header(); h.Get("Content-Type") != "application/x-protobuf" || h.Get("Authorization") != "Bearer a token" {
		t.Errorf("the headers are %v", h)
	}
}

// The same through an OpenTelemetry Collector, which reads them, and sends them on in its own encoding.
func TestACollectorAcceptsTheSpans(t *testing.T) {
	r := otlptest.New(t)
	if s := send(t, tracing.Config{Endpoint: otlptest.Collector(t, r)}, 2); s != (tracing.Stats{Exported: 2}) {
		t.Errorf("sent %+v", s)
	}
	check(t, r.Spans())
}

func TestSpansThatAreNotAcceptedAreCounted(t *testing.T) {
	r := otlptest.New(t)
	r.Answer(http.StatusServiceUnavailable)
	if s := send(t, tracing.Config{Endpoint: r.Endpoint}, 2); s != (tracing.Stats{Failed: 2}) {
		t.Errorf("of a collector that refuses: %+v", s)
	}
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	answers := map[string]struct {
		body []byte
		want tracing.Stats
	}{
		"partial": {protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial), tracing.Stats{Exported: 2, Failed: 3}},
		"empty":   {nil, tracing.Stats{Exported: 5}},
		"other":   {[]byte("ok\xff"), tracing.Stats{Exported: 5}},
	}
	for name, a := range answers {
		paths := make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			paths <- q.URL.Path
			_, _ = w.Write(a.body)
		}))
		if s := send(t, tracing.Config{Endpoint: server.URL + "/of/my/own"}, 5); s != a.want {
			t.Errorf("%s: spans %+v, want %+v", name, s, a.want)
		}
		if path := <-paths; path != "/of/my/own" {
			t.Errorf("%s: sent to %s", name, path)
		}
		server.Close()
	}
}

func TestCheck(t *testing.T) {
	for endpoint, ok := range map[string]bool{"": true, "http://127.0.0.1:4318": true, "http://localhost:4318/v1/traces": true, "https://collector.example.com": true, "https://10.0.0.5:4318": true,
		"http://collector.example.com:4318": false, "127.0.0.1:4318": false, "https://user:secret@collector.example.com": false, "grpc://127.0.0.1": false} {
		err := otlp.Check(tracing.Config{Endpoint: endpoint})
		if (err == nil) != ok || err != nil && (!strings.HasPrefix(err.Error(), "tracing.endpoint: ") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: error %v, want success %v, and no secret", endpoint, err, ok)
		}
	}
}
