package directory

import "github.com/rialto-im/rialto/internal/base/id"

// Follow is called when the first connection here starts to follow a large conversation, and when the last one has stopped.
func (s *Service) Follow(c id.Conversation, on bool) {
	s.followed.Lock()
	if on {
		s.follows[c] = true
	} else {
		delete(s.follows, c)
	}
	s.followed.Unlock()
	s.report(key{aboutFollow, uint64(c)})
}

func (s *Service) followedHere(c id.Conversation) bool {
	s.followed.RLock()
	defer s.followed.RUnlock()
	return s.follows[c]
}
