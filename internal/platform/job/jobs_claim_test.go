package job_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/job"
)

// claims starts attempts of the jobs that a node may claim, and checks which they are.
func claims(t *testing.T, s *job.Service, limit int, want ...int64) {
	t.Helper()
	ids, err := s.Claim(t.Context(), limit)
	must(t, err)
	if !slices.Equal(ids, want) {
		t.Errorf("the node claimed %v; want %v", ids, want)
	}
}

// insertFor inserts a job that prefers a node.
func (f *fleet) insertFor(node int, o job.Options) int64 {
	f.t.Helper()
	for {
		if id := insert(f.t, f.nodes[0], 0, o); id%int64(len(f.nodes)) == int64(node) {
			return id
		} else if _, err := f.nodes[0].Cancel(f.t.Context(), id); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A node that does not see itself among the live nodes claims nothing, and rescues nobody's jobs: it has just started, or was declared dead.
func TestANodeThatDoesNotSeeItselfClaimsNothing(t *testing.T) {
	f := openFleet(t, 2)
	own, other := f.insertFor(0, job.Options{}), f.insertFor(1, job.Options{})
	f.passDelays()
	f.blind.Store(f.names[0], true)
	claims(t, f.nodes[0], 10)
	f.blind.Delete(f.names[0])
	f.dead.Store(f.names[0], true)
	claims(t, f.nodes[0], 10)
	f.dead.Delete(f.names[0])
	claims(t, f.nodes[0], 10, own, other)
}

// The jobs of a node are rescued only after it was missing in two rounds in a row: it may have been missing in one because it had just started.
func TestANodeIsRescuedInTheSecondRound(t *testing.T) {
	f := openFleet(t, 2)
	id := f.insertFor(1, job.Options{})
	claims(t, f.nodes[1], 1, id)
	round := func(missing bool, want job.State) {
		t.Helper()
		if f.dead.Delete(f.names[1]); missing {
			f.dead.Store(f.names[1], true)
		}
		must(t, f.nodes[0].Rescue(t.Context()))
		if i := get(t, f.nodes[0], id); i.State != want {
			t.Fatalf("the job is %s; want %s", i.State, want)
		}
	}
	round(true, job.Running)
	round(false, job.Running)
	round(true, job.Running)
	round(true, job.Available)
}

// A node that rescues jobs counts rounds anew after another one was the first.
func TestRoundsOfAnotherNodeDoNotCount(t *testing.T) {
	f := openFleet(t, 3)
	id := f.insertFor(2, job.Options{})
	claims(t, f.nodes[2], 1, id)
	f.dead.Store(f.names[2], true)
	must(t, f.nodes[0].Rescue(t.Context()))
	f.blind.Store(f.names[0], true)
	must(t, f.nodes[0].Rescue(t.Context()))
	f.blind.Delete(f.names[0])
	must(t, f.nodes[0].Rescue(t.Context()))
	if i := get(t, f.nodes[0], id); i.State != job.Running {
		t.Errorf("the job is %s after one round", i.State)
	}
	must(t, f.nodes[0].Rescue(t.Context()))
	if i := get(t, f.nodes[0], id); i.State != job.Available {
		t.Errorf("the job is %s after two rounds", i.State)
	}
}

// A job that prefers a busy node waits for newer jobs of this node only for a while, and not at all for those of a lower priority.
func TestAnOverdueJobOfABusyNodeDoesNotStarve(t *testing.T) {
	const peerDelay = 2 * time.Second
	f := openFleet(t, 2)
	others := f.insertFor(1, job.Options{})
	low := f.insertFor(0, job.Options{Priority: job.Low})
	older := f.insertFor(0, job.Options{})
	f.clock.Advance(peerDelay - time.Millisecond)
	newer := f.insertFor(0, job.Options{})
	claims(t, f.nodes[0], 1, older) // the other is not overdue
	f.clock.Advance(time.Millisecond)
	newest := f.insertFor(0, job.Options{})
	claims(t, f.nodes[0], 1, newer)
	claims(t, f.nodes[0], 1, others)
	lowOfOther := f.insertFor(1, job.Options{Priority: job.Low})
	highOfOther := f.insertFor(1, job.Options{Priority: job.High})
	claims(t, f.nodes[0], 1, newest)
	f.clock.Advance(peerDelay)
	claims(t, f.nodes[0], 10, highOfOther, low, lowOfOther)
}
