package cluster

import (
	"context"
	"slices"
)

// rebalance moves parts towards their intended owners, as far as this node can: it gives up parts that should belong to another
// node, and takes over parts that should be its own if nobody owns them or their owner is dead.
func (s *Service) rebalance(ctx context.Context, now state, live []string) error {
	defer s.logAssignments()
	var changes []change
	workers := slices.DeleteFunc(slices.Clone(live), func(name string) bool { return now.members[name].Idle })
	workers = connectedSubset(workers, now.members)
	for _, w := range s.deps.Work {
		for number, intended := range assignOwners(w.Kind, w.Parts, workers) {
			p := part{w.Kind, number}
			o, next := now.parts[p], now.parts[p].term+1
			ours := o.node == s.me.Name
			held, granted := s.grants[p]
			switch {
			case !ours && granted: // another node took it
				s.revoke(p)
			case ours && intended != s.me.Name:
				s.revoke(p)
				changes = append(changes, change{p, o.term, next, ""})
			case granted && held.Latest() >= o.term:
				next = held.Latest() + 1
				s.unloggedRaised = append(s.unloggedRaised, p)
				s.revoke(p)
			}
			_, granted = s.grants[p]
			if intended == s.me.Name && !granted && (ours || o.node == "" || !slices.Contains(live, o.node)) {
				changes = append(changes, change{p, o.term, next, s.me.Name})
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	made, err := s.store.apply(ctx, changes)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if !made[i] {
			continue
		}
		now.parts[c.part] = ownership{c.owner, c.next}
		if c.owner == s.me.Name && s.remaining() > 0 {
			s.assign(c.part, c.next)
		}
	}
	return nil
}

func (s *Service) work(p part) *Work {
	i := slices.IndexFunc(s.deps.Work, func(w Work) bool { return w.Kind == p.kind })
	return &s.deps.Work[i]
}

func (s *Service) assign(p part, term uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	g := NewGrant(ctx, p.number, term)
	s.grants[p] = heldGrant{g, cancel}
	s.unloggedAssigned = append(s.unloggedAssigned, p)
	if w := s.work(p); w.Assigned != nil {
		w.Assigned(g)
	}
}

func (s *Service) revoke(p part) {
	l, granted := s.grants[p]
	if !granted {
		return
	}
	l.cancel()
	delete(s.grants, p)
	s.unloggedRevoked = append(s.unloggedRevoked, p)
	if w := s.work(p); w.Revoked != nil {
		w.Revoked(p.number)
	}
}

func (s *Service) revokeAll(reason string) {
	if len(s.grants) > 0 {
		s.deps.Logger.Warn("this node gives up all its parts", "reason", reason, "parts", len(s.grants))
	}
	for p := range s.grants {
		s.revoke(p)
	}
	s.logAssignments()
}
