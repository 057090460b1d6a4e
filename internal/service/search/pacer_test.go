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
		p := pacer{longest: time.Minute, cpuTime: func() time.Duration {
			if busy {
				return 1000 * time.Since(began) // of any number of processors
			}
			return 0
		}}
		rested := func() time.Duration {
			from := time.Now()
			p.rest(t.Context(), 100*time.Millisecond)
			return time.Since(from)
		}
		for _, step := range []struct {
			busy bool
			rest time.Duration
		}{{false, restBeside}, {true, restBeside}, {true, restBusy}, {false, restBusy}, {false, restBeside}} {
			busy = step.busy
			if got, want := rested(), step.rest*100*time.Millisecond; got != want {
				t.Errorf("%+v: it rests for %v, want %v", step, got, want)
			}
			if small := p.batch() < batchBeside; small != step.busy {
				t.Errorf("%+v: the next batch has %d documents", step, p.batch())
			}
		}
		p.longest = 50 * time.Millisecond
		if got := rested(); got != p.longest {
			t.Errorf("it rests for %v, want at most %v", got, p.longest)
		}
	})
}
