package cluster

import (
	"maps"
	"slices"
	"strings"
)

// Tables are the cluster's tables in memory, for simulations and tests. TestSQLStoreMatchesTheModel compares them with those of the databases. Each call is a
// transaction. They belong to one goroutine.
type Tables struct {
	// IgnoreTerms has changes made whatever the term of a part: for tests of what a simulation finds.
	IgnoreTerms bool

	members  []*member // ordered by name; a row is replaced, not changed
	parts    map[part]ownership
	shared   bool // a state refers to parts
	protocol int
	spare    [][]*member // memory of states that are over
}

// NewTables returns empty tables, of a cluster that uses a protocol.
func NewTables(protocol int) *Tables {
	return &Tables{parts: map[part]ownership{}, protocol: protocol}
}

// Owner returns the owner of a part, "" if nobody is, and its term.
func (t *Tables) Owner(kind string, number int) (node string, term uint64) {
	o := t.parts[part{kind, number}]
	return o.node, o.term
}

func (t *Tables) state() state {
	t.shared = true
	var members []*member
	if n := len(t.spare); n > 0 {
		members, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return state{append(members[:0], t.members...), t.parts, t.protocol}
}

// own makes parts a map that may be changed.
func (t *Tables) own() {
	if t.shared {
		t.parts, t.shared = maps.Clone(t.parts), false
	}
}

func (t *Tables) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t.members, name, func(m *member, name string) int { return strings.Compare(m.Name, name) })
}

func (t *Tables) heartbeat(m member, first bool) (state, error) {
	i, known := t.find(m.Name)
	switch {
	case !known:
		t.members = slices.Insert(t.members, i, &m)
	case !first && t.members[i].incarnation != m.incarnation:
		return state{}, errNameTaken
	default:
		t.members[i] = &m
	}
	return t.state(), nil
}

func (t *Tables) raiseProtocol(protocol int) bool {
	if protocol <= t.protocol || slices.ContainsFunc(t.members, func(m *member) bool { return m.Speaks < protocol }) {
		return false
	}
	t.protocol = protocol
	return true
}

func (t *Tables) apply(changes []change) []bool {
	t.own()
	made := make([]bool, len(changes))
	for i, c := range changes {
		if t.IgnoreTerms || t.parts[c.part].term == c.term {
			t.parts[c.part], made[i] = ownership{c.owner, c.next}, true
		}
	}
	return made
}

func (t *Tables) leave(m member) {
	i, known := t.find(m.Name)
	if !known || t.members[i].incarnation != m.incarnation {
		return
	}
	t.members = slices.Delete(t.members, i, i+1)
	t.own()
	for p, o := range t.parts {
		if o.node == m.Name {
			t.parts[p] = ownership{"", o.term + 1}
		}
	}
}

func (t *Tables) removeDead(dead []*member) {
	for _, m := range dead {
		if i, known := t.find(m.Name); known && *t.members[i] == *m {
			t.members = slices.Delete(t.members, i, i+1)
		}
	}
}
