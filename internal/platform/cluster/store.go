package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// member is a node as described by its row.
type member struct {
	Node
	incarnation uint64
	heartbeat   uint64
	unreachable string // names of nodes that it cannot reach, separated by spaces; reachUnknown for an earlier release
	gateway     string // a Gateway in JSON; "" for an earlier release
}

// ownership says who owns a part.
type ownership struct {
	node string // "" if nobody
	term uint64 // counts the changes of the owner
}

// state of the tables. What it points to is shared, and not changed.
type state struct {
	members  []*member // ordered by name
	parts    map[part]ownership
	protocol int // that all nodes speak
}

// member returns a node's row, or nil.
func (s *state) member(name string) *member { return findMember(s.members, name) }

// findMember finds a name among members that are ordered by name; nil if it is not among them.
func findMember(members []*member, name string) *member {
	i, found := slices.BinarySearchFunc(members, name, func(m *member, name string) int { return strings.Compare(m.Name, name) })
	if !found {
		return nil
	}
	return members[i]
}

// orderByName orders members that were read in any order.
func orderByName(members []*member) {
	slices.SortFunc(members, func(a, b *member) int { return strings.Compare(a.Name, b.Name) })
}

// change of a part's owner, and of its term from one to the next. It is applied only if the part's term is still the same.
type change struct {
	part
	term, next uint64
	owner      string
}

// store holds the state that the nodes share.
type store interface {
	// heartbeat writes m's row and returns the state. It fails with errNameTaken if a later process has taken over m's name.
	heartbeat(ctx context.Context, m member, first bool) (state, error)
	// apply makes each change whose term still matches, and reports which ones it made. There is at least one change, and at most one
	// for each part.
	apply(ctx context.Context, changes []change) ([]bool, error)
	// leave deletes m's row.
	leave(ctx context.Context, m member) error
	// read returns the state without changing it.
	read(ctx context.Context) (state, error)
	// raiseProtocol sets the protocol if it is higher than the current one and every node with a row speaks it. It reports whether it
	// did.
	raiseProtocol(ctx context.Context, protocol int) (bool, error)
	// removeDead deletes the rows of dead members that have sent no heartbeat since.
	removeDead(ctx context.Context, dead []*member) error
}

// localStore is the store of a single node. The lock on the data directory keeps other processes away.
type localStore struct {
	protocol int
	parts    map[part]ownership
}

func (l *localStore) heartbeat(_ context.Context, m member, _ bool) (state, error) {
	return state{members: []*member{&m}, parts: maps.Clone(l.parts), protocol: l.protocol}, nil
}

func (l *localStore) apply(_ context.Context, changes []change) ([]bool, error) {
	made := make([]bool, len(changes))
	if l.parts == nil {
		l.parts = map[part]ownership{}
	}
	for i, c := range changes {
		l.parts[c.part], made[i] = ownership{c.owner, c.next}, true
	}
	return made, nil
}

func (l *localStore) read(context.Context) (state, error) { return state{protocol: l.protocol}, nil }

func (l *localStore) raiseProtocol(_ context.Context, protocol int) (bool, error) {
	l.protocol = protocol
	return true, nil
}

func (*localStore) leave(context.Context, member) error { return nil }

func (*localStore) removeDead(context.Context, []*member) error { return nil }
