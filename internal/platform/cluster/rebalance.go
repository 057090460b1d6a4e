package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// rebalance makes the planned changes of parts.
func (s *Service) rebalance(ctx context.Context, now *state, live []*member) error {
	defer s.logAssignments()
	changes := s.plan(*now, live)
	if len(changes) == 0 {
		return nil
	}
	made, err := s.store.apply(ctx, changes)
	if err != nil {
		return err
	}
	now.parts = s.applied(now.parts, changes, made)
	return nil
}

func (d *decisions) workOf(p part) *Work {
	i := slices.IndexFunc(d.work, func(w Work) bool { return w.Kind == p.kind })
	return &d.work[i]
}

func (d *decisions) assign(p part, term uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	g := NewGrant(ctx, p.number, term)
	d.grants[p] = heldGrant{g, cancel}
	d.unloggedAssigned = append(d.unloggedAssigned, p)
	if w := d.workOf(p); w.Assigned != nil {
		w.Assigned(g)
	}
}

func (d *decisions) revoke(p part) {
	l, granted := d.grants[p]
	if !granted {
		return
	}
	l.cancel()
	delete(d.grants, p)
	d.unloggedRevoked = append(d.unloggedRevoked, p)
	if w := d.workOf(p); w.Revoked != nil {
		w.Revoked(p.number)
	}
}

func (d *decisions) revokeAll(reason string) {
	if len(d.grants) > 0 {
		d.logger.Warn("this node gives up all its parts", "reason", reason, "parts", len(d.grants))
	}
	d.revokeEach()
	d.logAssignments()
}

// revokeEach revokes all grants, in the order of their parts.
func (d *decisions) revokeEach() {
	for _, p := range slices.SortedFunc(maps.Keys(d.grants), func(a, b part) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number)) }) {
		d.revoke(p)
	}
}
