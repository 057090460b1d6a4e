package canary

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rialto-im/rialto/internal/base/synclist"
)

// judge is a probes with two nodes, and the time.
type judge struct {
	*probes
	t    *testing.T
	now  time.Time
	a, b *socket
	log  *synclist.List[string]
}

// lines adds each line of a log to a list.
type lines struct{ *synclist.List[string] }

func (l lines) Write(b []byte) (int, error) {
	l.Add(string(b))
	return len(b), nil
}

func newJudge(t *testing.T) *judge {
	j := &judge{t: t, now: time.Unix(1_000_000, 0), a: &socket{}, b: &socket{}, log: &synclist.List[string]{}}
	j.probes = newProbes("a", newFigures(), slog.New(slog.NewTextHandler(lines{j.log}, nil)))
	j.add("b")
	j.opened("a", j.a)
	j.opened("b", j.b)
	j.check(j.now)
	return j
}

// pass lets time pass, with the checks that belong to it.
func (j *judge) pass(d time.Duration) {
	for end := j.now.Add(d); j.now.Before(end); {
		j.now = j.now.Add(min(checkInterval, end.Sub(j.now)))
		j.check(j.now)
	}
}

func (j *judge) send(round uint64) { j.sent(round, j.now, true) }

// figuresOf returns sent, late, lost, duplicates, unreachable, overdue, and how many delays were measured; nil if a node has none.
func (j *judge) figuresOf(node string) []float64 {
	j.t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(j.figures)
	families, err := registry.Gather()
	if err != nil {
		j.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if isOf(m, node) {
				values[strings.TrimPrefix(f.GetName(), "rialto_canary_")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	list := make([]float64, 0, 7)
	for _, name := range []string{"sent_total", "late_total", "lost_total", "duplicates_total", "unreachable_total", "overdue", "delay_seconds"} {
		list = append(list, values[name])
	}
	return list
}

func isOf(m *dto.Metric, node string) bool {
	return len(m.GetLabel()) == 1 && m.GetLabel()[0].GetValue() == node
}

func (j *judge) want(node string, want ...float64) {
	j.t.Helper()
	got := j.figuresOf(node)
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			j.t.Errorf("the figures of %s are %v, want %v: sent, late, lost, duplicates, unreachable, overdue, delays", node, got, want)
			return
		}
	}
}

// logged counts the lines with a text.
func (j *judge) logged(text string) (n int) {
	for _, l := range j.log.All() {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// A node that delivers in time has no failures. The other one is late after two seconds, and has lost the probe after 30; each is counted once. When it delivers
// again, nothing is overdue.
func TestLateAndLostProbesAreCounted(t *testing.T) {
	j := newJudge(t)
	j.send(1)
	j.pass(LateAfter)
	j.arrived("a", j.a, 1, j.now, true)
	j.want("a", 1, 0, 0, 0, 0, 0, 1)
	j.want("b", 1, 0, 0, 0, 0, 0, 0)
	j.pass(time.Second)
	j.want("b", 1, 1, 0, 0, 0, 1, 0)
	j.send(2)
	j.pass(LostAfter - 4*time.Second)
	j.want("b", 2, 2, 0, 0, 0, 2, 0)
	j.pass(2 * time.Second)
	j.want("b", 2, 2, 1, 0, 0, 1, 0)
	j.arrived("b", j.b, 2, j.now, true)
	j.arrived("b", j.b, 1, j.now, true) // it counts as lost
	j.want("b", 2, 2, 1, 0, 0, 0, 1)
	j.send(3)
	j.arrived("a", j.a, 3, j.now, true)
	j.arrived("b", j.b, 3, j.now, true)
	j.pass(LostAfter * 2)
	j.want("b", 3, 2, 1, 0, 0, 0, 2)
	for text, want := range map[string]int{"the delivery canary waits for a message": 3, "the delivery canary did not get a message": 2, "the delivery canary got a message late": 1, "twice": 0} {
		if got := j.logged(text); got != want {
			t.Errorf("the log says %d times %q, want %d", got, text, want)
		}
	}
}

// A probe that arrives late is late, also if it comes before the check that would find it missing.
func TestAProbeThatArrivesLateIsLate(t *testing.T) {
	j := newJudge(t)
	j.send(1)
	j.pass(LateAfter)
	j.arrived("b", j.b, 1, j.now.Add(time.Millisecond), true)
	j.want("b", 1, 1, 0, 0, 0, 0, 1)
	if got := j.logged("got a message late"); got != 1 {
		t.Errorf("the log says so %d times", got)
	}
}

// A probe that is pushed twice is counted. One that a sync finds, and that is pushed as well, was under way; a client shows it once.
func TestDuplicatesAreCounted(t *testing.T) {
	j := newJudge(t)
	j.send(1)
	j.arrived("b", j.b, 1, j.now, true)
	j.arrived("b", j.b, 1, j.now, false)
	j.want("b", 1, 0, 0, 0, 0, 0, 1)
	j.arrived("b", j.b, 1, j.now, true)
	j.want("b", 1, 0, 0, 1, 0, 0, 1)
	j.send(2)
	j.arrived("b", j.b, 2, j.now, false)
	j.arrived("b", j.b, 2, j.now, true)
	j.want("b", 2, 0, 0, 1, 0, 0, 2)
	j.arrived("b", j.b, 2, j.now, true)
	j.want("b", 2, 0, 0, 2, 0, 0, 2)
	if got := j.logged("twice"); got != 2 {
		t.Errorf("the log says so %d times", got)
	}
}

// What cannot be known is not counted: probes at a socket that breaks, that were not stored, or that were under way while this process did not run.
func TestWhatCannotBeKnownIsNotCounted(t *testing.T) {
	j := newJudge(t)
	j.send(1)
	j.arrived("a", j.a, 1, j.now, true)
	j.closed("b", j.b)
	j.pass(LostAfter * 2)
	j.want("b", 1, 0, 0, 0, 0, 0, 0)
	j.opened("b", j.b)
	j.send(2)
	j.withdraw(2, true)
	j.pass(LostAfter * 2)
	j.want("a", 2, 0, 0, 0, 0, 0, 1)
	j.want("b", 2, 0, 0, 0, 0, 0, 0)
	j.send(3)
	j.now = j.now.Add(time.Hour) // no check ran
	j.arrived("b", j.b, 3, j.now, true)
	j.check(j.now)
	j.want("a", 3, 0, 0, 0, 0, 0, 1)
	j.want("b", 3, 0, 0, 0, 0, 0, 1)
	j.pass(LateAfter + time.Second)
	j.want("a", 3, 1, 0, 0, 0, 1, 1)
}

// A socket that was replaced says nothing any more.
func TestAReplacedSocketIsIgnored(t *testing.T) {
	j := newJudge(t)
	next := &socket{}
	j.opened("b", next)
	j.send(1)
	j.closed("b", j.b)
	j.arrived("b", j.b, 1, j.now, true)
	j.pass(3 * time.Second)
	j.want("b", 1, 1, 0, 0, 0, 1, 0)
	j.arrived("b", next, 1, j.now, true)
	j.want("b", 1, 1, 0, 0, 0, 0, 1)
}

// A node whose sockets cannot be opened is counted in each round, after the first attempt has failed. A node that has gone has no figures any more.
func TestUnreachableNodesAreCounted(t *testing.T) {
	j := newJudge(t)
	j.add("c")
	j.send(1)
	j.want("c", 0, 0, 0, 0, 0, 0, 0)
	c := &socket{}
	j.closed("c", c)
	j.send(2)
	j.send(3)
	j.want("c", 0, 0, 0, 0, 2, 0, 0)
	j.opened("c", c)
	j.send(4)
	j.want("c", 1, 0, 0, 0, 2, 0, 0)
	j.remove("c")
	if got := j.figuresOf("c"); got != nil {
		t.Errorf("it still has %v", got)
	}
	j.remove("a")
	if j.sent(5, j.now, false) {
		t.Error("without a socket of its own a node sends")
	}
	j.want("a", 4, 0, 0, 0, 0, 0, 0)
}

// refusals returns how many probes were refused.
func (j *judge) refusals() float64 {
	j.t.Helper()
	var m dto.Metric
	if err := j.figures.refused.Write(&m); err != nil {
		j.t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
