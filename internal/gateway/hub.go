package gateway

import (
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/id"
)

const hubShards = 64

// hub knows the node's connections by user, and by the large conversations that they follow.
type hub struct {
	users [hubShards]userShard
	large [hubShards]largeShard
}

type userShard struct {
	mu    sync.RWMutex      // guards first and the conns' next
	first map[id.User]*conn // a user's connections are a list by conn.next
}

type largeShard struct {
	mu    sync.RWMutex // guards conns and the slices in it
	conns map[id.Conversation][]*conn
}

func (h *hub) init() {
	for i := range hubShards {
		h.users[i].first = map[id.User]*conn{}
		h.large[i].conns = map[id.Conversation][]*conn{}
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

// follow adds a connection to a large conversation: because its user came to be in it now, or was in it when the connection was
// greeted. What was left since then counts more than the latter.
func (h *hub) follow(c *conn, to id.Conversation, now bool) {
	s := h.conversation(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock() // after the shard's, as where events are put
	if now {
		c.left = slices.DeleteFunc(c.left, func(l id.Conversation) bool { return l == to })
	}
	fresh := !c.gone && !slices.Contains(c.large, to) && !slices.Contains(c.left, to)
	if fresh {
		c.large = append(c.large, to)
	}
	c.mu.Unlock()
	if fresh {
		s.conns[to] = append(s.conns[to], c)
	}
}

func (h *hub) unfollow(c *conn, from id.Conversation) {
	s := h.conversation(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	if i := slices.Index(c.large, from); i >= 0 {
		c.large = slices.Delete(c.large, i, i+1)
	}
	if !c.ready {
		c.left = append(c.left, from)
	}
	c.mu.Unlock()
	s.drop(c, from)
}

func (s *largeShard) drop(c *conn, from id.Conversation) {
	list := s.conns[from]
	if i := slices.Index(list, c); i >= 0 {
		last := len(list) - 1
		list[i], list[last] = list[last], nil
		if last == 0 {
			delete(s.conns, from)
		} else {
			s.conns[from] = list[:last]
		}
	}
}
