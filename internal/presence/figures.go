package presence

import "github.com/rialto-im/rialto/internal/id"

// Figures of the homes of this node. Where no other node is, all is at home here, and nothing is told or moves.

// HomesBegun is how often a partition came to have its home here since the start.
func (s *Service) HomesBegun() uint64 { return s.begun.Load() }

// HomesTold is how often since the start a node told a home here all anew: when it moved, and when one had lost the other.
func (s *Service) HomesTold() uint64 { return s.retold.Load() }

// HomeUsers is the number of users who are online, or were a moment ago, and have their home here, wherever they are connected. It goes over
// all users of the node.
func (s *Service) HomeUsers() (n int) {
	home := s.homes()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u := range sh.persons {
			if home(uint64(u)) {
				n++
			}
		}
		sh.mu.RUnlock()
	}
	return n
}

// HomeFollowed is the number of large conversations at home here that connections of some node follow. It goes over those that are followed
// on this node.
func (s *Service) HomeFollowed() (n int) {
	home := s.homes()
	for _, p := range s.parts {
		p.home.mu.RLock()
		n += len(p.home.following)
		p.home.mu.RUnlock()
	}
	s.followed.RLock()
	own := make([]uint64, 0, len(s.follows))
	for c := range s.follows {
		own = append(own, uint64(c))
	}
	s.followed.RUnlock()
	for _, c := range own {
		if home(c) && !s.followedElsewhere(c) {
			n++
		}
	}
	return n
}

// homes tells of a user or a conversation whether it is at home here.
func (s *Service) homes() func(of uint64) bool {
	if s.parts == nil {
		return func(uint64) bool { return true }
	}
	here := make([]bool, len(s.parts))
	for i, p := range s.parts {
		here[i] = p.home.lives() != 0
	}
	return func(of uint64) bool { return here[s.deps.Cluster.Partition(of)] }
}

func (s *Service) followedElsewhere(c uint64) bool {
	if s.parts == nil {
		return false
	}
	h := &s.part(c).home
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.following[id.Conversation(c)] != nil
}
