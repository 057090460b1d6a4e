package chatroom

import "github.com/rialto-im/rialto/internal/base/id"

// Drop forgets a room at its owner, as when nobody has used it for long.
func Drop(s *Service, room id.Room) {
	s.host.mu.Lock()
	h := s.host.rooms[room]
	s.host.mu.Unlock()
	s.drop(room, h)
}
