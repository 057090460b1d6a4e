package idcheck_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"pgregory.net/rapid"
)

// TestHistories: valid histories pass, and each violation is found.
func TestHistories(t *testing.T) {
	type round [][]int
	for name, tc := range map[string]struct {
		rounds []round
		want   string // "" for a good one
	}{
		"nothing":                     {nil, ""},
		"one caller":                  {[]round{{{1, 2, 9}}, {{10}}, {{}}, {{11, 12}}}, ""},
		"side by side":                {[]round{{{1, 4, 5}, {2, 3, 6}, {}}, {{8}, {7, 9}}}, ""},
		"a caller gets one again":     {[]round{{{1, 2, 2}}}, "caller 0 got 2 after 2"},
		"a caller's ids decrease":     {[]round{{{7}, {1, 5, 4}}}, "caller 1 got 4 after 5"},
		"two callers get one":         {[]round{{{1, 4}, {2, 4}}}, "4 was issued twice"},
		"two callers get the first":   {[]round{{{1}, {2}, {3}, {1}}}, "1 was issued twice"},
		"again, later":                {[]round{{{1, 2}}, {{2, 3}}}, "2 was issued after 2"},
		"back, later":                 {[]round{{{5}}, {{6}}, {{}, {9, 10}, {4}}}, "4 was issued after 6"},
		"back, behind an empty round": {[]round{{{5}}, {{}}, {{3}}}, "3 was issued after 5"},
		"zero is an ordinary id":      {[]round{{{0}}, {{0}}}, "0 was issued after 0"},
	} {
		var c idcheck.Checker[int]
		var err error
		total := 0
		for _, r := range tc.rounds {
			if err = c.Round(r...); err != nil {
				break
			}
			for _, run := range r {
				total += len(run)
			}
		}
		switch {
		case tc.want == "" && (err != nil || c.Count != uint64(total)):
			t.Errorf("%s: %v, %d of %d counted", name, err, c.Count, total)
		case tc.want != "" && (err == nil || err.Error() != tc.want):
			t.Errorf("%s: %v; want %s", name, err, tc.want)
		}
	}
}

// TestOneFaultAmongMany: in a long history a single repeated id is found wherever it is. Without it, the history passes.
func TestOneFaultAmongMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		callers := rapid.IntRange(1, 9).Draw(t, "callers")
		rounds := make([][][]string, rapid.IntRange(1, 5).Draw(t, "rounds"))
		n := 1000
		for i := range rounds {
			rounds[i] = make([][]string, callers)
			for range rapid.IntRange(0, 40).Draw(t, "ids") {
				to := rapid.IntRange(0, callers-1).Draw(t, "caller")
				rounds[i][to] = append(rounds[i][to], string([]byte{byte('0' + n/1000), byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)}))
				n++
			}
		}
		check := func() error {
			var c idcheck.Checker[string]
			for _, r := range rounds {
				if err := c.Round(r...); err != nil {
					return err
				}
			}
			return nil
		}
		if err := check(); err != nil {
			t.Fatal(err)
		}
		if n == 1000 {
			return
		}
		of := rapid.IntRange(1000, n-1).Draw(t, "again")
		again := string([]byte{byte('0' + of/1000), byte('0' + of/100%10), byte('0' + of/10%10), byte('0' + of%10)})
		to := &rounds[rapid.IntRange(0, len(rounds)-1).Draw(t, "round")][rapid.IntRange(0, callers-1).Draw(t, "to")]
		*to = slices.Insert(*to, rapid.IntRange(0, len(*to)).Draw(t, "at"), again)
		if check() == nil {
			t.Fatalf("the repeated id %s was not found", again)
		}
	})
}

func TestSet(t *testing.T) {
	s := idcheck.Set[string]{}
	if err := s.Add("b", "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("c", "a"); err == nil || err.Error() != "a was issued twice" {
		t.Errorf("error %v, want that a was issued twice", err)
	}
}
