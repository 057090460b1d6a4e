package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// reachUnknown is written by releases that do not report which nodes they cannot reach.
const reachUnknown = "?"

// connectedSubset returns the workers that may own parts: all of them, or, if some cannot reach each other on the bus, a subset that
// can. The owner of a part sends entries to the owners of other parts, so it would stall while it cannot reach one of them.
//
// The result is the same in every process. Workers that are cut off from the fewest others are added first. It is all workers if
// fewer than half would remain: then the bus itself is down, and moving all parts to a few nodes would not help. It is also all workers
// if one of them does not report whom it reaches, because that one would compute a different assignment.
func connectedSubset(workers []string, members map[string]member) []string {
	separated := map[[2]string]bool{}
	separations := map[string]int{}
	for _, a := range workers {
		if members[a].unreachable == reachUnknown {
			return workers
		}
		for _, b := range strings.Fields(members[a].unreachable) {
			pair := [2]string{min(a, b), max(a, b)}
			if a != b && !separated[pair] && slices.Contains(workers, b) {
				separated[pair] = true
				separations[a]++
				separations[b]++
			}
		}
	}
	var kept []string
	ranked := slices.Clone(workers)
	slices.SortFunc(ranked, func(a, b string) int { return cmp.Or(cmp.Compare(separations[a], separations[b]), cmp.Compare(a, b)) })
	for _, n := range ranked {
		if !slices.ContainsFunc(kept, func(k string) bool { return separated[[2]string{min(k, n), max(k, n)}] }) {
			kept = append(kept, n)
		}
	}
	if 2*len(kept) < len(workers) {
		return workers
	}
	slices.Sort(kept)
	return kept
}
