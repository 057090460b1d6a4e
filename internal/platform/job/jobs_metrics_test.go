package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// exposition returns the counters and gauges of a node, one in a line.
func exposition(t *testing.T, s *job.Service) (lines []string) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(s.Metrics())
	families, err := r.Gather()
	must(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), m.GetCounter().GetValue()+m.GetGauge().GetValue()))
		}
	}
	slices.Sort(lines)
	return lines
}
