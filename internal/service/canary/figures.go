package canary

import "github.com/prometheus/client_golang/prometheus"

// figures are the metrics of the canary, by target node.
type figures struct {
	sent, late, lost, duplicates, unreachable *prometheus.CounterVec
	overdue                                   *prometheus.GaugeVec
	delay                                     *prometheus.HistogramVec
	refused                                   prometheus.Counter
}

// targetFigures are those of one node.
type targetFigures struct {
	sent, late, lost, duplicates, unreachable prometheus.Counter
	overdue                                   prometheus.Gauge
	delay                                     prometheus.Observer
}

func newFigures() *figures {
	count := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rialto_canary_" + name, Help: help}, []string{"target"})
	}
	return &figures{
		sent:        count("sent_total", "Probes of the delivery canary that were to be delivered by a node."),
		late:        count("late_total", "Probes that were not delivered within 2 s."),
		lost:        count("lost_total", "Probes that were not delivered within 30 s."),
		duplicates:  count("duplicates_total", "Probes that were pushed again."),
		unreachable: count("unreachable_total", "Rounds in which no socket to a node could be opened."),
		overdue:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rialto_canary_overdue", Help: "Probes that are late, and have not been delivered yet."}, []string{"target"}),
		delay: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rialto_canary_delay_seconds", Help: "How long probes took from being sent to being delivered.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30}}, []string{"target"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "rialto_canary_refused_total", Help: "Probes that this node refused to store, as under overload."}),
	}
}

// add begins the figures of a node at 0, so that the first failure is an increase.
func (f *figures) add(node string) *targetFigures {
	return &targetFigures{f.sent.WithLabelValues(node), f.late.WithLabelValues(node), f.lost.WithLabelValues(node), f.duplicates.WithLabelValues(node), f.unreachable.WithLabelValues(node),
		f.overdue.WithLabelValues(node), f.delay.WithLabelValues(node)}
}

// remove ends the figures of a node that has gone.
func (f *figures) remove(node string) {
	for _, c := range []*prometheus.CounterVec{f.sent, f.late, f.lost, f.duplicates, f.unreachable} {
		c.DeleteLabelValues(node)
	}
	f.overdue.DeleteLabelValues(node)
	f.delay.DeleteLabelValues(node)
}

func (f *figures) collectors() []prometheus.Collector {
	return []prometheus.Collector{f.sent, f.late, f.lost, f.duplicates, f.unreachable, f.overdue, f.delay, f.refused}
}

// Describe is a prometheus.Collector's.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, c := range f.collectors() {
		c.Describe(out)
	}
}

// Collect is a prometheus.Collector's.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	for _, c := range f.collectors() {
		c.Collect(out)
	}
}
