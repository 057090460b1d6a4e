package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// reachUnknown is written by releases that do not report which nodes they cannot reach.
const reachUnknown = "?"

// subsets computes connected subsets, and keeps the last one for as long as the workers report the same. It belongs to one goroutine.
type subsets struct {
	workers []*member // as last given
	kept    []*member
}

// connected returns the workers that may own parts; see connectedSubset.
func (s *subsets) connected(workers []*member) []*member {
	same := func(a, b *member) bool { return a.Name == b.Name && a.unreachable == b.unreachable }
	if !slices.ContainsFunc(workers, func(m *member) bool { return m.unreachable != "" }) {
		return workers
	}
	if !slices.EqualFunc(s.workers, workers, same) {
		s.workers = slices.Clone(workers)
		s.kept = connectedSubset(s.workers)
	}
	return s.kept
}

// connectedSubset returns the workers that may own parts: all of them, or, if some cannot reach each other on the bus, a subset that
// can. The owner of a part sends entries to the owners of other parts, so it would stall while it cannot reach one of them. Workers are ordered by name.
//
// The result is the same in every process. Workers that are cut off from the fewest others are added first. It is all workers if
// fewer than half would remain: then the bus itself is down, and moving all parts to a few nodes would not help. It is also all workers
// if one of them does not report whom it reaches, because that one would compute a different assignment.
func connectedSubset(workers []*member) []*member {
	number := make(map[string]int, len(workers))
	for i, m := range workers {
		if m.unreachable == reachUnknown {
			return workers
		}
		number[m.Name] = i
	}
	separated := make([][]bool, len(workers)) // nil for those that are cut off from nobody
	separations := make([]int, len(workers))
	separate := func(a, b int) {
		if separated[a] == nil {
			separated[a] = make([]bool, len(workers))
		}
		if !separated[a][b] {
			separated[a][b] = true
			separations[a]++
		}
	}
	for a, m := range workers {
		for other := range strings.FieldsSeq(m.unreachable) {
			if b, known := number[other]; known && a != b {
				separate(a, b)
				separate(b, a)
			}
		}
	}
	ranked := make([]int, len(workers))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(separations[a], separations[b]) }) // then by name
	var kept []int
	for _, n := range ranked {
		if separated[n] == nil || !slices.ContainsFunc(kept, func(k int) bool { return separated[n][k] }) {
			kept = append(kept, n)
		}
	}
	if 2*len(kept) < len(workers) {
		return workers
	}
	slices.Sort(kept)
	list := make([]*member, len(kept))
	for i, n := range kept {
		list[i] = workers[n]
	}
	return list
}
