package cluster

import (
	"context"
	"maps"
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

// state of the tables.
type state struct {
	members  map[string]member
	parts    map[part]ownership
	protocol int // that all nodes speak
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
	removeDead(ctx context.Context, dead []member) error
}

// localStore is the store of a single node. The lock on the data directory keeps other processes away.
type localStore struct {
	member   member
	protocol int
	parts    map[part]ownership
}

func (l *localStore) heartbeat(_ context.Context, m member, _ bool) (state, error) {
	l.member = m
	s := state{members: map[string]member{m.Name: m}, parts: map[part]ownership{}, protocol: l.protocol}
	maps.Copy(s.parts, l.parts)
	return s, nil
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

func (*localStore) removeDead(context.Context, []member) error { return nil }
