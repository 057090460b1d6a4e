package app

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/telemetry"
)

// registerLimitMetrics registers the limits that hold on this node, and how much of each is used. The console shows them under the names of their settings.
func (n *Node) registerLimitMetrics() {
	for _, l := range n.limits.Limits() {
		gauge := func(name, help string, read func() float64) {
			n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: name, Help: help,
				ConstLabels: prometheus.Labels{"route": l.Route.String(), "setting": "limits." + l.Setting}}, read))
		}
		perSecond, burst := math.Inf(1), math.Inf(1) // no limit
		if l.Rate.Count > 0 {
			perSecond, burst = float64(l.Rate.Count)/l.Rate.Per.Seconds(), float64(l.Rate.Burst)
		}
		gauge("rate_limit_per_second", "Requests of a user or an address that a rate limit allows in the long run, by the setting; +Inf: no limit.", func() float64 { return perSecond })
		gauge("rate_limit_burst", "Requests that a rate limit allows at once, by the setting; +Inf: no limit.", func() float64 { return burst })
		gauge("rate_limit_keys", "Users or addresses whose use of a rate limit this node remembers, by the setting.", func() float64 { return float64(l.Keys()) })
	}
	stats := n.gateway.Stats()
	connections, held := n.gateway.Bounds()
	for setting, bound := range map[string]struct{ most, used func() float64 }{
		"gateway.max_connections":           {func() float64 { return float64(connections) }, read(&stats.Connections)},
		"gateway.max_held_requests":         {func() float64 { return float64(held) }, read(&stats.Held)},
		"input.memory":                      {func() float64 { return float64(n.input.Limit()) }, func() float64 { return float64(n.input.Used()) }},
		"input.unauthenticated_connections": {func() float64 { return float64(n.unauthenticated.Limit()) }, func() float64 { return float64(n.unauthenticated.Count()) }},
		"output.answers_total":              {func() float64 { return float64(n.answers.Limit()) }, func() float64 { return float64(n.answers.Held()) }},
	} {
		telemetry.GaugeBy(n.registry, "limit", "Bound of what a node holds at once, by the setting: connections, requests, or bytes.", "setting", setting, bound.most)
		telemetry.GaugeBy(n.registry, "limit_used", "How much of a bound is used now, by the setting.", "setting", setting, bound.used)
	}
}
