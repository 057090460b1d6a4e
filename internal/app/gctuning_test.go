package app

import "testing"

// The heap may grow by more than 100 % only while cycles are frequent and the live heap is small.
func TestGCTuning(t *testing.T) {
	const mb = 1 << 20
	g := gcTuner{percent: gcDefaultPercent}
	check := func(when string, cycles, live uint64, want int) {
		t.Helper()
		if p := g.next(cycles, live); p != want {
			t.Errorf("%s: %d%%, want %d%%", when, p, want)
		}
	}
	check("at the start", 9, 4*mb, 100)
	check("in its second second", 2, 20*mb, 100)
	check("at rest", 0, 20*mb, 100)
	check("in the first second of a load", 8, 32*mb, 100)
	check("in its second", 8, 32*mb, 100)
	check("under load", 8, 32*mb, 400)
	check("with the load that is now in fewer cycles", 1, 64*mb, 200)
	check("between two cycles", 0, 64*mb, 200)
	check("with next to nothing", 5, mb, 1000)
	check("with much", 5, 1000*mb, 100)
	check("with less again", 1, 32*mb, 100)
	check("with less again", 5, 32*mb, 100)
	check("with less again", 5, 32*mb, 100)
	check("under load again", 5, 32*mb, 400)
	for range gcIdleIntervals - 1 {
		check("a moment without gcTuner", 0, 32*mb, 400)
	}
	check("at rest again", 0, 32*mb, 100)
}
