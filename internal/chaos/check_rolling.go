package chaos

import (
	"fmt"
	"strings"
	"time"
)

const (
	// late is a message that takes so long, while nodes are restarted one after the other; or more, on a machine that is slow by itself.
	late = 5 * time.Second
	// after a rolling restart, and before it, nothing else is to have been broken for so long.
	around = 10 * time.Second
)

// restarted gives the times of rolling restarts, and a while after them, in which nothing else was broken, nor a moment before.
func (m *material) restarted() (list []fault) {
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
			case g.begin > f.begin: // what is sent before it has its time
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

// rolling is the promise of a rolling restart: what is sent meanwhile by apps is acknowledged, and shown by all devices of all members,
// each soon after the other.
func rolling(m *material) *Verdict {
	late := max(late, m.about.Noise)
	v := verdict("ROLLING", fmt.Sprintf("a rolling restart: no send fails for good, and none is acknowledged or shown %v late", late))
	windows := m.restarted()
	during := func(t time.Duration) bool {
		for _, w := range windows {
			if t >= w.begin && t < w.end {
				return true
			}
		}
		return false
	}
	var receipts, showings, held []time.Duration
	stored := map[string]time.Duration{} // of what is judged
	for _, o := range m.ops {
		if _, device := m.about.Owners[o.Proc]; !device || o.F != FSend || !during(o.begin) {
			continue
		}
		if o.how != Ok {
			v.violate("%s sent %q at %s, and it was not acknowledged: %s", o.Proc, o.Text, at(o.begin), o.Err)
			continue
		}
		took := o.end - o.begin
		receipts, stored[o.Text] = append(receipts, took), o.end
		if took >= late {
			v.violate("%s sent %q at %s, and it was acknowledged %v later", o.Proc, o.Text, at(o.begin), took)
		}
	}
	connected := map[string]time.Duration{}
	for _, e := range m.events {
		if e.F == FOnline {
			if connected[e.Proc] = e.T; e.N == 0 {
				connected[e.Proc] = never
			}
		}
		since, judged := stored[e.Text]
		if e.F != FDeliver || !judged {
			continue
		}
		took := max(0, e.T-since) // a push may overtake the receipt
		if showings = append(showings, took); connected[e.Proc] <= since {
			held = append(held, took)
		}
		if took >= late {
			v.violate("%s showed %q %v after it was acknowledged at %s (connected since %s)", e.Proc, e.Text, took, at(since), at(connected[e.Proc]))
		}
	}
	if len(receipts) == 0 {
		v.State, v.What = NotChecked, "no rolling restart without other faults beside it"
		return v
	}
	v.What = fmt.Sprintf("%d restarts; from send to receipt %s; from receipt to showing %s; by devices that were connected all the time %s", len(windows), spread(receipts), spread(showings), spread(held))
	return v
}

// spread of some durations, for people.
func spread(list []time.Duration) string {
	return fmt.Sprintf("%d: half within %s, 99 of 100 within %s, all within %s", len(list), short(percentile(list, 0.5)), short(percentile(list, 0.99)), short(percentile(list, 1)))
}
