package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// What every schedule of some length has, whatever else comes by chance, so that the rules which need it always have something to judge:
// a node that is down alone for long enough that the others are judged after they have noticed, and a rolling restart, each with nothing
// else beside it.
const (
	dutiesFrom  = time.Minute     // shorter runs have none
	rollingFrom = 2 * time.Minute // a rolling restart as well
	againFrom   = 4 * time.Minute // a second node that is down alone
	downFor     = 20 * time.Second
	downMore    = 5 * time.Second
)

// duties gives these faults, in order. Each comes as soon as its time has come and nothing else is under way.
func (p Plan) duties(rng *rand.Rand) (list []Fault) {
	may := func(kind string) bool { return p.Nodes > 1 && (len(p.Only) == 0 || slices.Contains(p.Only, kind)) }
	within := func(from, to int) time.Duration { // hundredths of the run
		return between(rng, p.Over*time.Duration(from)/100, p.Over*time.Duration(to)/100)
	}
	down := func(from, to int) {
		if may(Kill) {
			list = append(list, Fault{At: within(from, to), Kind: Kill, Node: rng.IntN(p.Nodes), For: between(rng, downFor, downFor+downMore).Round(10 * time.Millisecond)})
		}
	}
	if p.Over >= dutiesFrom {
		down(10, 25)
	}
	roll := func(from, to int) {
		if may(Rolling) {
			list = append(list, Fault{At: within(from, to), Kind: Rolling, For: between(rng, 9*time.Second, 15*time.Second).Round(10 * time.Millisecond)})
		}
	}
	if p.Mixed && p.Over >= dutiesFrom { // there, and back, and there again
		roll(25, 30)
	}
	if p.Over >= rollingFrom || p.Mixed && p.Over >= dutiesFrom {
		roll(40, 50)
	}
	if p.Mixed && p.Over >= dutiesFrom {
		roll(55, 60)
	}
	if p.Over >= againFrom {
		down(65, 75)
	}
	return list
}
