package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// fault that was active, according to the recording.
type fault struct {
	text       string
	begin, end time.Duration
}

func (m *analysis) faults() []fault { return faultsOf(m.events) }

func faultsOf(events []Event) (list []fault) {
	open := map[uint64]int{}
	for _, e := range events {
		switch {
		case e.F != FFault:
		case e.Type == Invoke:
			open[e.Op] = len(list)
			list = append(list, fault{e.Text, e.T, never})
		default:
			if i, ok := open[e.Op]; ok {
				list[i].end = e.T
			}
		}
	}
	return list
}

// stage returns when the run reached a stage, or never.
func stage(events []Event, name string) time.Duration {
	for _, e := range events {
		if e.F == FStage && e.Text == name {
			return e.T
		}
	}
	return never
}

// checkAvailability is INV17: while one node, or one of several servers of an engine, is down and the detection time has passed, the
// other nodes serve calls, and stored messages are delivered soon.
func checkAvailability(m *analysis) *Verdict {
	v := verdict("INV17", "availability while one node, or one server of an engine, is down")
	ops, bad, shown, windows := 0, 0, 0, m.downs()
	for _, w := range windows {
		for _, o := range m.ops {
			if o.F != FProbe && o.F != FSend || !strings.HasPrefix(o.Proc, "probe.") || o.Node == w.node || o.begin < w.begin || o.begin+callTime > w.end {
				continue
			}
			ops++
			if o.how != Ok {
				bad++
				if len(v.Found) < maxFound {
					v.Found = append(v.Found, fmt.Sprintf("%s by %s at %s, during %s: %s", o.F, o.Node, at(o.begin), w.text, o.Err))
				}
			}
		}
	}
	if bad*1000 > ops {
		v.State = Violated
	}
	connected := map[string]time.Duration{}
	for _, e := range m.events {
		if e.F == FOnline {
			connected[e.Proc] = e.T
			if e.N == 0 {
				connected[e.Proc] = never
			}
		}
		if e.F != FDeliver || e.Text == "" {
			continue
		}
		_, stored := m.begun(e.Text)
		if connected[e.Proc] > stored { // it was connected to the failed node, or chose it again: clients choose nodes at random
			continue
		}
		for _, w := range windows {
			if stored >= w.begin && stored+m.about.DetectionTime <= w.end {
				if shown++; e.T-stored > m.about.DetectionTime {
					v.violate("%s received %q, acknowledged at %s, only at %s, during %s", e.Proc, e.Text, at(stored), at(e.T), w.text)
				}
			}
		}
	}
	v.What = fmt.Sprintf("%d calls to other nodes in %d windows that began %v after the failure, %d failed; %d deliveries", ops, len(windows), m.about.DetectionTime, bad, shown)
	if ops == 0 {
		v.State, v.What = NotChecked, "at no time was exactly one node or one server of an engine down for long enough"
	}
	return v
}

// down is a period in which exactly one node, or one server of an engine, was down, and no other fault was active.
type down struct {
	fault
	node string // "" if all nodes serve
}

// downs returns those periods, without the detection time.
func (m *analysis) downs() (list []down) {
	faults := m.faults()
	for _, f := range faults {
		words := append(strings.Fields(f.text), "")
		kind, node := words[0], words[1]
		switch {
		case onEngineServer(kind), kind == NATSLinkLost:
			node = ""
		case len(m.about.Nodes) < 2 || !slices.Contains([]string{Kill, Stop, Pause}, kind) || !slices.Contains(m.about.Nodes, node):
			continue
		}
		alone := !slices.ContainsFunc(faults, func(g fault) bool { return g != f && g.end >= f.begin && g.begin <= f.end })
		if f.begin += m.about.DetectionTime; alone && f.end > f.begin {
			list = append(list, down{f, node})
		}
	}
	return list
}

// checkLiveness is INV18: after the faults, nothing waits to be sent, no permitted message was refused, everything is delivered, presence
// is correct, and receipts are as fast as before.
func checkLiveness(m *analysis) *Verdict {
	v := verdict("INV18", "liveness after the faults")
	healed, rest, calm := stage(m.events, Healed), stage(m.events, Quiesced), stage(m.events, Faults)
	if rest == never {
		v.violate("the cluster did not deliver everything in time")
	}
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; device && o.F == FSend && o.end == never && o.how == Info {
			v.violate("%s still waits for the receipt of %q, sent at %s", o.Proc, o.Text, at(o.begin))
		} else if device && o.F == FSend && o.how == Fail {
			v.violate("%s may write, but %q was refused at %s: %s", o.Proc, o.Text, at(o.end), o.Err)
		}
	}
	seen := 0
	for _, e := range m.events {
		if e.F == FSeen {
			seen++
			if (e.N == 1) != (e.Text == "online") {
				v.violate("presence on %s of user %d: got online=%v, want %s", e.Node, e.Other, e.N == 1, e.Text)
			}
		}
	}
	var before, after []time.Duration
	if healed != never {
		before, after = m.receipts(0, calm), m.receipts(healed+m.about.RecoveryTime, never)
	}
	if len(before) > 20 && len(after) > 20 {
		was, is := percentile(before, 0.99), percentile(after, 0.99)
		if limit := max(2*was, m.about.BaselineLatency); is > limit {
			v.violate("the 99th percentile of receipts was %v before the faults and %v after them", was, is)
		}
		v.What = fmt.Sprintf("99th percentile of receipts: %v before the faults, %v after; ", was.Round(time.Millisecond), is.Round(time.Millisecond))
	}
	v.What += fmt.Sprintf("%d presence answers", seen)
	return v
}

// receipts returns the latencies of devices' sends that began in an interval.
func (m *analysis) receipts(from, to time.Duration) (list []time.Duration) {
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; device && o.F == FSend && o.how == Ok && o.begin >= from && o.begin < to {
			list = append(list, o.end-o.begin)
		}
	}
	return list
}

// percentile of durations, 0 if there are none.
func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(p*float64(len(list))))]
}

// at formats a time of the run.
func at(t time.Duration) string {
	if t == never {
		return "never"
	}
	return fmt.Sprintf("%.3fs", t.Seconds())
}
