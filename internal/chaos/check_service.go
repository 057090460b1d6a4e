package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// fault that was in force, by the record of the run.
type fault struct {
	text       string
	begin, end time.Duration
}

func (m *material) faults() []fault { return faultsOf(m.events) }

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

// stage gives when the run came to a stage; never where it did not.
func stage(events []Event, name string) time.Duration {
	for _, e := range events {
		if e.F == FStage && e.Text == name {
			return e.T
		}
	}
	return never
}

// available is INV17: while one node is down, or one of several servers of an engine, and the others have noticed, they serve, and what is
// stored is shown soon.
func available(m *material) *Verdict {
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
				if len(v.Found) < mostFound {
					v.Found = append(v.Found, fmt.Sprintf("%s by %s at %s, while %s was in force: %s", o.F, o.Node, at(o.begin), w.text, o.Err))
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
		if connected[e.Proc] > stored { // it was with the node that went, or tried that one again, as clients choose by chance
			continue
		}
		for _, w := range windows {
			if stored >= w.begin && stored+m.about.Settle <= w.end {
				if shown++; e.T-stored > m.about.Settle {
					v.violate("%s showed %q, acknowledged at %s, at %s, while %s was in force", e.Proc, e.Text, at(stored), at(e.T), w.text)
				}
			}
		}
	}
	v.What = fmt.Sprintf("%d calls of the others in %d windows that began %v after one went, %d failed; %d showings", ops, len(windows), m.about.Settle, bad, shown)
	if ops == 0 {
		v.State, v.What = NotChecked, "at no time one node alone, or one server of an engine, was down for long enough, with others to serve"
	}
	return v
}

// down is a time in which one node alone was down, or one server of an engine, and nothing else was broken.
type down struct {
	fault
	node string // "" where all serve
}

// downs gives those times, from when the others have noticed.
func (m *material) downs() (list []down) {
	faults := m.faults()
	for _, f := range faults {
		words := append(strings.Fields(f.text), "")
		kind, node := words[0], words[1]
		switch {
		case onCopy(kind), kind == NATSWay:
			node = ""
		case len(m.about.Nodes) < 2 || !slices.Contains([]string{Kill, Stop, Pause}, kind) || !slices.Contains(m.about.Nodes, node):
			continue
		}
		alone := !slices.ContainsFunc(faults, func(g fault) bool { return g != f && g.end >= f.begin && g.begin <= f.end })
		if f.begin += m.about.Settle; alone && f.end > f.begin {
			list = append(list, down{f, node})
		}
	}
	return list
}

// live is INV18: when all faults are over, all comes to rest: nothing waits to be sent, nothing was refused that may be
// sent, everything is delivered, presence is right, and receipts are as quick as before.
func live(m *material) *Verdict {
	v := verdict("INV18", "liveness after the faults")
	healed, rest, calm := stage(m.events, Healed), stage(m.events, AtRest), stage(m.events, Faults)
	if rest == never {
		v.violate("it did not come to rest in the time that it had")
	}
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; device && o.F == FSend && o.end == never && o.how == Info {
			v.violate("%s still waits for a receipt of %q, sent at %s", o.Proc, o.Text, at(o.begin))
		} else if device && o.F == FSend && o.how == Fail {
			v.violate("%s, which may write, was refused %q at %s: %s", o.Proc, o.Text, at(o.end), o.Err)
		}
	}
	seen := 0
	for _, e := range m.events {
		if e.F == FSeen {
			seen++
			if (e.N == 1) != (e.Text == "online") {
				v.violate("%s shows user %d as online: %v; it is %s", e.Node, e.Other, e.N == 1, e.Text)
			}
		}
	}
	var before, after []time.Duration
	if healed != never {
		before, after = m.receipts(0, calm), m.receipts(healed+m.about.Back, never)
	}
	if len(before) > 20 && len(after) > 20 {
		was, is := percentile(before, 0.99), percentile(after, 0.99)
		if limit := max(2*was, m.about.Noise); is > limit {
			v.violate("99 of 100 receipts came within %v before the faults, and within %v after them", was, is)
		}
		v.What = fmt.Sprintf("99 of 100 receipts within %v before the faults, %v after; ", was.Round(time.Millisecond), is.Round(time.Millisecond))
	}
	v.What += fmt.Sprintf("%d answers on presence", seen)
	return v
}

// receipts gives the latencies of devices' sends that began in a time.
func (m *material) receipts(from, to time.Duration) (list []time.Duration) {
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; device && o.F == FSend && o.how == Ok && o.begin >= from && o.begin < to {
			list = append(list, o.end-o.begin)
		}
	}
	return list
}

// percentile of some durations, 0 of none.
func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(p*float64(len(list))))]
}

// at is a time of the run, for people.
func at(t time.Duration) string {
	if t == never {
		return "never"
	}
	return fmt.Sprintf("%.3fs", t.Seconds())
}
