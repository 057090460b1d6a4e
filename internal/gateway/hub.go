package gateway

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/id"
)

const hubShards = 64

// hub knows the node's connections by user, and by the large conversations that they follow.
type hub struct {
	users     [hubShards]userShard
	large     [hubShards]largeShard
	followers Followers
}

type userShard struct {
	mu    sync.RWMutex      // guards first and the conns' next
	first map[id.User]*conn // a user's connections are a list by conn.next
}

type largeShard struct {
	mu    sync.RWMutex // guards rooms and all in them, but at; held while followers are told
	rooms map[id.Conversation]*room
}

// room is a large conversation that connections here follow.
type room struct {
	conns []*conn
	at    atomic.Uint64 // the newest seq that was delivered here, or that those who came had in their syncs; 0: not known
}

// reach notes that seq was delivered.
func (r *room) reach(seq uint64) {
	for at := r.at.Load(); at < seq && !r.at.CompareAndSwap(at, seq); at = r.at.Load() {
	}
}

func (h *hub) init(followers Followers) {
	h.followers = followers
	for i := range hubShards {
		h.users[i].first = map[id.User]*conn{}
		h.large[i].rooms = map[id.Conversation]*room{}
	}
}

func (h *hub) user(u id.User) *userShard { return &h.users[uint64(u)*0x9e3779b97f4a7c15>>58] }
func (h *hub) conversation(c id.Conversation) *largeShard {
	return &h.large[uint64(c)*0x9e3779b97f4a7c15>>58]
}

func (h *hub) add(c *conn) {
	s := h.user(c.caller.User)
	s.mu.Lock()
	c.next = s.first[c.caller.User]
	s.first[c.caller.User] = c
	s.mu.Unlock()
}

func (h *hub) remove(c *conn) {
	s := h.user(c.caller.User)
	s.mu.Lock()
	var before *conn
	for o := s.first[c.caller.User]; o != nil; before, o = o, o.next {
		if o != c {
			continue
		}
		switch {
		case before != nil:
			before.next = c.next
		case c.next != nil:
			s.first[c.caller.User] = c.next
		default:
			delete(s.first, c.caller.User)
		}
		break
	}
	s.mu.Unlock()
}

// each calls do for a user's connections, under the shard's lock: do must not block.
func (h *hub) each(u id.User, do func(*conn)) {
	s := h.user(u)
	s.mu.RLock()
	for c := s.first[u]; c != nil; c = c.next {
		do(c)
	}
	s.mu.RUnlock()
}

// has tells whether a user has connections.
func (h *hub) has(u id.User) bool {
	s := h.user(u)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first[u] != nil
}

// slice gives the users and the large conversations of one of hubShards.
func (h *hub) slice(i int, which func(of uint64) bool) (users []id.User, rooms []id.Conversation) {
	s := &h.users[i]
	s.mu.RLock()
	for u := range s.first {
		if which(uint64(u)) {
			users = append(users, u)
		}
	}
	s.mu.RUnlock()
	large := &h.large[i]
	large.mu.RLock()
	for c := range large.rooms {
		if which(uint64(c)) {
			rooms = append(rooms, c)
		}
	}
	large.mu.RUnlock()
	return users, rooms
}

// follow adds a connection to a large conversation: because its user came to be in it now, by the entry at seq, or, where that is 0,
// was in it when the connection was greeted. What was left since then counts more than the latter. It tells whether the
// conversation had no followers here before. What overtook the news that one came is hinted at.
func (h *hub) follow(c *conn, to id.Conversation, seq uint64) (first bool) {
	s := h.conversation(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock() // after the shard's, as where events are put
	if seq > 0 {
		c.news++
		c.left = slices.DeleteFunc(c.left, func(l id.Conversation) bool { return l == to })
	}
	fresh := c.takeUp(to)
	c.mu.Unlock()
	return fresh && h.join(s, c, to, seq)
}

// takeUp notes that a connection follows a conversation, unless it does, or must not. The caller holds c.mu.
func (c *conn) takeUp(to id.Conversation) (fresh bool) {
	if c.gone || slices.Contains(c.large, to) || slices.Contains(c.left, to) {
		return false
	}
	c.large = append(c.large, to)
	return true
}

// giveUp notes that it does no longer. The caller holds c.mu.
func (c *conn) giveUp(from id.Conversation) {
	if i := slices.Index(c.large, from); i >= 0 {
		c.large = slices.Delete(c.large, i, i+1)
	}
}

// join puts a connection into a conversation. The caller holds the shard's lock.
func (h *hub) join(s *largeShard, c *conn, to id.Conversation, seq uint64) (first bool) {
	r := s.rooms[to]
	if first = r == nil; first {
		r = &room{}
		r.at.Store(seq)
		s.rooms[to] = r
		h.followers.Follow(to, true)
	} else if seq > 0 && r.at.Load() > seq {
		c.hintNow()
	}
	r.conns = append(r.conns, c)
	return first
}

// unfollow takes a connection out of a large conversation that its user has left.
func (h *hub) unfollow(c *conn, from id.Conversation) {
	s := h.conversation(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	c.news++
	c.giveUp(from)
	if !c.ready {
		c.left = append(c.left, from)
	}
	c.mu.Unlock()
	h.drop(s, c, from)
}

// drop takes a connection out of a conversation. The caller holds the shard's lock.
func (h *hub) drop(s *largeShard, c *conn, from id.Conversation) {
	r := s.rooms[from]
	if r == nil {
		return
	}
	if i := slices.Index(r.conns, c); i >= 0 {
		last := len(r.conns) - 1
		r.conns[i], r.conns[last] = r.conns[last], nil
		if r.conns = r.conns[:last]; last == 0 {
			delete(s.rooms, from)
			h.followers.Follow(from, false)
		}
	}
}

// known notes how far a conversation was when those who follow it were greeted, where nothing else says how far they are.
func (h *hub) known(c id.Conversation, seq uint64) {
	s := h.conversation(c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.rooms[c]; r != nil {
		r.at.CompareAndSwap(0, seq)
	}
}
