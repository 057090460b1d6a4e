// Package idcheck detects ids that are generated twice, or are lower than an earlier one. It is for tests and measurements.
//
// Its memory is bounded: it holds one round of ids, and the greatest of all earlier ones. It does no I/O. A Checker is
// used by one goroutine at a time.
package idcheck

import (
	"cmp"
	"fmt"
)

// Checker checks the ids of one generator. The zero value is ready to use.
type Checker[T cmp.Ordered] struct {
	any  bool
	last T
	// Count is the number of ids so far.
	Count uint64
}

// Round checks the ids that concurrent callers of one generator got: one run for each caller, in the order in which it got them. All must
// be new: within a run ids increase, no id is in two runs, and each is above all ids of earlier rounds.
func (c *Checker[T]) Round(runs ...[]T) error {
	for i, run := range runs {
		for j := 1; j < len(run); j++ {
			if run[j] <= run[j-1] {
				return fmt.Errorf("caller %d got %v after %v", i, run[j], run[j-1])
			}
		}
	}
	all := merge(runs)
	if len(all) == 0 {
		return nil
	}
	if c.any && all[0] <= c.last {
		return fmt.Errorf("%v was issued after %v", all[0], c.last)
	}
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			return fmt.Errorf("%v was issued twice", all[i])
		}
	}
	c.any, c.last = true, all[len(all)-1]
	c.Count += uint64(len(all))
	return nil
}

// merge merges sorted runs into one.
func merge[T cmp.Ordered](runs [][]T) []T {
	switch len(runs) {
	case 0:
		return nil
	case 1:
		return runs[0]
	}
	a, b := merge(runs[:len(runs)/2]), merge(runs[len(runs)/2:])
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Set is for generators that guarantee no order among their callers. It holds all ids that were added.
type Set[T comparable] map[T]struct{}

// Add checks that ids are new, and remembers them.
func (s Set[T]) Add(ids ...T) error {
	for _, v := range ids {
		if _, ok := s[v]; ok {
			return fmt.Errorf("%v was issued twice", v)
		}
		s[v] = struct{}{}
	}
	return nil
}
