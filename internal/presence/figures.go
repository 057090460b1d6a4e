package presence

import "github.com/rialto-im/rialto/internal/id"

// Figures of the homes of this node. Where no other node is, all is at home here, and nothing is told or moves.
type Figures struct {
	// Users who are online, or were a moment ago, and have their home here, wherever they are connected.
	Users int
	// Followed are the large conversations at home here that connections of some node follow.
	Followed int
	// Begun is how often a partition came to have its home here since the start, and Told how often a node told such a home all anew:
	// when it moved, and when one had lost the other.
	Begun, Told uint64
}

// Figures may be asked for at any time; they are not all of one moment. It goes over all users and conversations of the node, which
// who wants one figure alone does not.
func (s *Service) Figures() Figures {
	return Figures{Users: s.HomeUsers(), Followed: s.HomeFollowed(), Begun: s.HomesBegun(), Told: s.HomesTold()}
}

// HomesBegun is Begun of the Figures.
func (s *Service) HomesBegun() uint64 { return s.begun.Load() }

// HomesTold is Told of the Figures.
func (s *Service) HomesTold() uint64 { return s.retold.Load() }

// HomeUsers is Users of the Figures. It goes over all users of the node.
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

// HomeFollowed is Followed of the Figures. It goes over the conversations that are followed on this node.
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
