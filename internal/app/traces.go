package app

import (
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/platform/otlp"
)

// openTracer makes what records traces, if there is a collector for them.
func (n *Node) openTracer() error {
	exporter, err := otlp.NewExporter(n.config.Tracing, n.name, telemetry.ThisBuild().Version, n.outgoing)
	if err != nil {
		return err
	}
	n.tracer = tracing.New(tracing.Deps{Exporter: exporter, Logger: n.logger}, n.config.Tracing)
	return nil
}

// registerTraceMetrics registers the metrics of traces.
func (n *Node) registerTraceMetrics() {
	for result, count := range map[string]func(tracing.Stats) uint64{
		"sent":    func(s tracing.Stats) uint64 { return s.Exported },
		"dropped": func(s tracing.Stats) uint64 { return s.Dropped },
		"failed":  func(s tracing.Stats) uint64 { return s.Failed },
	} {
		telemetry.CountBy(n.registry, "trace_spans_total", "Spans of sampled messages, requests and jobs, by what became of them.", "result", result, func() float64 { return float64(count(n.tracer.Stats())) })
	}
	telemetry.Gauge(n.registry, "trace_spans_waiting", "Spans that wait to be sent to the collector.", func() float64 { return float64(n.tracer.Stats().Waiting) })
}
