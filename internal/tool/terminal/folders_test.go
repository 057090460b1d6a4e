package terminal

import (
	"slices"
	"testing"
)

// A folder moves by one place, and not beyond the first and the last.
func TestFoldersMoveByOnePlace(t *testing.T) {
	for _, test := range []struct {
		i    int
		up   bool
		want []uint64
	}{{0, true, []uint64{5, 6, 7}}, {1, true, []uint64{6, 5, 7}}, {1, false, []uint64{5, 7, 6}}, {2, false, []uint64{5, 6, 7}}} {
		ids := []uint64{5, 6, 7}
		if moved := exchange(ids, test.i, test.up); !slices.Equal(ids, test.want) || moved == slices.Equal(ids, []uint64{5, 6, 7}) {
			t.Errorf("%d, up %v: got %v, moved %v", test.i, test.up, ids, moved)
		}
	}
}
