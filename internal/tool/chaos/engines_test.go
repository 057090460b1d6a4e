package chaos_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/chaos"
)

// Schedules contain faults of an engine only if the cluster has it, and never two on the same engine at once.
func TestSchedulesOfEngines(t *testing.T) {
	all := []string{chaos.WithCassandra, chaos.WithNATS, chaos.WithS3}
	without := 0
	for _, c := range []struct {
		engines []string
		more    int // additional kinds
	}{{nil, 0}, {all[:1], 4}, {all[1:2], 7}, {all[2:], 3}, {all, 14}} {
		seen := map[string]bool{}
		pairs := 0
		for seed := range uint64(100) {
			var before chaos.Fault
			for _, f := range chaos.Schedule(chaos.Plan{Seed: seed, Nodes: 2, Engines: c.engines, Duration: 20 * time.Minute, Every: 10 * time.Second, Longest: 20 * time.Second}) {
				engine, _, _ := strings.Cut(f.Kind, "-")
				seen[f.Kind] = true
				if slices.Contains(all, engine) && (!slices.Contains(c.engines, engine) || f.Node > 2) {
					t.Fatalf("seed %d with engines %v: got fault %v of another engine or server", seed, c.engines, f)
				}
				if f.At == before.At && slices.Contains(all, engine) {
					pairs++
					if strings.HasPrefix(before.Kind, engine+"-") {
						t.Fatalf("seed %d: got %v together with %v on the same engine", seed, f, before)
					}
				}
				before = f
			}
		}
		if len(c.engines) == 0 {
			without = len(seen)
		}
		if len(seen) != without+c.more || (pairs > 0) != (len(c.engines) > 0) {
			t.Errorf("engines %v: got %d kinds of faults, %d without engines, and %d pairs with a fault of an engine", c.engines, len(seen), without, pairs)
		}
	}
}
