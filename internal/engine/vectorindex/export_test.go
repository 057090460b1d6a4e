package vectorindex

import (
	"fmt"
	"slices"
)

// Check returns what is wrong with the graph: links that are not symmetric, lead to free slots, or are too many.
func (x *Index) Check() error {
	for s := range x.ids {
		slot := uint32(s)
		if x.levels[s] < 0 {
			if len(x.links[s]) != 0 {
				return fmt.Errorf("the free slot %d has links", s)
			}
			continue
		}
		for level, list := range x.links[s] {
			if len(list) > x.most(level) {
				return fmt.Errorf("slot %d has %d links on level %d", s, len(list), level)
			}
			if level == 0 && len(list) == 0 && len(x.slots) > 1 {
				return fmt.Errorf("slot %d has no links", s)
			}
			for _, n := range list {
				if n == slot || x.levels[n] < int8(level) || !slices.Contains(x.links[n][level], slot) {
					return fmt.Errorf("the link of slot %d to %d on level %d is not symmetric", s, n, level)
				}
			}
		}
	}
	return nil
}

// Slots returns how many slots have memory.
func (x *Index) Slots() int { return len(x.ids) }

// SketchBounds returns how similar two vectors are at most, by their sketches, for searches and for links.
func (x *Index) SketchBounds(a, b []float32) (search, build float32) {
	first, second := x.planes.sketch(a), x.planes.sketch(b)
	n := first.differences(&second)
	return x.searchBounds[n], x.buildBounds[n]
}
