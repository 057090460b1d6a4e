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

// The connected subset can reach each other and has at least half of the nodes, or it is all nodes. It contains every node that all
// others reach.
func TestConnectedSubset(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(r, "nodes")
		var workers []string
		var members []*member
		cut := map[string]bool{}
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
				says = []string{reachUnknown}
			}
			members = append(members, &member{Node: Node{Name: name}, unreachable: strings.Join(says, " ")})
		}
		kept := names(connectedSubset(members))
		for _, m := range members {
			if m.unreachable == reachUnknown {
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
				r.Fatalf("%v of %v: %s reaches all of them but is not in the subset", kept, members, w)
			}
		}
		if 2*len(kept) < n || !slices.IsSorted(kept) {
			r.Fatalf("%v of %v", kept, members)
		}
		if len(cut) == 0 && len(kept) < n {
			r.Fatalf("%v of %v, although all nodes reach each other", kept, members)
		}
	})
}

// A node sends heartbeats but cannot reach the others on the bus. The others own its parts meanwhile, and it gets its share back
// afterwards. Of two nodes, one keeps working.
func TestANodeThatIsCutOffOnTheBusOwnsNoParts(t *testing.T) {
	for n := 2; n <= 4; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, table: newTable(), nodes: map[string]*testNode{}, owners: map[int]string{}, terms: map[int]uint64{}, unreachable: map[string][]string{}}
			for range n {
				w.join()
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.checkSettled()
			off, on := "node-2", []string{"node-1", "node-3", "node-4"}[:n-1]
			w.mu.Lock()
			w.unreachable[off] = on
			for _, name := range on {
				w.unreachable[name] = []string{off}
			}
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.mu.Lock()
			for p := range testParts {
				if !slices.Contains(on, w.owners[p]) {
					t.Errorf("of %d nodes, %q owns part %d but cannot reach the others", n, w.owners[p], p)
				}
			}
			clear(w.unreachable)
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			w.checkSettled()
			for name := range w.nodes {
				w.stop(name)
			}
		})
	}
}
