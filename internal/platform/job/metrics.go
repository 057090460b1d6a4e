package job

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Results of attempts, as labels of metrics.
const (
	resultCompleted   = "completed"
	resultFailed      = "failed"
	resultDiscarded   = "discarded"
	resultCancelled   = "cancelled"
	resultSnoozed     = "snoozed"
	resultInterrupted = "interrupted"
	resultSuperseded  = "superseded"
)

var results = []string{resultCompleted, resultFailed, resultDiscarded, resultCancelled, resultSnoozed, resultInterrupted, resultSuperseded}

// maxCounted bounds the rows that are counted for a metric.
const maxCounted = 100_000

// maxInspected bounds the waiting jobs whose rows are read for a metric.
const maxInspected = 10_000

// Metrics of the jobs. All methods are safe for concurrent use.
type Metrics struct {
	sampling sync.Mutex // held from a count until it is shown, so that no older count replaces it

	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec
	jobs     *prometheus.GaugeVec
	retrying *prometheus.GaugeVec
	oldest   *prometheus.GaugeVec
	rescued  prometheus.Counter

	mu     sync.Mutex // guards queues
	queues []string
}

func newMetrics() *Metrics {
	return &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rialto_job_attempts_total", Help: "Attempts of jobs that ended on this node, by queue and result."}, []string{"queue", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rialto_job_attempt_seconds", Help: "How long attempts of jobs took on this node, by queue.",
			Buckets: []float64{.001, .01, .1, 1, 10, 60, 600}}, []string{"queue"}),
		jobs:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rialto_jobs", Help: "Jobs of all nodes, by queue and state; at most 100,000 of each are counted."}, []string{"queue", "state"}),
		retrying: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rialto_jobs_retrying", Help: "Waiting jobs of all nodes whose last attempt failed, by queue, among the 10,000 of each priority that are due first."}, []string{"queue"}),
		oldest:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rialto_jobs_oldest_seconds", Help: "How long the job that has waited longest has been due, by queue."}, []string{"queue"}),
		rescued:  prometheus.NewCounter(prometheus.CounterOpts{Name: "rialto_jobs_rescued_total", Help: "Attempts of dead processes that this node ended."}),
	}
}

// addQueues makes the metrics of queues exist before their first job. A node without workers counts the jobs of the default queue.
func (m *Metrics) addQueues(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, queue := range names {
		if slices.Contains(m.queues, queue) {
			continue
		}
		m.queues = append(m.queues, queue)
		for _, state := range []string{"due", "scheduled", "running", "discarded"} {
			m.jobs.WithLabelValues(queue, state)
		}
		m.retrying.WithLabelValues(queue)
		m.oldest.WithLabelValues(queue)
		for _, r := range results {
			m.attempts.WithLabelValues(queue, r)
		}
		m.duration.WithLabelValues(queue)
	}
}

func (m *Metrics) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.queues)
}

// done counts an attempt.
func (m *Metrics) done(queue, result string, took time.Duration) {
	m.attempts.WithLabelValues(queue, result).Inc()
	m.duration.WithLabelValues(queue).Observe(took.Seconds())
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.duration, m.jobs, m.retrying, m.oldest, m.rescued}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
}

// Metrics returns the metrics of this node.
func (s *Service) Metrics() *Metrics { return s.metrics }

// Counts are how many jobs of a queue there are on all nodes; at most 100,000 of each are counted.
type Counts struct {
	Queue string
	// Due jobs wait for a worker, Scheduled ones for their time. Retrying are those of both whose last attempt failed, among the 10,000 of each priority that are due
	// first.
	Due, Scheduled, Retrying int64
	Running, Discarded       int64
	// Oldest is how long the job that has waited longest has been due.
	Oldest time.Duration
}

// Counts counts the jobs of a queue.
func (s *Service) Counts(ctx context.Context, queue string) (c Counts, err error) {
	c.Queue = queue
	now := s.nowMs()
	count := func(n *int64, statement string, args ...any) error {
		var more int64
		err := s.deps.DB.Read().QueryRowContext(ctx, statement, args...).Scan(&more)
		*n += more
		return err
	}
	for _, p := range priorities {
		if err := count(&c.Due, `SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 AND due_ms <= $3 LIMIT $4) AS due`, queue, int64(p), now, maxCounted); err != nil {
			return c, err
		}
		if err := count(&c.Scheduled, `SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 AND due_ms > $3 LIMIT $4) AS scheduled`, queue, int64(p), now, maxCounted); err != nil {
			return c, err
		}
		if err := count(&c.Retrying, `SELECT COUNT(*) FROM (SELECT failures FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 ORDER BY due_ms LIMIT $3) AS waiting WHERE failures > 0`, queue, int64(p), maxInspected); err != nil {
			return c, err
		}
		var first sql.NullInt64
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT MIN(due_ms) FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2`, queue, int64(p)).Scan(&first); err != nil {
			return c, err
		}
		if first.Valid {
			c.Oldest = max(c.Oldest, time.Duration(now-first.Int64)*time.Millisecond)
		}
	}
	if err := count(&c.Running, `SELECT COUNT(*) FROM jobs WHERE state = 'running' AND queue = $1`, queue); err != nil {
		return c, err
	}
	return c, count(&c.Discarded, `SELECT COUNT(*) FROM (SELECT queue FROM jobs WHERE state = 'discarded' AND finished_ms > 0 LIMIT $2) AS dead WHERE queue = $1`, queue, maxCounted)
}

// sample counts the jobs of the default queue and of the queues that this node runs.
func (s *Service) sample(ctx context.Context) error {
	s.metrics.sampling.Lock()
	defer s.metrics.sampling.Unlock()
	for _, queue := range s.metrics.names() {
		c, err := s.Counts(ctx, queue)
		if err != nil {
			return err
		}
		for state, n := range map[string]int64{"due": c.Due, "scheduled": c.Scheduled, "running": c.Running, "discarded": c.Discarded} {
			s.metrics.jobs.WithLabelValues(queue, state).Set(float64(n))
		}
		s.metrics.retrying.WithLabelValues(queue).Set(float64(c.Retrying))
		s.metrics.oldest.WithLabelValues(queue).Set(c.Oldest.Seconds())
	}
	return nil
}
