package presence

import (
	"slices"
	"strings"
	"sync"
)

// nodes is a set of other nodes. It is never changed, and shared by all who are there: most are on one of a few.
type nodes struct {
	away []string // rising
	here []string // and this node
}

// sets has each set once.
type sets struct {
	own string

	mu    sync.Mutex // guards known
	known map[string]*nodes
}

// mostSets bounds the sets that are remembered; beyond, they are made anew.
const mostSets = 4096

func (s *sets) of(names []string) *nodes {
	if len(names) == 0 {
		return nil
	}
	key := strings.Join(names, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.known[key]
	if n == nil {
		if len(s.known) >= mostSets || s.known == nil {
			s.known = map[string]*nodes{}
		}
		n = &nodes{away: names, here: append(slices.Clone(names), s.own)}
		s.known[key] = n
	}
	return n
}

// put gives the set with a node, or without it; nil is the empty one.
func (s *sets) put(n *nodes, node string, in bool) *nodes {
	if n.has(node) == in {
		return n
	}
	var names []string
	if n != nil {
		names = slices.Clone(n.away)
	}
	if in {
		names = append(names, node)
		slices.Sort(names)
	} else {
		names = slices.DeleteFunc(names, func(o string) bool { return o == node })
	}
	return s.of(names)
}

func (n *nodes) has(node string) bool { return n != nil && slices.Contains(n.away, node) }

// list gives the nodes, with this one where it is here.
func (s *Service) list(n *nodes, here bool) []string {
	switch {
	case n == nil && here:
		return s.here
	case n == nil:
		return nil
	case here:
		return n.here
	}
	return n.away
}
