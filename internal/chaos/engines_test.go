package chaos_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/chaos"
)

// Faults of engines come where those are part of the cluster, and there only; two on one engine never come together.
func TestSchedulesOfEngines(t *testing.T) {
	all := []string{chaos.WithCassandra, chaos.WithNATS, chaos.WithS3}
	without := 0
	for _, c := range []struct {
		engines []string
		more    int // kinds than without
	}{{nil, 0}, {all[:1], 4}, {all[1:2], 7}, {all[2:], 3}, {all, 14}} {
		seen := map[string]bool{}
		pairs := 0
		for seed := range uint64(100) {
			var before chaos.Fault
			for _, f := range chaos.Schedule(chaos.Plan{Seed: seed, Nodes: 2, Engines: c.engines, Over: 20 * time.Minute, Every: 10 * time.Second, Longest: 20 * time.Second}) {
				engine, _, _ := strings.Cut(f.Kind, "-")
				seen[f.Kind] = true
				if slices.Contains(all, engine) && (!slices.Contains(c.engines, engine) || f.Node > 2) {
					t.Fatalf("seed %d with %v: %v", seed, c.engines, f)
				}
				if f.At == before.At && slices.Contains(all, engine) {
					pairs++
					if strings.HasPrefix(before.Kind, engine+"-") {
						t.Fatalf("seed %d: %v beside %v", seed, f, before)
					}
				}
				before = f
			}
		}
		if len(c.engines) == 0 {
			without = len(seen)
		}
		if len(seen) != without+c.more || (pairs > 0) != (len(c.engines) > 0) {
			t.Errorf("with %v there are %d kinds of faults, and %d without; %d of engines beside others", c.engines, len(seen), without, pairs)
		}
	}
}
