package gateway

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
)

// sender counts the sends in flight of a user, on all connections to this node. It exists while there is a connection that has sent something, or a send in
// flight. So a user who reconnects gets no second window.
type sender struct {
	user       id.User
	weight     atomic.Int64 // of the sends in flight
	conns      atomic.Int32 // number of connections that use it; written with senders.mu held
	hasWaiting atomic.Bool  // waiting may have an entry
	mu         sync.Mutex   // guards the fields below; no other lock is taken while it is held
	waiting    []*conn      // connections whose frames wait for the window, in order of arrival
	resuming   bool         // a goroutine is resuming them
}

func (u *sender) isFull() bool { return u.weight.Load() >= userInFlight }

// senders of a node.
type senders struct {
	server *Server

	mu sync.Mutex // held to write to of; no other lock is taken while it is held
	of sync.Map   // *sender by id.User
}

// join returns the sender of a user for one more connection, which must call leave when it is closed.
func (s *senders) join(user id.User) *sender {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.find(user)
	if u == nil {
		u = &sender{user: user}
		s.of.Store(user, u)
	}
	u.conns.Add(1)
	return u
}

// find returns the sender of a user, or nil.
func (s *senders) find(user id.User) *sender {
	u, _ := s.of.Load(user)
	found, _ := u.(*sender)
	return found
}

func (s *senders) leave(u *sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.conns.Add(-1) == 0 && u.weight.Load() == 0 {
		s.of.CompareAndDelete(u.user, u)
	}
}

// add adds the weight of sends that begin, or subtracts that of sends that end. Once half of the window is free, waiting connections are resumed.
func (s *senders) add(u *sender, weight int64) {
	left := u.weight.Add(weight)
	if weight > 0 {
		return
	}
	if left == 0 && u.conns.Load() == 0 {
		s.mu.Lock()
		if u.conns.Load() == 0 && u.weight.Load() == 0 {
			s.of.CompareAndDelete(u.user, u)
		}
		s.mu.Unlock()
	}
	if left >= userInFlight/2 || !u.hasWaiting.Load() {
		return
	}
	u.mu.Lock()
	begins := !u.resuming && len(u.waiting) > 0
	u.resuming = u.resuming || begins
	u.mu.Unlock()
	if begins {
		s.server.serving.Go(func() { // ends when no connection waits, or the window is full
			for c := u.next(); c != nil; c = u.next() {
				c.resumeSender()
			}
		})
	}
}

// next returns the connection to be resumed next, or nil.
func (u *sender) next() *conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) == 0 || u.isFull() {
		u.resuming = false
		u.hasWaiting.Store(len(u.waiting) > 0)
		if len(u.waiting) == 0 || u.isFull() { // again: a send that ended before hasWaiting was set has resumed nobody
			return nil
		}
		u.resuming = true
	}
	c := u.waiting[0]
	u.waiting[0] = nil
	if u.waiting = u.waiting[1:]; len(u.waiting) == 0 {
		u.waiting = nil
	}
	return c
}

// senderOfUser returns the sender of the connection's user, or nil if none of the user's connections has sent anything.
func (c *conn) senderOfUser() *sender {
	if u := c.sender.Load(); u != nil {
		return u
	}
	return c.server.senders.find(c.caller.User)
}

// leaveQueue removes a closed connection from the waiting ones.
func (c *conn) leaveQueue() {
	u := c.senderOfUser()
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.waiting, c); i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
	}
}

// waitsForSender reports whether the connection's frames must wait, because its user has too many sends in flight, or because other connections of the user
// already wait. The caller holds reading.
func (c *conn) waitsForSender() bool {
	u := c.senderOfUser()
	if u == nil || !u.isFull() && (c.in.resuming || !u.hasWaiting.Load()) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hasWaiting.Store(true) // before the weight is read: the end of a send reads them in the opposite order
	if c.isEnding() || !u.isFull() && (c.in.resuming || len(u.waiting) == 0 && !u.resuming) {
		u.hasWaiting.Store(len(u.waiting) > 0)
		return false
	}
	if !c.isQueued {
		c.isQueued = true
		u.waiting = append(u.waiting, c)
	}
	c.pauseReading()
	c.reads = readBacklogged
	return true
}

// resumeSender handles the frames that waited for the user's window, until it is full again.
func (c *conn) resumeSender() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	c.isQueued = false
	resumes := c.reads == readBacklogged && c.throttledUntil == 0 && !c.isEnding() // a throttled one is resumed later
	if resumes {
		c.reads = readPaused
	}
	c.mu.Unlock()
	if resumes {
		c.in.resuming = true
		c.resumeLocked()
		c.in.resuming = false
	}
}
