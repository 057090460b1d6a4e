// Package telemetry creates the logger and the metrics registry.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Config of logs; the zero value is the documented default.
type Config struct {
	// Level from which lines are logged: debug, info (default), warn or error.
	Level string `yaml:"level"`
	// Format of lines: text (default) or json.
	Format string `yaml:"format"`
}

// NewLogger creates a logger that writes to out. Repeated warnings are collapsed.
func NewLogger(c Config, out io.Writer) (*slog.Logger, error) {
	level := slog.LevelInfo
	if c.Level != "" {
		if err := level.UnmarshalText([]byte(strings.ToUpper(c.Level))); err != nil {
			return nil, fmt.Errorf("log.level is debug, info, warn or error, not %q", c.Level)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch c.Format {
	case "", "text":
		return slog.New(collapse(slog.NewTextHandler(out, options))), nil
	case "json":
		return slog.New(collapse(slog.NewJSONHandler(out, options))), nil
	}
	return nil, fmt.Errorf("log.format is text or json, not %q", c.Format)
}

// NewRegistry creates a registry with the process's and Go's own metrics.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return r
}

// Count registers a counter whose value is read at each scrape.
func Count(r *prometheus.Registry, name, help string, read func() float64) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "rialto", Name: name, Help: help}, read))
}

// CountBy is Count for one value of a label: the counters of all values have one name.
func CountBy(r *prometheus.Registry, name, help, label, value string, read func() float64) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "rialto", Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}}, read))
}

// Gauge registers a gauge whose value is read at each scrape.
func Gauge(r *prometheus.Registry, name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: name, Help: help}, read))
}

// GaugeBy is Gauge for one value of a label: the gauges of all values have one name.
func GaugeBy(r *prometheus.Registry, name, help, label, value string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}}, read))
}
