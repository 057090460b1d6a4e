package search

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPacer: the indexer takes half of the time beside an idle process, and a twentieth beside a busy one, in small batches.
func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, began := false, time.Now()
		p := newPacer(&Deps{Processors: 2, CPUTime: func() time.Duration {
			if busy {
				return 2 * time.Since(began)
			}
			return 0
		}}, time.Minute)
		rested := func() time.Duration {
			from := time.Now()
			p.rest(t.Context(), time.Second)
			return time.Since(from)
		}
		for _, step := range []struct {
			busy bool
			rest time.Duration
		}{{false, restBeside}, {true, restBeside}, {true, restBusy}, {false, restBusy}, {false, restBeside}} {
			busy = step.busy
			if got, want := rested(), step.rest*time.Second; got != want {
				t.Errorf("%+v: it rests for %v, want %v", step, got, want)
			}
			if small := p.batch() < batchBeside; small != step.busy {
				t.Errorf("%+v: the next batch has %d documents", step, p.batch())
			}
		}
		from := time.Now()
		if p.rest(t.Context(), time.Microsecond); time.Since(from) != restLeast {
			t.Errorf("after a short step, it rests for %v, want %v", time.Since(from), restLeast)
		}
		p.longest = 50 * time.Millisecond
		if got := rested(); got != p.longest {
			t.Errorf("it rests for %v, want at most %v", got, p.longest)
		}
	})
}

// TestPacerOfACrowd: the indexer rests while a crowd connects, and no longer than restCrowded before each step, in case that the crowd never ends.
func TestPacerOfACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(3 * time.Second)
		p := newPacer(&Deps{PacingAccepts: func() bool { return time.Now().Before(until) }}, 0)
		p.rest(t.Context(), 0)
		if !time.Now().Equal(until) || p.batch() != batchBusy {
			t.Errorf("it rested until %v, want %v; the next batch has %d documents", time.Now(), until, p.batch())
		}
		began := time.Now()
		until = began.Add(time.Hour)
		if p.rest(t.Context(), 0); time.Since(began) != restCrowded {
			t.Errorf("it rested for %v, want %v", time.Since(began), restCrowded)
		}
	})
}
