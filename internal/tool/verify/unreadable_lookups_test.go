package verify

import (
	"errors"
	"slices"
	"testing"
)

// TestManyUnreadableLookups: a damaged block has hundreds of rows, and each failed read takes a tenth of a second. The first ones are reported,
// the number of reads is bounded, and a note in the report says that some were left out.
func TestManyUnreadableLookups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ unreadable, reported, notes int }{{0, 0, 0}, {3, 3, 0}, {1000, maxUnreadable, 1}} {
		c := &check{ctx: t.Context(), report: &Report{}, local: true}
		list := make([]int, 4096)
		for i := range list {
			list[i] = i
		}
		failed := 0
		for range 5 { // lists of one run
			err := eachHalf(c, list, func(int) string { return "somewhere" }, func(asked []int) error {
				if slices.ContainsFunc(asked, func(i int) bool { return i%4 == 1 && i/4 < test.unreadable }) {
					failed++
					return errors.New("damaged")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.unreadable == 3 {
				break
			}
		}
		if len(c.report.Violations) != test.reported || len(c.report.Notes) != test.notes {
			t.Errorf("%d unreadable items: got %d reported, notes %q; want %d reported and %d notes", test.unreadable, len(c.report.Violations), c.report.Notes, test.reported, test.notes)
		}
		if failed > 200 {
			t.Errorf("%d unreadable items: got %d failed reads, which is too many", test.unreadable, failed)
		}
	}
}
