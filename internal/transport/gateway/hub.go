package gateway

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
)

const hubShards = 64

// hub finds the node's connections by user, and by the large conversations that they follow.
type hub struct {
	users     [hubShards]userShard
	large     [hubShards]largeShard
	followers Followers
	heats     *heats
}

type userShard struct {
	mu    sync.RWMutex      // guards first and the conns' next
	first map[id.User]*conn // a user's connections are a list by conn.next
}

type largeShard struct {
	mu        sync.RWMutex // guards audiences and their fields, except newestSeq and heat; held while Followers is called
	audiences map[id.Conversation]*audience
}

// audience is the connections here that follow a large conversation.
type audience struct {
	conns     []*conn
	newestSeq atomic.Uint64 // the newest seq that was delivered here, or that followers had in their syncs; 0: not known
	heat      heat          // guarded by the mu of heats
}

// advance notes that the entry at seq was delivered.
func (r *audience) advance(seq uint64) {
	for at := r.newestSeq.Load(); at < seq && !r.newestSeq.CompareAndSwap(at, seq); at = r.newestSeq.Load() {
	}
}

func (h *hub) init(followers Followers, heats *heats) {
	h.followers, h.heats = followers, heats
	for i := range hubShards {
		h.users[i].first = map[id.User]*conn{}
		h.large[i].audiences = map[id.Conversation]*audience{}
	}
}

func (h *hub) user(u id.User) *userShard { return &h.users[id.Hash(uint64(u))%hubShards] }
func (h *hub) conversation(c id.Conversation) *largeShard {
	return &h.large[id.Hash(uint64(c))%hubShards]
}

// add is false if the user already has most connections.
func (h *hub) add(c *conn, most int) bool {
	s := h.user(c.caller.User)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for o := s.first[c.caller.User]; o != nil; o = o.next {
		n++
	}
	if n >= most {
		return false
	}
	c.next = s.first[c.caller.User]
	s.first[c.caller.User] = c
	return true
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

// eachFollower calls do for the connections that follow a large conversation, under the shard's lock: do must not block.
func (h *hub) eachFollower(of id.Conversation, do func(*conn)) {
	s := h.conversation(of)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.audiences[of]; r != nil {
		for _, c := range r.conns {
			do(c)
		}
	}
}

// has reports whether a user has connections.
func (h *hub) has(u id.User) bool {
	s := h.user(u)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first[u] != nil
}

// shardContents returns the users and the large conversations of one shard that pass a filter.
func (h *hub) shardContents(i int, which func(of uint64) bool) (users []id.User, conversations []id.Conversation) {
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
	for c := range large.audiences {
		if which(uint64(c)) {
			conversations = append(conversations, c)
		}
	}
	large.mu.RUnlock()
	return users, conversations
}

// follow adds a connection to a large conversation. seq is the entry by which its user joined, or 0 where the user was a member when the
// connection was greeted. If the user left since the greeting began, a follow with seq 0 is ignored. It tells whether the conversation had
// no followers here before. If later messages were delivered before this join, the client is told to sync.
//
// The rows may be newer than what the lane of large conversations still has to push, which may be from before the user joined. So a follow that is
// from the rows is limited to what is above the newest entry (conn.limitPushes). The client's next sync has what is below.
func (h *hub) follow(c *conn, to id.Conversation, seq uint64) (first bool) {
	s := h.conversation(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock() // after the shard's, as where events are put
	if seq > 0 {
		c.followChanges++
		c.leftWhileGreeted = slices.DeleteFunc(c.leftWhileGreeted, func(l id.Conversation) bool { return l == to })
	}
	fresh := c.addFollow(to, 0)
	c.mu.Unlock()
	return fresh && h.join(s, c, to, seq)
}

// limitPushes has entries of a large conversation that the connection follows pushed only above seq.
func (c *conn) limitPushes(of id.Conversation, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.follows, of); i >= 0 {
		c.followsAbove[i] = max(c.followsAbove[i], seq)
	}
}

// addFollow records that a connection follows a conversation, of which it is pushed what is above a seq. It is false if it already does, or must not. The caller holds c.mu.
func (c *conn) addFollow(to id.Conversation, above uint64) (fresh bool) {
	if c.state == stateClosed || slices.Contains(c.follows, to) || slices.Contains(c.leftWhileGreeted, to) {
		return false
	}
	c.follows, c.followsAbove = append(c.follows, to), append(c.followsAbove, above)
	return true
}

// removeFollow records that a connection no longer follows a conversation. The caller holds c.mu.
func (c *conn) removeFollow(from id.Conversation) {
	if i := slices.Index(c.follows, from); i >= 0 {
		c.follows, c.followsAbove = slices.Delete(c.follows, i, i+1), slices.Delete(c.followsAbove, i, i+1)
	}
}

// join adds a connection to an audience. The caller holds the shard's lock.
func (h *hub) join(s *largeShard, c *conn, to id.Conversation, seq uint64) (first bool) {
	r := s.audiences[to]
	if first = r == nil; first {
		r = &audience{}
		r.newestSeq.Store(seq)
		s.audiences[to] = r
		h.followers.Follow(to, true)
	} else if seq > 0 && r.newestSeq.Load() > seq {
		c.requestHint()
	}
	r.conns = append(r.conns, c)
	return first
}

// unfollow removes a connection from a large conversation that its user left.
func (h *hub) unfollow(c *conn, from id.Conversation) {
	s := h.conversation(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	c.followChanges++
	c.removeFollow(from)
	if c.state < stateReady {
		c.leftWhileGreeted = append(c.leftWhileGreeted, from)
	}
	c.mu.Unlock()
	h.drop(s, c, from)
}

// drop removes a connection from an audience. The caller holds the shard's lock.
func (h *hub) drop(s *largeShard, c *conn, from id.Conversation) {
	r := s.audiences[from]
	if r == nil {
		return
	}
	if i := slices.Index(r.conns, c); i >= 0 {
		last := len(r.conns) - 1
		r.conns[i], r.conns[last] = r.conns[last], nil
		if r.conns = r.conns[:last]; last == 0 {
			delete(s.audiences, from)
			h.heats.forget(r)
			h.followers.Follow(from, false)
		}
	}
}

// setBaseline notes the newest seq of a conversation at the greeting of its first followers, unless a delivery set it.
func (h *hub) setBaseline(c id.Conversation, seq uint64) {
	s := h.conversation(c)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.audiences[c]; r != nil {
		r.newestSeq.CompareAndSwap(0, seq)
	}
}

// Callers returns the callers with connections, one for each session.
func (s *Server) Callers() []id.Caller {
	var list []id.Caller
	for i := range s.hub.users {
		shard := &s.hub.users[i]
		shard.mu.RLock()
		for _, first := range shard.first {
			from := len(list)
			for c := first; c != nil; c = c.next {
				if !slices.ContainsFunc(list[from:], func(o id.Caller) bool { return o.Session == c.caller.Session }) {
					list = append(list, c.caller)
				}
			}
		}
		shard.mu.RUnlock()
	}
	return list
}

// Users returns the users with connections.
func (s *Server) Users() (list []id.User) {
	for i := range hubShards {
		users, _ := s.hub.shardContents(i, func(uint64) bool { return true })
		list = append(list, users...)
	}
	return list
}
