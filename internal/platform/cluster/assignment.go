package cluster

import (
	"cmp"
	"slices"
)

// assignments computes the intended owners of parts, and keeps them for as long as the workers stay the same. It belongs to one goroutine.
type assignments struct {
	// assign is assignOwners, unless a test of a simulation breaks it.
	assign  func(kind string, parts int, nodes []string) []string
	workers []string
	of      map[string][]string // the owners of a kind's parts
}

func newAssignments() *assignments { return &assignments{assign: assignOwners} }

// follow sets the workers, ordered by name.
func (a *assignments) follow(workers []*member) {
	if !slices.EqualFunc(a.workers, workers, func(name string, m *member) bool { return name == m.Name }) {
		a.workers, a.of = names(workers), nil
	}
}

// owners returns the intended owner of each part of a kind; nil if there are no workers.
func (a *assignments) owners(kind string, parts int) []string {
	owners, known := a.of[kind]
	if !known || len(owners) != parts {
		owners = a.assign(kind, parts, a.workers)
		if a.of == nil {
			a.of = map[string][]string{}
		}
		a.of[kind] = owners
	}
	return owners
}

// assignOwners returns the intended owner of each part; nil if there are no nodes. The result is the same in every process. No node gets
// more than its share, rounded up, and few parts move when a node joins or leaves (rendezvous hashing with bounded loads).
func assignOwners(kind string, parts int, nodes []string) []string {
	if len(nodes) == 0 {
		return nil
	}
	maxLoad := (parts + len(nodes) - 1) / len(nodes)
	load := make([]int, len(nodes))
	hashes := make([]uint64, len(nodes))
	for j, n := range nodes {
		hashes[j] = hashNode(kind, n)
	}
	out := make([]string, parts)
	for i := range out {
		best, most := -1, uint64(0)
		for j, n := range nodes {
			if load[j] >= maxLoad {
				continue
			}
			w := weight(hashes[j], i)
			if best < 0 || w > most || w == most && cmp.Less(n, nodes[best]) {
				best, most = j, w
			}
		}
		out[i] = nodes[best]
		load[best]++
	}
	return out
}

// hashNode is FNV-1a of a kind and a node.
func hashNode(kind, node string) uint64 {
	h := uint64(14695981039346656037)
	for _, text := range []string{kind, node} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * fnvPrime
		}
		h *= fnvPrime // a 0 after each
	}
	return h
}

const fnvPrime = 1099511628211

// weight of a node, by its hash, for a part: FNV-1a goes on with the part, and then splitmix64's finalizer follows, because node names often differ only in the
// last letter.
func weight(node uint64, number int) uint64 {
	h := (node ^ uint64(byte(number))) * fnvPrime
	h = (h ^ uint64(byte(number>>8))) * fnvPrime
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
