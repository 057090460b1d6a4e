package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

// shifted is a clock that is ahead of the machine's, or behind.
type shifted time.Duration

func (s shifted) Now() time.Time { return time.Now().Add(time.Duration(s)) }

// probeClocks has one node probe another. The question takes some time, and the answer.
func probeClocks(t *testing.T, from, to *ClockOffsets, there, back time.Duration) {
	t.Helper()
	question, answered := from.Topic(2).Ask(to.node)
	time.Sleep(there)
	answer := to.Topic(2).Answer(question)
	time.Sleep(back)
	if answer == nil {
		t.Fatalf("%s does not answer %s", to.node, from.node)
	}
	answered(answer)
}

func TestNodesKnowWhoseClockIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right, behind := NewClockOffsets("right", shifted(0)), NewClockOffsets("behind", shifted(-700*time.Millisecond))
		idle := NewClockOffsets("idle", shifted(100*time.Millisecond)) // which nobody probes
		expect := func(when string, o *ClockOffsets, least, most time.Duration) {
			t.Helper()
			if got := o.Behind(); got < least || got > most {
				t.Errorf("%s: for %s, a clock is behind by %v, want %v to %v", when, o.node, got, least, most)
			}
		}
		expect("before a probe", right, 0, 0)
		probeClocks(t, right, behind, time.Millisecond, 3*time.Millisecond)
		expect("after a probe", right, 690*time.Millisecond, 700*time.Millisecond)
		expect("after a probe by another", behind, 0, 0)
		probeClocks(t, right, behind, 3*time.Second, 2*time.Second)
		expect("after a slow probe", right, 690*time.Millisecond, 700*time.Millisecond)

		// A node that nobody probes says how far it is behind, and learns of others from those that it probes.
		probeClocks(t, idle, right, time.Millisecond, time.Millisecond)
		expect("of a third", idle, 785*time.Millisecond, 800*time.Millisecond)
		late := NewClockOffsets("late", shifted(-3*time.Second))
		for range 2 { // it knows with the first answer, and tells with the next question
			probeClocks(t, late, right, time.Millisecond, time.Millisecond)
		}
		expect("as it said itself", right, 2990*time.Millisecond, 3*time.Second)

		time.Sleep(3 * clockWindow)
		expect("long after", right, 0, 0)
		probeClocks(t, right, idle, time.Second, time.Second)
		expect("of one that is ahead", right, 0, 0)
		for name, bad := range map[string]string{"empty": "", "cut": "\x80", "nameless": "\x05", "too far": "\xff\xff\xff\xff\xff\x7fx"} {
			if right.Topic(2).Answer([]byte(bad)) != nil {
				t.Errorf("a question that is %s was answered", name)
			}
		}
		_, answered := right.Topic(2).Ask("x")
		for _, bad := range []string{"", "\x80", "\x05", "\x05\x80", "\x05\xff\xff\xff\xff\xff\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05"} {
			answered([]byte(bad))
		}
		expect("after answers that cannot be read", right, 0, 0)
	})
}
