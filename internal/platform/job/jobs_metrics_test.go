package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// The metrics have what waits and what was done.
func TestMetricsCountJobs(t *testing.T) {
	f := openFleet(t, 1)
	s := f.nodes[0]
	start(t, s, workers(1, func(_ context.Context, j job.Job[work]) error {
		if j.Args.N == 1 {
			return job.Discard(errWork)
		}
		return nil
	}))
	reaches(t, s, insert(t, s, 0, job.Options{}), job.Completed)
	reaches(t, s, insert(t, s, 1, job.Options{}), job.Discarded)
	insert(t, s, 2, job.Options{At: f.clock.Now().Add(time.Minute)})
	must(t, s.Sample(t.Context()))
	want := []string{`rialto_job_attempts_total{queue="default",result="completed"} 1`, `rialto_job_attempts_total{queue="default",result="discarded"} 1`,
		`rialto_jobs{queue="default",state="discarded"} 1`, `rialto_jobs{queue="default",state="due"} 0`, `rialto_jobs{queue="default",state="scheduled"} 1`, `rialto_jobs_oldest_seconds{queue="default"} 0`}
	exposes(t, s, want...)
}

func exposes(t *testing.T, s *job.Service, want ...string) {
	t.Helper()
	for _, line := range want {
		if !slices.Contains(exposition(t, s), line) {
			t.Errorf("the metrics lack %s:\n%s", line, strings.Join(exposition(t, s), "\n"))
		}
	}
}

// A node without workers counts what waits for others.
func TestANodeWithoutWorkersCountsJobs(t *testing.T) {
	s := openFleet(t, 1).nodes[0]
	insert(t, s, 0, job.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, s.Run(ctx, nil))
	must(t, s.Sample(t.Context()))
	exposes(t, s, `rialto_jobs{queue="default",state="due"} 1`)
}
