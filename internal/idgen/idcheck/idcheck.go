// Package idcheck looks for what ids must never do: come twice, or step back. It is for tests and for measuring.
//
// Its memory is bounded: what is held is one round of ids, and the greatest of all before. It touches nothing, and a Checker is
// used by one goroutine at a time.
package idcheck

import (
	"cmp"
	"fmt"
)

// Checker holds a generator to its promise. The zero value is ready.
type Checker[T cmp.Ordered] struct {
	any  bool
	last T
	// Count of ids so far.
	Count uint64
}

// Round takes what callers of one generator were given side by side: a run each, in the order in which it got them. All of it
// must be new: within a run ids rise, no id is in two runs, and none is as low as what was given before the round began.
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
		return fmt.Errorf("%v was given after %v", all[0], c.last)
	}
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			return fmt.Errorf("%v was given twice", all[i])
		}
	}
	c.any, c.last = true, all[len(all)-1]
	c.Count += uint64(len(all))
	return nil
}

// merge makes one sorted run of many.
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

// Set is for generators that promise no order among their callers: it holds all ids that it was given.
type Set[T comparable] map[T]struct{}

// Add takes ids that must be new.
func (s Set[T]) Add(ids ...T) error {
	for _, v := range ids {
		if _, ok := s[v]; ok {
			return fmt.Errorf("%v was given twice", v)
		}
		s[v] = struct{}{}
	}
	return nil
}
