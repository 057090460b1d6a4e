package chat

// SetCached bounds the conversations in memory, before the first use.
func SetCached(s *Service, n int) { s.cached = n }

// CachedRooms counts them.
func CachedRooms(s *Service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rooms)
}
