package gateway

import (
	"context"

	"github.com/rialto-im/rialto/internal/id"
)

// What a connection follows is told once, by deliveries, and may be lost: it is compared with the rows, which knew each change before
// it was answered, and before anybody was told of it.
//
// A reading is the truth of some moment between its begin and its end. Two things might make it wrong to go by it later:
//
//   - News that came by a delivery since it began may be of a later moment. Deliveries are counted (conn.news), and a reading during
//     or after which one came is not gone by: the user is read once more, where there is still a difference. News that comes after
//     it was gone by is either of before it, and changes nothing or is followed by the news that undoes it, as deliveries of a
//     conversation are in order; or of after it, and right. News that is lost is found by the next reading, as any.
//   - Another reading, of the slow round, or of a user who was due twice, may be of a later moment, and have been gone by. Readings
//     have turns, drawn as they begin; one is not gone by when a later one was, or was found to be no different (conn.judged). So the
//     earlier of two, which is wrong where the news between them is lost, does not undo the later.
//
// Connections that are being greeted are left alone: they read the rows themselves (conn.greet, conn.left), and one that got ready
// after a reading began is not among its connections.

// seen is a connection as it was when a reading began.
type seen struct {
	conn *conn
	news uint32
	turn uint64
}

// lists compares what the connections of users follow with what the users are in.
func (l *look) lists(ctx context.Context, users []id.User) {
	turn := l.server.check.turn.Add(1)
	var of []id.User
	var conns [][]seen
	for _, u := range users {
		var list []seen
		l.server.hub.each(u, func(c *conn) {
			c.mu.Lock()
			if c.ready {
				list = append(list, seen{c, c.news, turn})
			}
			c.mu.Unlock()
		})
		if len(list) > 0 {
			of, conns = append(of, u), append(conns, list)
		}
	}
	if len(of) == 0 {
		return
	}
	readAll(ctx, l, of, l.server.deps.Inbox.Large, func(i int, list []id.Conversation) {
		large := make(map[id.Conversation]bool, len(list))
		for _, c := range list {
			large[c] = true
		}
		for _, s := range conns[i] {
			if s.differs(large) {
				l.add(func() { l.server.mend(s, large) })
			}
		}
	}, l.server.check.user)
}

// differs tells whether a connection does not follow what was read.
func (s seen) differs(large map[id.Conversation]bool) bool {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if on, off := c.against(large); len(on)+len(off) > 0 {
		return true
	}
	c.judged = max(c.judged, s.turn)
	return false
}

// against gives what a connection is to follow, and what it is not to. The caller holds mu.
func (c *conn) against(large map[id.Conversation]bool) (on, off []id.Conversation) {
	if c.gone {
		return nil, nil
	}
	for _, l := range c.large {
		if !large[l] {
			off = append(off, l)
		}
	}
	if len(c.large)-len(off) == len(large) {
		return nil, off
	}
	has := make(map[id.Conversation]bool, len(c.large))
	for _, l := range c.large {
		has[l] = true
	}
	for l := range large {
		if !has[l] {
			on = append(on, l)
		}
	}
	return on, off
}

// mend has a connection follow what was read. What it missed it pulls: at once, and, where nobody followed it here before, once more
// when its messages come.
func (s *Server) mend(of seen, large map[id.Conversation]bool) {
	c := of.conn
	c.mu.Lock()
	if of.turn < c.judged {
		c.mu.Unlock()
		return
	}
	on, off := c.against(large)
	c.judged = of.turn
	c.mu.Unlock()
	ok := true
	for _, l := range off {
		ok = ok && s.hub.turnOff(of, l)
	}
	for _, l := range on {
		first := false
		if ok {
			first, ok = s.hub.turnOn(of, l)
		}
		if first {
			s.check.follow(l)
		}
	}
	switch {
	case !ok:
		s.check.user(c.caller.User)
	case len(on) > 0:
		c.hintNow()
	}
}

// holds tells whether a reading may be gone by. The caller holds the conn's mu.
func (s seen) holds() bool { return s.conn.news == s.news && s.conn.judged == s.turn }

func (h *hub) turnOn(of seen, to id.Conversation) (first, ok bool) {
	s := h.conversation(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	of.conn.mu.Lock()
	ok = of.holds()
	fresh := ok && of.conn.takeUp(to)
	of.conn.mu.Unlock()
	return fresh && h.join(s, of.conn, to, 0), ok
}

func (h *hub) turnOff(of seen, from id.Conversation) (ok bool) {
	s := h.conversation(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	of.conn.mu.Lock()
	if ok = of.holds(); ok {
		of.conn.giveUp(from)
	}
	of.conn.mu.Unlock()
	if ok {
		h.drop(s, of.conn, from)
	}
	return ok
}
