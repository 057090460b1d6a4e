// Package otlp sends spans to an OpenTelemetry collector, as OTLP over HTTP: protobuf, compressed with gzip unless the collector is on this machine.
//
// Requests are those of package egress: to the configured server only, bounded in time, and with a circuit breaker. A batch that is not accepted is
// lost. One goroutine at a time may use an exporter.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"google.golang.org/protobuf/encoding/protowire"
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

// NewExporter returns an exporter of a node, of a version of the program, to the endpoint of a configuration that Check accepts; nil if there is none.
func NewExporter(c tracing.Config, node, version string, calls *outgoing.Calls) (tracing.Exporter, error) {
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
	return &exporter{by: by, address: address.String(), authorization: c.Authorization, compress: !loopback.IsHost(address.Hostname()), encoder: newEncoder(node, version)}, nil
}

// exporter implements tracing.Exporter.
type exporter struct {
	by                     *egress.Client
	address, authorization string
	compress               bool // requests; on this machine that would cost more than all else
	encoder                *encoder
	compressed             bytes.Buffer
}

// Close implements tracing.Exporter.
func (c *exporter) Close() { c.by.Close() }

// Export implements tracing.Exporter.
func (c *exporter) Export(ctx context.Context, spans []*tracing.Ended) error {
	body := c.encoder.encode(spans)
	if c.compress {
		var err error
		if body, err = c.gzip(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.compress {
		r.Header.Set("Content-Encoding", "gzip")
	}
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

// gzip compresses a body. The result is valid until the next call.
func (c *exporter) gzip(body []byte) ([]byte, error) {
	c.compressed.Reset()
	w, err := gzip.NewWriterLevel(&c.compressed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(body)
	err = errors.Join(err, w.Close()) // before the bytes are taken
	return c.compressed.Bytes(), err
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
