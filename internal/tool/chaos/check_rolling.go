package chaos

import (
	"fmt"
	"strings"
	"time"
)

const (
	// late is the least latency that violates the rule during a rolling restart; it is higher on a slow machine.
	late = 5 * time.Second
	// around is the time before and after a rolling restart in which no other fault may be active.
	around = 10 * time.Second
)

// restarted returns the rolling restarts, each with some time after it, during which and before which no other fault was active.
func (m *analysis) restarted() (list []fault) {
	faults := m.faults()
	for _, f := range faults {
		if !strings.HasPrefix(f.text, Rolling+" ") {
			continue
		}
		w := f
		if w.end != never {
			w.end += around
		}
		for _, g := range faults {
			switch {
			case g == f || strings.HasPrefix(g.text, Rolling+" "):
			case g.begin > f.begin: // messages sent before it still have their time
				w.end = min(w.end, g.begin-late)
			case g.end == never:
				w.end = 0
			default:
				w.begin = max(w.begin, g.end+around)
			}
		}
		if w.begin < w.end {
			list = append(list, w)
		}
	}
	return list
}

// checkRollingRestart checks rolling restarts: messages that apps send meanwhile are acknowledged, and received by all devices of all
// members, both in time.
func checkRollingRestart(m *analysis) *Verdict {
	late := max(late, m.about.BaselineLatency)
	v := verdict("ROLLING", fmt.Sprintf("during a rolling restart no send fails permanently, and none is acknowledged or delivered more than %v late", late))
	windows := m.restarted()
	during := func(t time.Duration) bool {
		for _, w := range windows {
			if t >= w.begin && t < w.end {
				return true
			}
		}
		return false
	}
	var receipts, deliveries, whileConnected []time.Duration
	stored := map[string]time.Duration{} // of the messages that are checked
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; !device || o.F != FSend || !during(o.begin) {
			continue
		}
		if o.how != Ok {
			v.violate("%s sent %q at %s, which was not acknowledged: %s", o.Proc, o.Text, at(o.begin), o.Err)
			continue
		}
		took := o.end - o.begin
		receipts, stored[o.Text] = append(receipts, took), o.end
		if took >= late {
			v.violate("%s sent %q at %s, which was acknowledged %v later", o.Proc, o.Text, at(o.begin), took)
		}
	}
	connected := map[string]time.Duration{}
	for _, e := range m.events {
		if e.F == FOnline {
			if connected[e.Proc] = e.T; e.N == 0 {
				connected[e.Proc] = never
			}
		}
		since, checked := stored[e.Text]
		if e.F != FDeliver || !checked {
			continue
		}
		took := max(0, e.T-since) // a push may arrive before the receipt
		if deliveries = append(deliveries, took); connected[e.Proc] <= since {
			whileConnected = append(whileConnected, took)
		}
		if took >= late {
			v.violate("%s received %q %v after it was acknowledged at %s (connected since %s)", e.Proc, e.Text, took, at(since), at(connected[e.Proc]))
		}
	}
	if len(receipts) == 0 {
		v.State, v.What = NotChecked, "no rolling restart without another fault"
		return v
	}
	v.What = fmt.Sprintf("%d restarts; from send to receipt %s; from receipt to delivery %s; on devices that stayed connected %s", len(windows), spread(receipts), spread(deliveries), spread(whileConnected))
	return v
}

// spread formats percentiles of durations.
func spread(list []time.Duration) string {
	return fmt.Sprintf("%d: p50 %s, p99 %s, maximum %s", len(list), short(percentile(list, 0.5)), short(percentile(list, 0.99)), short(percentile(list, 1)))
}
