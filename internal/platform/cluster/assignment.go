package cluster

import (
	"cmp"
	"slices"
)

// assignOwners returns the intended owner of each part; nil if there are no nodes. The result is the same in every process. No node gets
// more than its share, rounded up, and few parts move when a node joins or leaves (rendezvous hashing with bounded loads).
func assignOwners(kind string, parts int, nodes []string) []string {
	if len(nodes) == 0 {
		return nil
	}
	maxLoad := (parts + len(nodes) - 1) / len(nodes)
	load := make(map[string]int, len(nodes))
	out := make([]string, parts)
	ranked := slices.Clone(nodes)
	for i := range out {
		slices.SortFunc(ranked, func(a, b string) int {
			return cmp.Or(cmp.Compare(weight(kind, i, b), weight(kind, i, a)), cmp.Compare(a, b))
		})
		for _, n := range ranked {
			if load[n] < maxLoad {
				out[i], load[n] = n, load[n]+1
				break
			}
		}
	}
	return out
}

// weight of a node for a part: FNV-1a and then splitmix64's finalizer, because node names often differ only in the last letter.
func weight(kind string, number int, node string) uint64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for _, text := range []string{kind, node} {
		for i := range len(text) {
			add(text[i])
		}
		add(0)
	}
	add(byte(number))
	add(byte(number >> 8))
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
