package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/chaos"
)

// A schedule depends only on its seed, stays within its duration, never has two faults on the same target at once, and has quiet periods.
func TestSchedulesAreReproducibleAndBounded(t *testing.T) {
	seen := map[string]bool{}
	pairs := 0
	var before []chaos.Fault
	for seed := range uint64(50) {
		plan := chaos.Plan{Seed: seed, Nodes: 3, Duration: 20 * time.Minute, Every: 20 * time.Second, Longest: 40 * time.Second}
		list := chaos.Schedule(plan)
		if !slices.Equal(list, chaos.Schedule(plan)) {
			t.Fatalf("seed %d: got two different schedules, want one", seed)
		}
		if slices.Equal(list, before) {
			t.Fatalf("seed %d: got the schedule of the previous seed", seed)
		}
		before = list
		busyUntil, quiet := time.Duration(0), time.Duration(0)
		for i, f := range list {
			seen[f.Kind] = true
			if f.At < 0 || f.At+f.Duration > plan.Duration || f.Duration <= 0 || f.Node < 0 || f.Node > 2 {
				t.Fatalf("seed %d: got a fault outside the plan: %v", seed, f)
			}
			if i > 0 && f.At == list[i-1].At {
				pairs++
				if f.Kind == list[i-1].Kind && f.Node == list[i-1].Node {
					t.Fatalf("seed %d: got %v together with %v, the same fault", seed, f, list[i-1])
				}
			} else if f.At < busyUntil {
				t.Fatalf("seed %d: got %v before the previous fault has ended", seed, f)
			}
			if f.At-busyUntil >= 20*time.Second {
				quiet = f.At
			}
			if f.At-quiet > 5*time.Minute {
				t.Fatalf("seed %d: got no quiet period from %v to %v", seed, quiet, f.At)
			}
			busyUntil = max(busyUntil, f.At+f.Duration)
		}
	}
	if len(seen) != 28 || pairs == 0 {
		t.Errorf("got %d kinds of faults and %d pairs, want 28 and some", len(seen), pairs)
	}
}

func TestOnlyRestrictsTheKinds(t *testing.T) {
	for _, f := range chaos.Schedule(chaos.Plan{Seed: 3, Nodes: 1, Duration: 10 * time.Minute, Every: 10 * time.Second, Longest: 10 * time.Second, Only: []string{chaos.Kill, chaos.PostgresSlow}}) {
		if f.Kind != chaos.Kill && f.Kind != chaos.PostgresSlow {
			t.Errorf("got fault %v, want only kill and postgres-slow", f)
		}
	}
}

// Every schedule of sufficient length has a single node that is down for at least 20 s, and a rolling restart, both without another
// fault.
func TestSchedulesHaveMandatoryFaults(t *testing.T) {
	for seed := range uint64(200) {
		for _, c := range []struct {
			over          time.Duration
			downs, rolled int
			only          []string
			mixed         bool
		}{{59 * time.Second, 0, 0, nil, false}, {time.Minute, 1, 0, nil, false}, {2 * time.Minute, 1, 1, nil, false}, {10 * time.Minute, 2, 1, nil, false},
			{10 * time.Minute, 2, 0, []string{chaos.Kill, chaos.Pause}, false}, {10 * time.Minute, 0, 0, []string{chaos.Clock}, false}, {3 * time.Minute, 1, 3, nil, true}} {
			plan := chaos.Plan{Seed: seed, Nodes: 3, Duration: c.over, Every: 10 * time.Second, Longest: 15 * time.Second, Only: c.only, Mixed: c.mixed}
			downs, rolled := 0, 0
			list := chaos.Schedule(plan)
			for _, f := range list {
				if slices.ContainsFunc(list, func(g chaos.Fault) bool { return g != f && g.At <= f.At+f.Duration && f.At <= g.At+g.Duration }) {
					continue // another fault is active
				}
				switch {
				case f.Kind == chaos.Kill && f.Duration >= 20*time.Second:
					downs++
				case f.Kind == chaos.Rolling:
					rolled++
				}
			}
			if downs != c.downs || rolled < c.rolled {
				t.Errorf("seed %d, duration %v, kinds %v: got %d single nodes down and %d rolling restarts: %v", seed, c.over, c.only, downs, rolled, list)
			}
		}
	}
}
