package gateway

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
)

// A delivery tells a connection once that its user joined or left a large conversation, and that delivery may be lost. So the reconciler
// compares what connections follow with the rows, which are written before the change is answered or delivered.
//
// A reading of the rows is true for some moment between its start and its end. Two things may make it stale before it is applied:
//
//   - A delivery may bring a later change. Deliveries are counted (conn.followChanges). A reading is not applied if one came since its start;
//     where there still is a difference, the user is read once more. A delivery that comes after the reading was applied does no harm.
//     It reports either an earlier change, which the reading contains (deliveries of a conversation are in order), or a later one, which is
//     correct. A lost delivery is found by the next reading.
//   - Another reading, by the slow round or for the same user, may be newer and already applied. Each reading draws a generation as it
//     starts, and is not applied if a later one was, or was found to agree (conn.appliedGeneration). So the older of two readings, which
//     is wrong where the delivery between them is lost, does not undo the newer one.
//
// Connections that are being greeted are left out. They read the rows themselves (conn.greet, conn.leftWhileGreeted), and one that became
// ready after a reading started is not among its connections.

// snapshot is a connection as it was when a reading started.
type snapshot struct {
	conn          *conn
	followChanges uint32
	generation    uint64
}

// reconcileFollows compares the conversations that users' connections follow with the rows.
func (l *reconcilePass) reconcileFollows(ctx context.Context, users []id.User) {
	generation := l.server.reconciler.generation.Add(1)
	var of []id.User
	var conns [][]snapshot
	for _, u := range users {
		var list []snapshot
		l.server.hub.each(u, func(c *conn) {
			c.mu.Lock()
			if c.state == stateReady {
				list = append(list, snapshot{c, c.followChanges, generation})
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
	readAll(ctx, l, of, l.server.deps.Inbox.LargeGroups, func(i int, list []id.Conversation) {
		large := make(map[id.Conversation]bool, len(list))
		for _, c := range list {
			large[c] = true
		}
		l.compareFollows(ctx, of[i], conns[i], large)
	}, l.server.reconciler.requestUser)
}

// compareFollows compares a reading with all connections of a user, which share the tails of what they do not follow.
func (l *reconcilePass) compareFollows(ctx context.Context, user id.User, conns []snapshot, large map[id.Conversation]bool) {
	var missing []id.Conversation
	var repaired []snapshot
	for _, s := range conns {
		unfollowed, differs := s.differs(large)
		if differs {
			missing, repaired = append(missing, unfollowed...), append(repaired, s)
		}
	}
	slices.Sort(missing)
	tails, err := l.server.tailsOf(ctx, slices.Compact(missing))
	if err != nil { // what is not to be followed any more does not wait for this
		l.fail(err, func() { l.server.reconciler.requestUser(user) })
	}
	for _, s := range repaired {
		l.addSuspect(func() { l.server.repairFollows(s, large, tails) })
	}
}

// differs reports whether a connection follows other conversations than the rows say, and which ones it does not.
func (s snapshot) differs(large map[id.Conversation]bool) (missing []id.Conversation, differs bool) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	missing, off := c.followDiff(large)
	if len(missing)+len(off) > 0 {
		return missing, true
	}
	c.appliedGeneration = max(c.appliedGeneration, s.generation)
	return nil, false
}

// tailsOf returns the seqs of the newest entries of large conversations.
func (s *Server) tailsOf(ctx context.Context, list []id.Conversation) (map[id.Conversation]uint64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	tails, err := s.deps.Inbox.LargeTails(ctx, list)
	if err != nil {
		return nil, err
	}
	of := make(map[id.Conversation]uint64, len(list))
	for i, c := range list {
		of[c] = tails[i]
	}
	return of, nil
}

// followDiff returns what a connection must follow and unfollow, according to the rows. The caller holds mu.
func (c *conn) followDiff(large map[id.Conversation]bool) (on, off []id.Conversation) {
	if c.state == stateClosed {
		return nil, nil
	}
	for _, l := range c.follows {
		if !large[l] {
			off = append(off, l)
		}
	}
	if len(c.follows)-len(off) == len(large) {
		return nil, off
	}
	has := make(map[id.Conversation]bool, len(c.follows))
	for _, l := range c.follows {
		has[l] = true
	}
	for l := range large {
		if !has[l] {
			on = append(on, l)
		}
	}
	return on, off
}

// repairFollows applies a reading to a connection. The client syncs at once, and, if no connection here followed the conversation before,
// again once its messages reach this node. tails were read after the rows, for the conversations that the connection did not follow.
func (s *Server) repairFollows(of snapshot, large map[id.Conversation]bool, tails map[id.Conversation]uint64) {
	c := of.conn
	c.mu.Lock()
	if of.generation < c.appliedGeneration {
		c.mu.Unlock()
		return
	}
	on, off := c.followDiff(large)
	c.appliedGeneration = of.generation
	c.mu.Unlock()
	ok := true
	for _, l := range off {
		ok = ok && s.hub.unfollowIfCurrent(of, l)
	}
	for _, l := range on {
		first := false
		tail, known := tails[l]
		if ok = ok && known; ok {
			first, ok = s.hub.followIfCurrent(of, l, tail)
		}
		if first {
			s.reconciler.requestConversation(l)
		}
	}
	switch {
	case !ok:
		s.reconciler.requestUser(c.caller.User)
	case len(on) > 0:
		c.requestHint()
	}
}

// isCurrent reports whether a reading may be applied. The caller holds the conn's mu.
func (s snapshot) isCurrent() bool {
	return s.conn.followChanges == s.followChanges && s.conn.appliedGeneration == s.generation
}

func (h *hub) followIfCurrent(of snapshot, to id.Conversation, above uint64) (first, ok bool) {
	s := h.conversation(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	of.conn.mu.Lock()
	ok = of.isCurrent()
	fresh := ok && of.conn.addFollow(to, above)
	of.conn.mu.Unlock()
	return fresh && h.join(s, of.conn, to, 0), ok
}

func (h *hub) unfollowIfCurrent(of snapshot, from id.Conversation) (ok bool) {
	s := h.conversation(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	of.conn.mu.Lock()
	if ok = of.isCurrent(); ok {
		of.conn.removeFollow(from)
	}
	of.conn.mu.Unlock()
	if ok {
		h.drop(s, of.conn, from)
	}
	return ok
}
