package chatroom

import (
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// evictedAtOnce is how many idle rooms are forgotten when there are too many.
const evictedAtOnce = 64

var (
	errActive  = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_rooms_in_use", Message: "32 rooms of this room's owner are in use on this server; try again when one of them is empty", Retry: 30 * time.Second}
	errEntered = errs.New(errs.Exhausted, "too_many_entered", "a user may be in 20 rooms of a server; leave one first")
)

// countActive counts a loaded room for its creator, or refuses it. Idle rooms of the creator make way.
func (s *Service) countActive(h *hosted, room id.Room, creator id.User) error {
	if s.tryCount(h, room, creator) || s.evictIdle(creator) && s.tryCount(h, room, creator) {
		return nil
	}
	return errActive
}

func (s *Service) tryCount(h *hosted, room id.Room, creator id.User) bool {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	switch {
	case s.host.rooms[room] != h: // dropped meanwhile
		return true
	case s.host.active[creator] >= maxActiveOf:
		return false
	}
	h.creator = creator
	s.host.active[creator]++
	return true
}

// evictIdle forgets rooms without viewers, those that were not used for longest first: of a creator, or of all if that is 0. It reports whether there were any.
func (s *Service) evictIdle(creator id.User) bool {
	s.host.mu.Lock()
	if creator == 0 && time.Since(s.host.evicted) < evictInterval {
		s.host.mu.Unlock()
		return false
	}
	var list []*hosted
	for _, h := range s.host.rooms {
		if h.creator != 0 && (creator == 0 || h.creator == creator) {
			list = append(list, h)
		}
	}
	s.host.mu.Unlock()
	type idleRoom struct {
		*hosted
		since time.Time
	}
	var idle []idleRoom
	for _, h := range list {
		h.mu.Lock()
		if h.roomState != nil && !h.gone && len(h.nodes) == 0 {
			idle = append(idle, idleRoom{h, h.used})
		}
		h.mu.Unlock()
	}
	slices.SortFunc(idle, func(a, b idleRoom) int { return a.since.Compare(b.since) })
	if creator != 0 && len(idle) > 1 {
		idle = idle[:1]
	}
	evicted := false
	for _, r := range idle[:min(len(idle), evictedAtOnce)] {
		evicted = s.dropIdle(r.hosted) || evicted
	}
	if !evicted && creator == 0 {
		s.host.mu.Lock()
		s.host.evicted = time.Now()
		s.host.mu.Unlock()
	}
	return evicted
}

// dropIdle forgets a room, unless it got viewers meanwhile.
func (s *Service) dropIdle(h *hosted) bool {
	h.mu.Lock()
	idle, room := !h.gone && len(h.nodes) == 0, h.room()
	h.gone = h.gone || idle
	h.mu.Unlock()
	if idle {
		s.drop(room, h)
	}
	return idle
}

// evictAudiences forgets rooms that have no viewers here any more, even if their owners do not know it yet. The caller holds mu.
func (s *Service) evictAudiences() (evicted bool) {
	if time.Since(s.evicted) < evictInterval {
		return false
	}
	for room, a := range s.audiences {
		a.mu.Lock()
		if len(a.viewers) == 0 {
			a.gone, evicted = true, true
			delete(s.audiences, room)
		}
		a.mu.Unlock()
	}
	if !evicted {
		s.evicted = time.Now()
	}
	return evicted
}

// entered counts the rooms that each user is in at this node.
type entered struct {
	mu    sync.Mutex // guards rooms; taken last
	rooms map[id.User]int
}

// enter reports whether a user may be in one room more, and counts it.
func (e *entered) enter(u id.User) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rooms[u] >= maxEntered {
		return false
	}
	e.rooms[u]++
	return true
}

func (e *entered) leave(u id.User) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rooms[u]--; e.rooms[u] <= 0 {
		delete(e.rooms, u)
	}
}
