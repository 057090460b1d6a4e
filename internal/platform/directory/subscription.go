package directory

import "github.com/rialto-im/rialto/internal/base/id"

// Subscribe makes the directory call StatusChanged for a user. It does not block.
func (s *Service) Subscribe(u id.User) {
	s.mu.Lock()
	s.watched[u] = Status{}
	s.mu.Unlock()
	s.report(key{aboutWatch, uint64(u)})
}

// Unsubscribe ends Subscribe.
func (s *Service) Unsubscribe(u id.User) {
	s.mu.Lock()
	delete(s.watched, u)
	s.mu.Unlock()
	s.report(key{aboutWatch, uint64(u)})
}

// applyStatuses stores the owner's answer about watched users. It returns those whose status the owner does not know yet.
func (s *Service) applyStatuses(entries []entry, statuses []Status) (unresolved []key) {
	var changed []change
	s.mu.Lock()
	for i, n := range entries {
		u := id.User(n.id)
		before, watched := s.watched[u]
		switch {
		case !watched:
		case !statuses[i].Known:
			unresolved = append(unresolved, n.key)
		default:
			if before.Online != statuses[i].Online || before.Away != statuses[i].Away || !before.Known {
				changed = append(changed, change{u, false})
			}
			s.watched[u] = statuses[i]
		}
	}
	s.mu.Unlock()
	s.statusesChanged(changed)
	return unresolved
}

// resetStatuses forgets the statuses of watched users whose owner is this node from now on.
func (s *Service) resetStatuses(partition int) {
	var changed []change
	s.mu.Lock()
	for u := range s.watched {
		if s.deps.Cluster.Partition(uint64(u)) == partition {
			s.watched[u] = Status{}
			changed = append(changed, change{u, false})
		}
	}
	s.mu.Unlock()
	s.statusesChanged(changed)
}

func (s *Service) statusesChanged(list []change) {
	for _, c := range list {
		s.deps.StatusChanged(c.user, c.visibility)
	}
}

// handleChanges handles an owner's notice about users who are watched here.
func (s *Service) handleChanges(data []byte) {
	list, err := readChanges(data)
	if err != nil {
		s.deps.Logger.Error("a directory notice of another node cannot be decoded", "error", err)
		return
	}
	for _, c := range list {
		if c.visibility {
			s.deps.StatusChanged(c.user, true)
		}
		s.report(key{aboutWatch, uint64(c.user)})
	}
}

// handleMissedChanges asks again about all users who are watched here, because notices may have been lost.
func (s *Service) handleMissedChanges() {
	s.mu.Lock()
	users := make([]id.User, 0, len(s.watched))
	for u := range s.watched {
		users = append(users, u)
	}
	s.mu.Unlock()
	for _, u := range users {
		s.report(key{aboutWatch, uint64(u)})
	}
}
