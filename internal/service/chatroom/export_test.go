package chatroom

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Drop forgets a room at its owner, as when nobody has used it for long.
func Drop(s *Service, room id.Room) {
	s.host.mu.Lock()
	h := s.host.rooms[room]
	s.host.mu.Unlock()
	s.drop(room, h)
}

// TickDropped drops a room while the tick has it in its list, and reports whether it can still be used.
func TickDropped(s *Service, room id.Room) bool {
	s.host.mu.Lock()
	h := s.host.rooms[room]
	s.host.mu.Unlock()
	s.drop(room, h)
	h.tick(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.gone
}

// SetMaxActive changes how many rooms the node may have in memory.
func SetMaxActive(s *Service, rooms int) { s.maxActive = rooms }

// Purge deletes the rows of rooms that were closed long ago.
func Purge(ctx context.Context, s *Service) error { return s.purge(ctx) }
