package chat

// SetCached bounds the conversations in memory, before the first use.
func SetCached(s *Service, n int) { s.cached = n }

// CachedRooms counts them.
func CachedRooms(s *Service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rooms)
}

// Check is what a draft must pass.
var Check = check

// WaitingMost bounds the drafts that wait for one conversation.
const WaitingMost = waitingMost
