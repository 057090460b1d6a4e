package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// protection is what protects this node against overload.
type protection struct {
	work     *overload.Calls // workers of calls
	sendGate *overload.Gate  // refuses messages
}

// openOverload makes the protection against overload.
func (n *Node) openOverload() {
	config := n.config.Overload.WithDefaults()
	of := func(user uint64) []uint64 { return n.organizations.MemberOf(id.User(user)) } // not before the node serves
	n.work, n.sendGate = overload.NewCalls(config, of), overload.NewGate(config.SendWait, n.clock, of, overload.Processors{Used: cpuTime, Count: n.threads.processors})
}

// registerOverloadMetrics registers the metrics of the protection against overload.
func (n *Node) registerOverloadMetrics() {
	for _, class := range overload.Classes() {
		for state, read := range map[string]func(overload.State) int{
			"limit":   func(s overload.State) int { return s.Limit },
			"working": func(s overload.State) int { return s.Working },
			"waiting": func(s overload.State) int { return s.Waiting },
		} {
			n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: "call_workers", Help: "Calls of a class that may be at work at once, that are, and that wait for it.",
				ConstLabels: prometheus.Labels{"class": class.String(), "state": state}}, func() float64 { return float64(read(n.work.State(class))) }))
		}
		for _, p := range overload.Priorities() {
			n.registerRefusals(class.String(), p.String(), func() int64 { return n.work.Refused(class, p) })
		}
		n.registerRefusals(class.String(), "share", func() int64 { return n.work.State(class).OverShare })
		for _, c := range overload.Crowds() {
			n.registerRefusals(class.String(), c.String(), func() int64 { return n.work.State(class).OverCrowds[c] })
		}
	}
	for _, c := range overload.Crowds() {
		n.registerRefusals("send", c.String(), func() int64 { return n.sendGate.RefusedCrowd(c) })
	}
	for _, p := range overload.Priorities() {
		n.registerRefusals("send", p.String(), func() int64 { return n.sendGate.Refused(p) })
	}
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "rialto", Name: "sends_admitted_ratio", Help: "Part of the levels of messages that are not refused, 1 without overload."}, n.sendGate.AdmittedPart))
}

// registerRefusals registers the number of requests of a class that were refused, by their priority, or because their caller had a fifth of the workers, or their
// conversation or organization more than its share.
func (n *Node) registerRefusals(class, priority string, read func() int64) {
	n.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "rialto", Name: "overload_refused_total", Help: "Requests refused because there was no capacity for them.",
		ConstLabels: prometheus.Labels{"class": class, "priority": priority}}, func() float64 { return float64(read()) }))
}
