package natsbus

import (
	"slices"
	"strings"
	"testing"
)

// TestCompany: a node goes to another server when for some tallies nobody is heard who hears it, as often as there are other servers, and
// again after a while; not while it is connected with none; and not where there is one server.
func TestCompany(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  []string // what others say at each tally
		servers int
		away    bool // not connected
		moves   int  // in 200 tallies
	}{
		{"with others that hear it", []string{"b\na", "c\nb\na"}, 3, false, 0},
		{"with one that hears it", []string{"b", "c\na"}, 3, false, 0},
		{"heard by nobody", []string{"b\nc", "c\nb"}, 3, false, 6},
		{"hearing itself alone", []string{"a\na"}, 3, false, 6},
		{"alone with one server", nil, 1, false, 0},
		{"without a server", nil, 3, true, 0},
	} {
		n := &company{node: "a", heard: map[string]int{}}
		moves, says := 0, []byte(nil)
		for range 200 {
			for _, text := range c.others {
				n.hear([]byte(text))
			}
			var move bool
			if says, move, _ = n.tally(!c.away, c.servers); move {
				moves++
			}
		}
		if moves != c.moves {
			t.Errorf("%s it moves %d times, want %d", c.name, moves, c.moves)
		}
		want := []string{"a"}
		for _, text := range c.others {
			if name, _, _ := strings.Cut(text, "\n"); name != "a" {
				want = append(want, name)
			}
		}
		if got := strings.Split(string(says), "\n"); got[0] != "a" || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s it says %q", c.name, says)
		}
	}
}
