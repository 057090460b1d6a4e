package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// checker compares what connections were pushed with what is stored, and has those pull that are behind: the bus may lose the
// last push, and a device sees only what is missing before another. It looks where something may have been lost (a hole on the
// bus, a partition that moved, a conversation that is newly followed), and, slowly, everywhere.
type checker struct {
	server *Server
	wake   chan struct{} // every or parts
	came   chan struct{} // fresh

	mu    sync.Mutex // guards what follows
	every bool       // all are due
	parts map[int]bool
	fresh map[id.Conversation]bool // newly followed here
}

const (
	// checkDoubt: who is behind at one look, and still at one so much later, has missed something; else it was under way.
	checkDoubt = time.Second
	// checkPace bounds how many tails are read, in so long.
	checkPace  = 100
	checkPause = 50 * time.Millisecond
	// checkSlices that a slow round over all connections is cut into.
	checkSlices = hubShards
)

func newChecker(s *Server) *checker {
	return &checker{server: s, wake: make(chan struct{}, 1), came: make(chan struct{}, 1), parts: map[int]bool{}, fresh: map[id.Conversation]bool{}}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// all has everything compared soon. It does not block.
func (k *checker) all() {
	k.mu.Lock()
	k.every = true
	k.mu.Unlock()
	poke(k.wake)
}

// Recheck has the connections of a partition's users, and its large conversations, compared with what is stored, soon.
func (s *Server) Recheck(partition int) {
	s.check.mu.Lock()
	s.check.parts[partition] = true
	s.check.mu.Unlock()
	poke(s.check.wake)
}

// follow has a conversation compared as soon as it is known that it is followed here.
func (k *checker) follow(c id.Conversation) {
	k.mu.Lock()
	k.fresh[c] = true
	k.mu.Unlock()
	poke(k.came)
}

// take gives what is due.
func (k *checker) take() (which func(of uint64) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	every, parts := k.every, k.parts
	k.every, k.parts = false, map[int]bool{}
	switch {
	case every:
		return func(uint64) bool { return true }
	case len(parts) > 0:
		return func(of uint64) bool { return parts[k.server.partition(of)] }
	}
	return func(uint64) bool { return false }
}

// takeFresh gives what is newly followed.
func (k *checker) takeFresh() map[id.Conversation]bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := k.fresh
	k.fresh = map[id.Conversation]bool{}
	return fresh
}

func (s *Server) partition(of uint64) int {
	if s.deps.Partition == nil {
		return 0
	}
	return s.deps.Partition(of)
}

// run compares until ctx ends. What is newly followed does not wait for the rest.
func (k *checker) run(ctx context.Context) {
	var fresh sync.WaitGroup
	defer fresh.Wait()
	fresh.Go(func() { k.runFresh(ctx) })
	tick := time.NewTicker(k.server.config.CheckEvery / checkSlices)
	defer tick.Stop()
	slice := 0
	for {
		l := look{server: k.server}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.slice(ctx, slice, func(uint64) bool { return true })
			slice = (slice + 1) % checkSlices
		case <-k.wake:
			which := k.take()
			for i := range checkSlices {
				l.slice(ctx, i, which)
				l.judge(time.Now().Add(-checkDoubt))
			}
		}
		l.wait(ctx)
	}
}

func (k *checker) runFresh(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.came:
			l := look{server: k.server}
			l.fresh(ctx, k.takeFresh())
			l.wait(ctx)
		}
	}
}

// look is one look at some connections and conversations, of which some are behind: the earliest first.
type look struct {
	server *Server
	users  []lateUser
	rooms  []lateRoom
	read   int
}

type lateUser struct {
	at   time.Time
	user id.User
	tail message.Position
}

type lateRoom struct {
	at           time.Time
	conversation id.Conversation
	tail         uint64
}

// pace counts a read, and waits where there were many; false when ctx ended.
func (l *look) pace(ctx context.Context) bool {
	if l.read++; l.read%checkPace != 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(checkPause):
		return true
	}
}

// slice looks at one of checkSlices.
func (l *look) slice(ctx context.Context, i int, which func(of uint64) bool) {
	s := &l.server.hub.users[i]
	var users []id.User
	s.mu.RLock()
	for u := range s.first {
		if which(uint64(u)) {
			users = append(users, u)
		}
	}
	s.mu.RUnlock()
	for _, u := range users {
		if !l.pace(ctx) {
			return
		}
		l.user(ctx, u)
	}
	large := &l.server.hub.large[i]
	var rooms []id.Conversation
	large.mu.RLock()
	for c := range large.rooms {
		if which(uint64(c)) {
			rooms = append(rooms, c)
		}
	}
	large.mu.RUnlock()
	for _, c := range rooms {
		if !l.pace(ctx) {
			return
		}
		l.room(ctx, c)
	}
}

// fresh looks at conversations that are newly followed here, once they are known to be: what came meanwhile is missing.
func (l *look) fresh(ctx context.Context, rooms map[id.Conversation]bool) {
	within, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	for c := range rooms {
		l.server.deps.Presence.Followed(within, c)
		if !l.pace(ctx) {
			return
		}
		l.room(ctx, c)
	}
}

func (l *look) user(ctx context.Context, u id.User) {
	tail, err := l.server.deps.Inbox.Tail(ctx, u)
	if err != nil {
		l.failed(ctx, err)
		return
	}
	late := false
	l.server.hub.each(u, func(c *conn) {
		c.mu.Lock()
		late = late || c.ready && c.at < tail
		c.mu.Unlock()
	})
	if late {
		l.users = append(l.users, lateUser{time.Now(), u, tail})
	}
}

func (l *look) room(ctx context.Context, c id.Conversation) {
	tail, err := l.server.deps.Inbox.LargeTail(ctx, c)
	if err != nil {
		l.failed(ctx, err)
		return
	}
	s := l.server.hub.conversation(c)
	s.mu.RLock()
	r := s.rooms[c]
	late := r != nil && r.at.Load() < tail
	s.mu.RUnlock()
	if late {
		l.rooms = append(l.rooms, lateRoom{time.Now(), c, tail})
	}
}

func (l *look) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.server.deps.Logger.Warn("a connection could not be compared with what is stored; it is at the next round", "error", err)
	}
}

// wait judges the rest.
func (l *look) wait(ctx context.Context) {
	if len(l.users) == 0 && len(l.rooms) == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(checkDoubt):
		l.judge(time.Now())
	}
}

// judge has those pull that were behind at a time, and are so still.
func (l *look) judge(at time.Time) {
	n := 0
	for ; n < len(l.users) && !l.users[n].at.After(at); n++ {
		late := l.users[n]
		l.server.hub.each(late.user, func(c *conn) { c.behind(late.tail) })
	}
	l.users = l.users[n:]
	m := 0
	for ; m < len(l.rooms) && !l.rooms[m].at.After(at); m++ {
		late := l.rooms[m]
		s := l.server.hub.conversation(late.conversation)
		s.mu.RLock()
		if r := s.rooms[late.conversation]; r != nil && r.at.Load() < late.tail {
			r.reach(late.tail)
			for _, c := range r.conns {
				c.hintNow()
			}
		}
		s.mu.RUnlock()
	}
	l.rooms = l.rooms[m:]
	if n+m > 0 {
		l.server.Flush()
	}
}
