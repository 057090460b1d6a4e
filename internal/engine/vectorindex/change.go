package vectorindex

import (
	"cmp"
	"slices"
)

// insert links a node, whose slot has its vector and level, with its neighbours. The caller holds mu.
func (x *Index) insert(s uint32) {
	level := int(x.levels[s])
	if len(x.slots) == 1 {
		x.entry = s
		return
	}
	x.builder.query.setTo(x.words(s), x.scales[s])
	x.builder.sketch = x.sketches[s]
	top := int(x.levels[x.entry])
	at := x.descend(&x.builder.query, top, min(level, top))
	for l := min(level, top); l >= 0; l-- {
		found := x.builder.search(x, x.buildBounds, at, l, x.config.BuildWidth)
		at = found[0]
		for _, n := range x.choose(found, x.config.Links) {
			x.link(s, n.slot, l)
		}
	}
	if level > top {
		x.entry = s
	}
}

// choose returns at most n of some nodes, which are ordered by similarity to one: those that are more similar to it than to the ones chosen before, so that the
// links of a node lead in different directions; then the most similar of the others.
func (x *Index) choose(list []near, n int) []near {
	chosen, others := make([]near, 0, n), []near(nil)
	var v factor
	for _, c := range list {
		if len(chosen) == n {
			return chosen
		}
		v.setTo(x.words(c.slot), x.scales[c.slot])
		if slices.ContainsFunc(chosen, func(o near) bool { return x.similarity(&v, o.slot) > c.similarity }) {
			others = append(others, c)
		} else {
			chosen = append(chosen, c)
		}
	}
	return append(chosen, others[:min(len(others), n-len(chosen))]...)
}

// link links two nodes of a level with each other.
func (x *Index) link(a, b uint32, level int) {
	if a == b || slices.Contains(x.links[a][level], b) {
		return
	}
	x.links[a][level] = append(x.links[a][level], b)
	x.links[b][level] = append(x.links[b][level], a)
	x.shrink(a, level)
	x.shrink(b, level)
}

// shrink takes links from a node that has too many. A node whose last link that would be keeps it, in place of the worst that may go.
func (x *Index) shrink(s uint32, level int) {
	most := x.most(level)
	if len(x.links[s][level]) <= most {
		return
	}
	list := x.nearTo(s, x.links[s][level])
	kept := x.choose(list, most)
	drop := make([]uint32, 0, len(list)-len(kept))
	for _, n := range list {
		if !slices.Contains(kept, n) {
			drop = append(drop, n.slot)
		}
	}
	for i, n := range drop {
		if len(x.links[n][level]) > 1 {
			continue
		}
		for j := len(kept) - 1; j >= 0; j-- {
			if other := kept[j].slot; len(x.links[other][level]) > 1 {
				drop[i], kept[j].slot = other, n
				break
			}
		}
	}
	for _, n := range drop {
		x.unlink(s, n, level)
		x.unlink(n, s, level)
	}
}

// nearTo returns some nodes without a certain one, the most similar to that first.
func (x *Index) nearTo(s uint32, some []uint32) []near {
	var v factor
	v.setTo(x.words(s), x.scales[s])
	list := make([]near, 0, len(some))
	for _, n := range some {
		if n != s {
			list = append(list, near{x.similarity(&v, n), n})
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func compare(a, b near) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.slot, b.slot))
}

// unlink takes the link to b from a.
func (x *Index) unlink(a, b uint32, level int) {
	list := x.links[a][level]
	if i := slices.Index(list, b); i >= 0 {
		x.links[a][level] = slices.Delete(list, i, i+1)
	}
}

// remove takes a node out of the graph, and links its neighbours with each other in its place. The caller holds mu.
func (x *Index) remove(s uint32) {
	for level, neighbours := range x.links[s] {
		for _, n := range neighbours {
			x.unlink(n, s, level)
		}
		for _, n := range neighbours {
			x.repair(n, neighbours, level)
		}
	}
	delete(x.slots, x.ids[s])
	x.ids[s], x.levels[s], x.links[s] = 0, -1, nil
	x.free = append(x.free, s)
	if s == x.entry && len(x.slots) > 0 {
		x.entry = x.highest()
	}
}

// repair links a node, which has lost a neighbour, with the best of the other neighbours of that one.
func (x *Index) repair(s uint32, others []uint32, level int) {
	for _, n := range x.choose(x.nearTo(s, others), repairLinks) {
		x.link(s, n.slot, level)
	}
}

// repairLinks is how many new links a node gets for one that it lost.
const repairLinks = 3

// highest returns a node of the highest level.
func (x *Index) highest() uint32 {
	best := 0
	for s, level := range x.levels {
		if level > x.levels[best] {
			best = s
		}
	}
	return uint32(best)
}
