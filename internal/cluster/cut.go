package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// unsaid is the cut of a node whose release does not say any.
const unsaid = "?"

// together gives those of the workers that are to have parts: all, or where some do not reach each other, as many as do. Whoever works
// parts gives what it has for users of others to those, and would wait for as long as it cannot. It is the same in every process: first
// who is cut off from the fewest. Where fewer than half would be left it is the bus that is away, and to move all to few would not help;
// and where a node does not say whom it reaches, the others cannot agree with it on who is to have what.
func together(workers []string, members map[string]member) []string {
	cut := map[[2]string]bool{}
	cuts := map[string]int{}
	for _, a := range workers {
		if members[a].cut == unsaid {
			return workers
		}
		for _, b := range strings.Fields(members[a].cut) {
			pair := [2]string{min(a, b), max(a, b)}
			if a != b && !cut[pair] && slices.Contains(workers, b) {
				cut[pair] = true
				cuts[a]++
				cuts[b]++
			}
		}
	}
	var kept []string
	ranked := slices.Clone(workers)
	slices.SortFunc(ranked, func(a, b string) int { return cmp.Or(cmp.Compare(cuts[a], cuts[b]), cmp.Compare(a, b)) })
	for _, n := range ranked {
		if !slices.ContainsFunc(kept, func(k string) bool { return cut[[2]string{min(k, n), max(k, n)}] }) {
			kept = append(kept, n)
		}
	}
	if 2*len(kept) < len(workers) {
		return workers
	}
	slices.Sort(kept)
	return kept
}
