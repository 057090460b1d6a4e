// Package tracing records spans of sampled messages, requests and jobs, and gives them to an exporter.
//
// Whether a message is sampled, and the id of its trace, follow from its id (Tracer.Samples). So all nodes decide alike, and a node that delivers a
// message knows its trace, although nothing of it is stored or sent. Requests and jobs are sampled by a random id. Within one of them, Start makes
// spans of what it does; outside of one that is sampled it does nothing.
//
// Messages share batches: of commits, of fan-out, of the bus. A batch with sampled messages is a separate trace. Its span and the spans of the messages link to
// each other.
//
// A span never blocks: it goes into a queue, from which Run exports. If the queue is full, the span is dropped and counted. Spans have ids and
// sizes as attributes, and never contents, tokens or arguments of statements.
//
// A nil Tracer and a nil Span record nothing, without allocation. All methods are safe for concurrent use, except those of a Batch.
package tracing

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config of traces. The zero value is the documented default.
type Config struct {
	// Endpoint of an OpenTelemetry collector that accepts traces as OTLP over HTTP, as http://127.0.0.1:4318; default none: nothing is traced. Without
	// a path, it is /v1/traces. It begins with https://, or http:// for this machine.
	Endpoint string `yaml:"endpoint"`
	// Sample is the share of messages, requests and jobs that are traced, from 0.000001 to 1; 0 is 0.01. Set the same on all nodes, or traces of
	// messages have gaps.
	Sample float64 `yaml:"sample"`
	// Authorization is the value of the header Authorization of requests to the collector, as Bearer TOKEN; default none.
	Authorization string `yaml:"authorization"`
	// AllowPrivate lets the name in endpoint resolve to an address of a private network. An IP address in it needs no permission. Default false.
	AllowPrivate bool `yaml:"allow_private"`
	// TrustCallers continues the traces that callers of the API name in the header traceparent, and traces what they trace. Otherwise a traced call
	// is a trace of its own, which links to theirs. Set it only where clients cannot reach this node past a proxy that removes the header. Default false.
	TrustCallers bool `yaml:"trust_callers"`
	// Queue bounds the spans that wait for the collector; 0 is 8,192, of about 300 bytes each. Further ones are dropped and counted.
	Queue int `yaml:"queue"`
}

const (
	maxLinks      = 128 // of a span; further ones are left out
	defaultSample = 0.01
	minSample     = 1e-6
	defaultQueue  = 8192
	maxQueue      = 1 << 20
)

// Check reports settings that are not valid. It does not check the endpoint, which the exporter does.
func (c Config) Check() error {
	if c.Sample != 0 && !(c.Sample >= minSample && c.Sample <= 1) {
		return fmt.Errorf("tracing.sample is 0.000001 to 1, not %v", c.Sample)
	}
	if c.Queue > maxQueue {
		return fmt.Errorf("tracing.queue is at most %d, not %d", maxQueue, c.Queue)
	}
	if c.Endpoint == "" && c.Authorization != "" {
		return errors.New("tracing.authorization: give tracing.endpoint as well")
	}
	if strings.ContainsAny(c.Authorization, "\r\n") {
		return errors.New("tracing.authorization is one line")
	}
	return nil
}

// Deps are the dependencies of a Tracer.
type Deps struct {
	// Exporter gets the spans. One goroutine at a time calls it.
	Exporter Exporter
	Logger   *slog.Logger
}

// Tracer makes the spans of a node.
type Tracer struct {
	deps   Deps
	below  uint64 // a trace is sampled if the lower half of its id, shifted to 63 bits, is below
	trust  bool
	queue  *queue
	tracer trace.Tracer
}

// scope is the name of the instrumentation.
const scope = "github.com/rialto-im/rialto"

// New returns a Tracer, whose Run exports. Without an endpoint it returns nil: nothing is traced.
func New(deps Deps, c Config) *Tracer {
	if c.Endpoint == "" {
		return nil
	}
	if c.Sample == 0 {
		c.Sample = defaultSample
	}
	if c.Queue == 0 {
		c.Queue = defaultQueue
	}
	t := &Tracer{deps: deps, below: belowOf(c.Sample), trust: c.TrustCallers, queue: newQueue(c.Queue)}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(decided{}), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSpanProcessor(t.queue), sdktrace.WithRawSpanLimits(limits), sdktrace.WithResource(resource.Empty())) // the exporter names the node
	t.tracer = provider.Tracer(scope)
	return t
}

// limits of a span. What is beyond is left out, and counted in the span.
var limits = sdktrace.SpanLimits{AttributeValueLengthLimit: 256, AttributeCountLimit: 32, EventCountLimit: 32, LinkCountLimit: maxLinks, AttributePerEventCountLimit: 8, AttributePerLinkCountLimit: 8}

// belowOf is the bound of a share of traces, as OpenTelemetry's TraceIDRatioBased has it.
func belowOf(share float64) uint64 {
	if share >= 1 {
		return math.MaxInt64 + 1
	}
	return uint64(share * (1 << 63))
}

// sampled reports whether a trace is sampled, by the lower half of its id.
func (t *Tracer) sampled(low uint64) bool { return low>>1 < t.below }

// decided is the sampler: whoever starts a span has decided that there is one.
type decided struct{}

// ShouldSample implements sdktrace.Sampler.
func (decided) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

// Description implements sdktrace.Sampler.
func (decided) Description() string { return "decided" }
