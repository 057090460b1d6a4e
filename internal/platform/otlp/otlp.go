// Package otlp sends spans to an OpenTelemetry collector, as OTLP over HTTP: protobuf, compressed with gzip.
//
// Requests are those of package egress: to the configured server only, bounded in time, and with a circuit breaker. A batch that is not accepted is
// lost. All functions are safe for concurrent use.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// timeout of a request. Spans wait in their queue meanwhile.
const timeout = 5 * time.Second

// tracesPath is where collectors accept traces.
const tracesPath = "/v1/traces"

// Check reports an endpoint that cannot be used.
func Check(c tracing.Config) error {
	if c.Endpoint == "" {
		return nil
	}
	if err := egress.CheckURL(c.Endpoint); err != nil {
		return fmt.Errorf("tracing.endpoint: %w", err)
	}
	return nil
}

// NewExporter returns an exporter to the endpoint of a configuration that Check accepts; nil if there is none.
func NewExporter(c tracing.Config, calls *outgoing.Calls) (sdktrace.SpanExporter, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	address, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	if address.Path == "" || address.Path == "/" {
		address.Path = tracesPath
	}
	by, err := egress.New(egress.Config{URL: address.String(), AllowPrivate: c.AllowPrivate, Kind: outgoing.Traces, Calls: calls, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(context.Background(), &client{by: by, address: address.String(), authorization: c.Authorization}) // which connects with the first spans
	if err != nil {
		return nil, err
	}
	return exporter, nil
}

// client implements otlptrace.Client.
type client struct {
	by                     *egress.Client
	address, authorization string
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.by.Close()
	return nil
}

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	// The request of OTLP has the form of TracesData. Its own type is in a package with gRPC, which nothing else here needs.
	data, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&body, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, _ = compressed.Write(data) // to memory, which does not fail
	_ = compressed.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body.Bytes()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	answer, err := c.by.Do(r, nil)
	if err != nil {
		return err
	}
	if answer.Status < 200 || answer.Status > 299 {
		return fmt.Errorf("the collector answered with status %d", answer.Status)
	}
	if rejected := rejectedOf(answer.Body); rejected.Spans > 0 {
		return rejected
	}
	return nil
}

// maxReason bounds what is logged of a collector's text, in bytes.
const maxReason = 200

// rejectedOf reads the partial success of an ExportTraceServiceResponse: field 1, in which field 1 counts the rejected spans and field 2 says why.
func rejectedOf(answer []byte) *tracing.Rejected {
	out := &tracing.Rejected{}
	eachField(answer, func(n protowire.Number, _ uint64, partial []byte) {
		if n != 1 {
			return
		}
		eachField(partial, func(n protowire.Number, value uint64, text []byte) {
			switch n {
			case 1:
				out.Spans = int(min(value, 1<<30))
			case 2:
				out.Reason = fmt.Sprintf("%.*q", maxReason, text)
			}
		})
	})
	return out
}

// eachField calls visit with the number and the value of each varint and each length-delimited field. It stops at what is not protobuf.
func eachField(b []byte, visit func(n protowire.Number, value uint64, data []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return
		}
		b = b[size:]
		var value uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			value, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			return
		}
		visit(n, value, data)
		b = b[size:]
	}
}
