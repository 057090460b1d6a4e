package outgoing

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
)

var (
	callsDesc    = prometheus.NewDesc("rialto_outgoing_calls_total", "Calls to other servers, by kind and result.", []string{"kind", "result"}, nil)
	retriesDesc  = prometheus.NewDesc("rialto_outgoing_retries_total", "Retries of calls to other servers, by kind; over_budget are those that were not made.", []string{"kind", "result"}, nil)
	breakersDesc = prometheus.NewDesc("rialto_outgoing_breakers", "Servers that were called, by kind and by the state of their circuit breaker.", []string{"kind", "state"}, nil)

	resultNames = [results]string{ok: "ok", failed: "failed", cancelled: "cancelled", refusedOpen: "refused_open", refusedPaused: "refused_paused"}
	stateNames  = map[gobreaker.State]string{gobreaker.StateClosed: "closed", gobreaker.StateHalfOpen: "half_open", gobreaker.StateOpen: "open"}
)

// Describe implements prometheus.Collector.
func (c *Calls) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{callsDesc, retriesDesc, breakersDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Calls) Collect(out chan<- prometheus.Metric) {
	for kind, all := range c.kinds {
		count := func(d *prometheus.Desc, n int64, result string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), string(kind), result)
		}
		for r, name := range resultNames {
			count(callsDesc, all.results[r].Load(), name)
		}
		count(retriesDesc, all.retries.Load(), "made")
		count(retriesDesc, all.overBudget.Load(), "over_budget")
		n := all.states()
		for state, name := range stateNames {
			out <- prometheus.MustNewConstMetric(breakersDesc, prometheus.GaugeValue, float64(n[state]), string(kind), name)
		}
	}
}
