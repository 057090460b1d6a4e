package telemetry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/telemetry"
)

// TestLevels: each level leaves out what is below it, and info is the default.
func TestLevels(t *testing.T) {
	for level, want := range map[string]string{"": "info warn error", "debug": "debug info warn error", "INFO": "info warn error", "warn": "warn error", "error": "error"} {
		var out strings.Builder
		l, err := telemetry.NewLogger(telemetry.Config{Level: level, Format: "json"}, &out)
		if err != nil {
			t.Fatal(err)
		}
		l.Debug("debug")
		l.Info("info")
		l.Warn("warn")
		l.Error("error", "user", 7)
		var said []string
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			said = append(said, m["msg"].(string))
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("level %q has %q, not %q", level, got, want)
		}
	}
}

// TestLogValuesStayOnOneLine: text from a client cannot imitate a line of the log.
func TestLogValuesStayOnOneLine(t *testing.T) {
	for _, format := range []string{"", "text", "json"} {
		var out strings.Builder
		l, err := telemetry.NewLogger(telemetry.Config{Format: format}, &out)
		if err != nil {
			t.Fatal(err)
		}
		l.Info("a call failed", "method", "x\r\ntime=2026-01-01 level=ERROR msg=forged\x1b[2J")
		if s := out.String(); strings.Count(s, "\n") != 1 || strings.ContainsAny(s, "\r\x1b") {
			t.Errorf("format %q: %q", format, s)
		}
	}
}

func TestMetricsAreReadAtEachScrape(t *testing.T) {
	r := telemetry.NewRegistry()
	n := 1.0
	telemetry.Count(r, "sends_total", "Messages.", func() float64 { return n })
	telemetry.Gauge(r, "connections", "Open sockets.", func() float64 { return -n })
	n = 5 // read at each scrape
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		found[f.GetName()] = f.Metric[0].GetCounter().GetValue() + f.Metric[0].GetGauge().GetValue()
	}
	if found["rialto_sends_total"] != 5 || found["rialto_connections"] != -5 {
		t.Errorf("the metrics are %v, want rialto_sends_total 5 and rialto_connections -5", found)
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes"} {
		if found[name] <= 0 {
			t.Errorf("%s is missing", name)
		}
	}
}
