package directory

import (
	"slices"
	"strings"
	"sync"
)

// nodeSet is an immutable set of other nodes. Users share the sets, because most users are on one of a few.
type nodeSet struct {
	remote    []string // sorted
	withLocal []string // remote and this node
}

// nodeSets interns node sets.
type nodeSets struct {
	local string

	mu    sync.Mutex // guards known
	known map[string]*nodeSet
}

// maxSets bounds the interned sets. When it is reached, interning starts afresh.
const maxSets = 4096

func (s *nodeSets) intern(names []string) *nodeSet {
	if len(names) == 0 {
		return nil
	}
	key := strings.Join(names, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.known[key]
	if n == nil {
		if len(s.known) >= maxSets || s.known == nil {
			s.known = map[string]*nodeSet{}
		}
		n = &nodeSet{remote: names, withLocal: append(slices.Clone(names), s.local)}
		s.known[key] = n
	}
	return n
}

// with returns the set with or without a node; nil is the empty set.
func (s *nodeSets) with(n *nodeSet, node string, in bool) *nodeSet {
	if n.has(node) == in {
		return n
	}
	var names []string
	if n != nil {
		names = slices.Clone(n.remote)
	}
	if in {
		names = append(names, node)
		slices.Sort(names)
	} else {
		names = slices.DeleteFunc(names, func(o string) bool { return o == node })
	}
	return s.intern(names)
}

func (n *nodeSet) has(node string) bool { return n != nil && slices.Contains(n.remote, node) }

// nodeList returns the nodes of a set, and this node if here is true.
func (s *Service) nodeList(n *nodeSet, here bool) []string {
	switch {
	case n == nil && here:
		return s.onlyHere
	case n == nil:
		return nil
	case here:
		return n.withLocal
	}
	return n.remote
}
