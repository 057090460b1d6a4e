package outputlimit_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"pgregory.net/rapid"
)

// A page may be full with the last row that was read: what follows is not read for it.
func TestAPageMayEndWithARead(t *testing.T) {
	reads := 0
	entries, next, err := outputlimit.FillPage(1, 0, func(behind, n int) (rows []outputlimit.Row[int, int], err error) {
		reads++
		for i := range n {
			rows = append(rows, outputlimit.Row[int, int]{Place: behind + i + 1})
		}
		rows[n-1].Entry = &reads
		return rows, nil
	})
	if err != nil || len(entries) != 1 || next == nil || reads != 1 {
		t.Errorf("the page has %d entries after %d reads, and the next begins behind %v (%v)", len(entries), reads, next, err)
	}
}

// Pages that follow each other have each entry that the reader may see once, in order, whatever is hidden between them. No page is longer than its limits, or empty
// without a reason.
func TestPagesHaveEachEntryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		visible := rapid.SliceOfN(rapid.Bool(), 0, 1200).Draw(t, "visible")
		if rapid.Bool().Draw(t, "a long gap") {
			visible = append(append(visible, make([]bool, 700)...), true)
		}
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		bytes := rapid.SampledFrom([]int{1, 10_000, 200_000}).Draw(t, "bytes")
		var want, got []int
		for i, is := range visible {
			if is {
				want = append(want, i)
			}
		}
		pages := 0
		for place := -1; ; pages++ {
			reads := 0
			entries, next, err := outputlimit.FillPage(limit, place, func(behind, n int) (rows []outputlimit.Row[int, int], err error) {
				for i := behind + 1; i < len(visible) && len(rows) < n; i++ {
					r := outputlimit.Row[int, int]{Place: i, Bytes: bytes}
					if visible[i] {
						r.Entry = &i
					}
					rows = append(rows, r)
				}
				reads += len(rows)
				return rows, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) > limit || len(entries) > 1 && len(entries)*bytes > 128<<10 || reads > 500+limit+5 {
				t.Fatalf("a page of at most %d has %d entries of %d bytes, and cost %d rows", limit, len(entries), bytes, reads)
			}
			for _, e := range entries {
				got = append(got, *e)
			}
			if next == nil {
				break
			}
			if len(entries) == 0 && reads < 500 {
				t.Fatalf("an empty page, after %d rows", reads)
			}
			place = *next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d pages have %d entries, want %d", pages, len(got), len(want))
		}
	})
}
