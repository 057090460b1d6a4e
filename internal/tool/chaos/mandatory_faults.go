package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Schedules of sufficient length contain these faults, so that the rules that need them always have something to check: a single node
// that is down for long enough, and a rolling restart, both without any other fault.
const (
	mandatoryFrom  = time.Minute     // shorter runs have none of them
	rollingFrom    = 2 * time.Minute // a rolling restart as well
	secondKillFrom = 4 * time.Minute // a second node that is down
	downFor        = 20 * time.Second
	downMore       = 5 * time.Second
)

// mandatoryFaults returns these faults in order. Each is injected as soon as its time has come and no other fault is active.
func (p Plan) mandatoryFaults(rng *rand.Rand) (list []Fault) {
	may := func(kind string) bool { return p.Nodes > 1 && (len(p.Only) == 0 || slices.Contains(p.Only, kind)) }
	within := func(from, to int) time.Duration { // in percent of the run
		return randomDuration(rng, p.Duration*time.Duration(from)/100, p.Duration*time.Duration(to)/100)
	}
	down := func(from, to int) {
		if may(Kill) {
			list = append(list, Fault{At: within(from, to), Kind: Kill, Node: rng.IntN(p.Nodes), Duration: randomDuration(rng, downFor, downFor+downMore).Round(10 * time.Millisecond)})
		}
	}
	if p.Duration >= mandatoryFrom {
		down(10, 25)
	}
	roll := func(from, to int) {
		if may(Rolling) {
			list = append(list, Fault{At: within(from, to), Kind: Rolling, Duration: randomDuration(rng, 9*time.Second, 15*time.Second).Round(10 * time.Millisecond)})
		}
	}
	if p.Mixed && p.Duration >= mandatoryFrom { // upgrade, downgrade, upgrade
		roll(25, 30)
	}
	if p.Duration >= rollingFrom || p.Mixed && p.Duration >= mandatoryFrom {
		roll(40, 50)
	}
	if p.Mixed && p.Duration >= mandatoryFrom {
		roll(55, 60)
	}
	if p.Duration >= secondKillFrom {
		down(65, 75)
	}
	return list
}
