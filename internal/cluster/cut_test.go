package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestTogether: whoever cannot reach whom, those that are to have parts reach each other, and are at least half, or they are all; one
// that all reach is among them; and in which order nodes say it does not matter.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(r, "nodes")
		var workers []string
		members, cut := map[string]member{}, map[string]bool{}
		for i := range n {
			workers = append(workers, fmt.Sprint("n", i))
		}
		for a, name := range workers {
			says := []string{"gone"}
			for b, other := range workers {
				if a != b && rapid.IntRange(0, 4).Draw(r, "cut") == 0 {
					says = append(says, other)
					cut[name+other], cut[other+name] = true, true
				}
			}
			if rapid.IntRange(0, 20).Draw(r, "unsaid") == 0 {
				says = []string{unsaid}
			}
			members[name] = member{cut: strings.Join(says, " ")}
		}
		kept := together(workers, members)
		for _, m := range members {
			if m.cut == unsaid {
				if !slices.Equal(kept, workers) {
					r.Fatalf("%v of %v", kept, members)
				}
				return
			}
		}
		for _, w := range workers {
			meets := func(others []string) bool {
				return !slices.ContainsFunc(others, func(o string) bool { return cut[w+o] })
			}
			switch in := slices.Contains(kept, w); {
			case in && !meets(kept) && len(kept) < n, !in && meets(workers):
				r.Fatalf("%v of %v", kept, members)
			case !in && meets(kept):
				r.Fatalf("%v of %v: %s reaches all of them", kept, members, w)
			}
		}
		if 2*len(kept) < n || !slices.IsSorted(kept) {
			r.Fatalf("%v of %v", kept, members)
		}
		if len(cut) == 0 && len(kept) < n {
			r.Fatalf("%v of %v, and nothing is cut", kept, members)
		}
	})
}

// TestANodeIsCutOffOnTheBus, which beats: others have its parts while that lasts, and it has its share when it is over. Of two, one goes on.
func TestANodeIsCutOffOnTheBus(t *testing.T) {
	for n := 2; n <= 4; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, table: newTable(), nodes: map[string]*actor{}, works: map[int]string{}, cut: map[string][]string{}}
			for range n {
				w.join()
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.settled()
			off, on := "node-2", []string{"node-1", "node-3", "node-4"}[:n-1]
			w.mu.Lock()
			w.cut[off] = on
			for _, name := range on {
				w.cut[name] = []string{off}
			}
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.mu.Lock()
			for p := range testParts {
				if !slices.Contains(on, w.works[p]) {
					t.Errorf("of %d nodes %q has part %d, and does not reach the others", n, w.works[p], p)
				}
			}
			clear(w.cut)
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.settled()
			for name := range w.nodes {
				w.stop(name)
			}
		})
	}
}
