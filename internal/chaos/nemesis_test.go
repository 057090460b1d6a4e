package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/chaos"
)

// A schedule is the same each time for one seed and another for another, lies within its time, has no two faults on one thing at once,
// and is quiet now and then.
func TestSchedules(t *testing.T) {
	seen := map[string]bool{}
	pairs := 0
	var before []chaos.Fault
	for seed := range uint64(50) {
		plan := chaos.Plan{Seed: seed, Nodes: 3, Over: 20 * time.Minute, Every: 20 * time.Second, Longest: 40 * time.Second}
		list := chaos.Schedule(plan)
		if !slices.Equal(list, chaos.Schedule(plan)) {
			t.Fatalf("seed %d gives two schedules", seed)
		}
		if slices.Equal(list, before) {
			t.Fatalf("seed %d gives the schedule of the one before", seed)
		}
		before = list
		busyUntil, quiet := time.Duration(0), time.Duration(0)
		for i, f := range list {
			seen[f.Kind] = true
			if f.At < 0 || f.At+f.For > plan.Over || f.For <= 0 || f.Node < 0 || f.Node > 2 {
				t.Fatalf("seed %d: %v", seed, f)
			}
			if i > 0 && f.At == list[i-1].At {
				pairs++
				if f.Kind == list[i-1].Kind && f.Node == list[i-1].Node {
					t.Fatalf("seed %d: %v beside %v", seed, f, list[i-1])
				}
			} else if f.At < busyUntil {
				t.Fatalf("seed %d: %v begins before the one before has ended", seed, f)
			}
			if f.At-busyUntil >= 20*time.Second {
				quiet = f.At
			}
			if f.At-quiet > 5*time.Minute {
				t.Fatalf("seed %d: no quiet from %v to %v", seed, quiet, f.At)
			}
			busyUntil = max(busyUntil, f.At+f.For)
		}
	}
	if len(seen) != 28 || pairs == 0 {
		t.Errorf("%d kinds of faults, %d pairs", len(seen), pairs)
	}
}

func TestOnlySomeKinds(t *testing.T) {
	for _, f := range chaos.Schedule(chaos.Plan{Seed: 3, Nodes: 1, Over: 10 * time.Minute, Every: 10 * time.Second, Longest: 10 * time.Second, Only: []string{chaos.Kill, chaos.BaseSlow}}) {
		if f.Kind != chaos.Kill && f.Kind != chaos.BaseSlow {
			t.Errorf("%v", f)
		}
	}
}

// TestEveryScheduleHasItsDuties: whatever else comes by chance, one node is down alone for at least 20 s, and all are restarted one after
// the other, with nothing beside it.
func TestEveryScheduleHasItsDuties(t *testing.T) {
	for seed := range uint64(200) {
		for _, c := range []struct {
			over          time.Duration
			downs, rolled int
			only          []string
			mixed         bool
		}{{59 * time.Second, 0, 0, nil, false}, {time.Minute, 1, 0, nil, false}, {2 * time.Minute, 1, 1, nil, false}, {10 * time.Minute, 2, 1, nil, false},
			{10 * time.Minute, 2, 0, []string{chaos.Kill, chaos.Pause}, false}, {10 * time.Minute, 0, 0, []string{chaos.Clock}, false}, {3 * time.Minute, 1, 3, nil, true}} {
			plan := chaos.Plan{Seed: seed, Nodes: 3, Over: c.over, Every: 10 * time.Second, Longest: 15 * time.Second, Only: c.only, Mixed: c.mixed}
			downs, rolled := 0, 0
			list := chaos.Schedule(plan)
			for _, f := range list {
				if slices.ContainsFunc(list, func(g chaos.Fault) bool { return g != f && g.At <= f.At+f.For && f.At <= g.At+g.For }) {
					continue // not alone
				}
				switch {
				case f.Kind == chaos.Kill && f.For >= 20*time.Second:
					downs++
				case f.Kind == chaos.Rolling:
					rolled++
				}
			}
			if downs != c.downs || rolled < c.rolled {
				t.Errorf("seed %d over %v of %v: a node is down alone %d times, and %d rolling restarts: %v", seed, c.over, c.only, downs, rolled, list)
			}
		}
	}
}
