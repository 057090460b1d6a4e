package app

import "testing"

// Garbage is collected less often only while that is frequent, and by a node that holds little.
func TestGarbageIsCollectedLessOftenUnderLoad(t *testing.T) {
	const mb = 1 << 20
	g := garbage{percent: garbageUsual}
	look := func(when string, rounds, live uint64, want int) {
		t.Helper()
		if p := g.next(rounds, live); p != want {
			t.Errorf("%s: %d%%, want %d%%", when, p, want)
		}
	}
	look("at the start", 9, 4*mb, 100)
	look("in its second second", 2, 20*mb, 100)
	look("at rest", 0, 20*mb, 100)
	look("in the first second of a load", 8, 32*mb, 100)
	look("in its second", 8, 32*mb, 100)
	look("under load", 8, 32*mb, 400)
	look("with the load that is now in fewer rounds", 1, 64*mb, 200)
	look("between two rounds", 0, 64*mb, 200)
	look("with next to nothing", 5, mb, 1000)
	look("with much", 5, 1000*mb, 100)
	look("with less again", 1, 32*mb, 100)
	look("with less again", 5, 32*mb, 100)
	look("with less again", 5, 32*mb, 100)
	look("under load again", 5, 32*mb, 400)
	for range garbageRest - 1 {
		look("a moment without garbage", 0, 32*mb, 400)
	}
	look("at rest again", 0, 32*mb, 100)
}
