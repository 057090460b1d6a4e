package directory

import (
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
)

// expire removes users whose grace is over. It returns the departures of which this node is the owner.
func (s *Service) expire() []Departure {
	now := s.now()
	s.mu.Lock()
	departed, expired := s.departed, []Departure(nil)
	s.departed = nil
	kept := s.expiring[:0]
	for _, u := range s.expiring {
		sh := s.shard(u)
		sh.mu.Lock()
		p := sh.users[u]
		switch {
		case !p.disconnected(): // the user came back
			p.expiring = false
		case (p.loggedOut || p.graceEnd <= now) && s.isReported(u):
			expired = append(expired, Departure{User: u, LastActiveMs: s.wall(p.lastActive()), Notify: true})
			delete(sh.users, u)
		default:
			kept = append(kept, u)
		}
		sh.mu.Unlock()
	}
	s.expiring = kept
	s.mu.Unlock()
	if s.partitions != nil { // the owner reports the departures of other users
		expired = slices.DeleteFunc(expired, func(e Departure) bool { return s.partitionOf(uint64(e.User)).owner.current() == 0 })
	}
	return append(departed, expired...)
}

// isReported reports whether a user's owner knows that the user has disconnected from this node.
func (s *Service) isReported(u id.User) bool {
	if s.partitions == nil {
		return true
	}
	e := &s.partitionOf(uint64(u)).reporter
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.isPending(key{aboutUser, uint64(u)})
}

// LastActive returns when the users who are online were last active, and the departures that were not reported yet.
func (s *Service) LastActive() []Departure {
	s.mu.Lock()
	list := slices.Clone(s.departed)
	s.mu.Unlock()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u, p := range sh.users {
			list = append(list, Departure{User: u, LastActiveMs: s.wall(p.lastActive())})
		}
		sh.mu.RUnlock()
	}
	return list
}
