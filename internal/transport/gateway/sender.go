package gateway

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
)

// sender has the sends in flight of a user, of all connections to this node. It exists while one of these has sent something, or a send is in flight: a user
// who connects again has no second window.
type sender struct {
	user    id.User
	weight  atomic.Int64 // of the sends in flight
	conns   atomic.Int32 // that use it; written with senders.mu held
	waits   atomic.Bool  // waiting may have an entry
	mu      sync.Mutex   // guards the fields below; nothing else is locked under it
	waiting []*conn      // whose frames wait for the window, in their order
	resumes bool         // a goroutine has them go on
}

func (u *sender) isFull() bool { return u.weight.Load() >= userInFlight }

// senders of a node.
type senders struct {
	server *Server

	mu sync.Mutex // held to write to of; nothing else is locked under it
	of sync.Map   // *sender by id.User
}

// join returns the sender for one more connection of a user, which leaves it when it is closed.
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

// find returns the sender of a user, nil without one.
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

// add counts sends in flight, or those that ended. Once half of the window is free, the connections go on that wait for it.
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
	if left >= userInFlight/2 || !u.waits.Load() {
		return
	}
	u.mu.Lock()
	begins := !u.resumes && len(u.waiting) > 0
	u.resumes = u.resumes || begins
	u.mu.Unlock()
	if begins {
		s.server.serving.Go(func() { // ends when no connection waits, or the window is full
			for c := u.next(); c != nil; c = u.next() {
				c.resumeSender()
			}
		})
	}
}

// next returns the connection that goes on, and nil if that is none.
func (u *sender) next() *conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) == 0 || u.isFull() {
		u.resumes = false
		u.waits.Store(len(u.waiting) > 0)
		if len(u.waiting) == 0 || u.isFull() { // again: a send that ended before waits was set has nobody go on
			return nil
		}
		u.resumes = true
	}
	c := u.waiting[0]
	u.waiting[0] = nil
	if u.waiting = u.waiting[1:]; len(u.waiting) == 0 {
		u.waiting = nil
	}
	return c
}

// senderOfUser returns the sender of the connection's user; nil if none of the user's connections has sent anything.
func (c *conn) senderOfUser() *sender {
	if u := c.sender.Load(); u != nil {
		return u
	}
	return c.server.senders.find(c.caller.User)
}

// leaveLine removes a connection that is closed from those that wait.
func (c *conn) leaveLine() {
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

// waitsForSender reports whether the frames of the connection wait, because its user has too many sends in flight, or because other connections of the user
// wait. The caller holds reading.
func (c *conn) waitsForSender() bool {
	u := c.senderOfUser()
	if u == nil || !u.isFull() && (c.in.goesOn || !u.waits.Load()) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waits.Store(true) // before the weight is read: who ends a send reads them in the other order
	if c.isEnding() || !u.isFull() && (c.in.goesOn || len(u.waiting) == 0 && !u.resumes) {
		u.waits.Store(len(u.waiting) > 0)
		return false
	}
	if !c.waitsInLine {
		c.waitsInLine = true
		u.waiting = append(u.waiting, c)
	}
	c.pauseReading()
	c.reads = readBacklogged
	return true
}

// resumeSender handles the frames that waited for the user's window, as far as it is free.
func (c *conn) resumeSender() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	c.waitsInLine = false
	resumes := c.reads == readBacklogged && c.throttledUntil == 0 && !c.isEnding() // one that is throttled goes on later
	if resumes {
		c.reads = readPaused
	}
	c.mu.Unlock()
	if resumes {
		c.in.goesOn = true
		c.resumeLocked()
		c.in.goesOn = false
	}
}
