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

// Figures may be asked for at any time; they are not all of one moment.
func (s *Service) Figures() (f Figures) {
	home := func(uint64) bool { return true }
	if s.parts != nil {
		here := make([]bool, len(s.parts))
		for i, p := range s.parts {
			p.home.mu.RLock()
			here[i] = p.home.life != 0
			f.Followed += len(p.home.following)
			p.home.mu.RUnlock()
		}
		home = func(of uint64) bool { return here[s.deps.Cluster.Partition(of)] }
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u := range sh.persons {
			if home(uint64(u)) {
				f.Users++
			}
		}
		sh.mu.RUnlock()
	}
	s.followed.RLock()
	own := make([]uint64, 0, len(s.follows))
	for c := range s.follows {
		own = append(own, uint64(c))
	}
	s.followed.RUnlock()
	for _, c := range own {
		if home(c) && !s.followedElsewhere(c) {
			f.Followed++
		}
	}
	f.Begun, f.Told = s.begun.Load(), s.retold.Load()
	return f
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
