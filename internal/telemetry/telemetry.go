// Package telemetry makes the logger and the registry of metrics that parts are given.
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

// NewLogger makes a logger that writes to out.
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
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, fmt.Errorf("log.format is text or json, not %q", c.Format)
}

// NewRegistry makes a registry with the process's and Go's own metrics.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	return r
}

// Count registers a counter that is read when it is asked for.
func Count(r *prometheus.Registry, name, help string, read func() float64) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "rialto", Name: name, Help: help}, read))
}

// Gauge registers a gauge that is read when it is asked for.
func Gauge(r *prometheus.Registry, name, help string, read func() float64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: name, Help: help}, read))
}
