package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// logAssignments logs which parts were assigned to this node and revoked from it since the last call, in one line for each kind of work.
func (d *decisions) logAssignments() {
	for _, w := range d.work {
		if n := numbersOfKind(d.unloggedRaised, w.Kind); len(n) > 0 {
			d.logger.Warn("a store has higher terms for parts than the cluster; this node acquires them again in higher terms", "work", w.Kind, "parts", ranges(n), "count", len(n))
		}
		if n := numbersOfKind(d.unloggedRevoked, w.Kind); len(n) > 0 {
			d.logger.Info("parts revoked from this node", "work", w.Kind, "parts", ranges(n), "count", len(n))
		}
		if n := numbersOfKind(d.unloggedAssigned, w.Kind); len(n) > 0 {
			d.logger.Info("parts assigned to this node", "work", w.Kind, "parts", ranges(n), "count", len(n))
		}
	}
	d.unloggedAssigned, d.unloggedRevoked, d.unloggedRaised = d.unloggedAssigned[:0], d.unloggedRevoked[:0], d.unloggedRaised[:0]
}

// numbersOfKind returns the numbers of the parts of one kind, sorted.
func numbersOfKind(parts []part, kind string) (list []int) {
	for _, p := range parts {
		if p.kind == kind {
			list = append(list, p.number)
		}
	}
	slices.Sort(list)
	return list
}

// ranges formats sorted numbers like "0-15 17 20-31".
func ranges(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if j == i {
			fmt.Fprint(&b, numbers[i])
		} else {
			fmt.Fprintf(&b, "%d-%d", numbers[i], numbers[j])
		}
		i = j + 1
	}
	return b.String()
}
