package natsbus

import (
	"slices"
	"strings"
	"testing"
)

// A node moves to another server after some tallies in which no peer receives it, as often as there are other servers, and again after a
// while; but not while it is disconnected, nor if there is only one server.
func TestAnIsolatedNodeMovesToAnotherServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  []string // announcements of the others at each tally
		servers int
		away    bool // disconnected
		moves   int  // in 200 tallies
	}{
		{"with peers that receive it", []string{"b\na", "c\nb\na"}, 3, false, 0},
		{"with one peer that receives it", []string{"b", "c\na"}, 3, false, 0},
		{"received by no peer", []string{"b\nc", "c\nb"}, 3, false, 6},
		{"isolated, and receiving itself", []string{"a\na"}, 3, false, 6},
		{"isolated with one server", nil, 1, false, 0},
		{"without a server", nil, 3, true, 0},
	} {
		n := &isolationDetector{node: "a", heard: map[string]int{}}
		moves, announcement := 0, []byte(nil)
		for range 200 {
			for _, text := range c.others {
				n.hear([]byte(text))
			}
			var move bool
			if announcement, move, _ = n.tally(!c.away, c.servers); move {
				moves++
			}
		}
		if moves != c.moves {
			t.Errorf("%s: got %d moves, want %d", c.name, moves, c.moves)
		}
		want := []string{"a"}
		for _, text := range c.others {
			if name, _, _ := strings.Cut(text, "\n"); name != "a" {
				want = append(want, name)
			}
		}
		if got := strings.Split(string(announcement), "\n"); got[0] != "a" || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s: got announcement %q", c.name, announcement)
		}
	}
}
