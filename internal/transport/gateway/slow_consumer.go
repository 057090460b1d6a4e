package gateway

import "github.com/rialto-im/rialto/internal/base/message"

// A slow consumer is a client that reads more slowly than the server sends to it. The server never waits for one:
//
//   - Above hintAbove waiting bytes, events are left out. A hint takes their place, and the client syncs.
//   - Above maxPending waiting bytes, calls are refused (sendAnswer, hasUnreadAnswers). Receipts cannot be left out: if they alone exceed
//     it, the connection is cut.
//   - A connection that takes nothing for stallTime is closed (checkDeadlines), or after stallTimeUnderPressure while unread answers of all
//     connections take more than half of their memory (closeUnread).

// canPush reports whether an event can be pushed now. If not, a hint will take its place. The caller holds mu.
func (c *conn) canPush() bool {
	switch {
	case c.isEnding():
		return false
	case c.state != stateReady:
		c.needsHint = true
		return false
	case c.needsHint:
		return false
	case c.pending() > hintAbove:
		c.setHint()
		return false
	}
	c.server.stats.Events.Add(1)
	return true
}

// setHint leaves events out until a hint is written. The caller holds mu.
func (c *conn) setHint() {
	c.needsHint = true
	c.server.stats.Hints.Add(1)
}

// requestHint tells the client to sync. What already waits is written first.
func (c *conn) requestHint() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queueHint()
}

// replaceByHint tells the client to sync in place of the event at a position.
func (c *conn) replaceByHint(at message.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newestPushed = max(c.newestPushed, at)
	c.queueHint()
}

// hintIfBehind tells the client to sync, unless the event at a position was pushed to it.
func (c *conn) hintIfBehind(at message.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == stateReady && c.newestPushed < at {
		c.newestPushed = at
		c.queueHint()
	}
}

// queueHint makes the next write a hint. The caller holds mu.
func (c *conn) queueHint() {
	switch {
	case c.isEnding() || c.needsHint:
	case c.state != stateReady:
		c.needsHint = true
	default:
		c.setHint()
		c.queueWrite()
	}
}

// cutIfOverflowing ends a connection whose client sends and does not read its receipts. The caller holds mu.
func (c *conn) cutIfOverflowing() {
	if c.pending()-c.answerBytes > maxPending && !c.isEnding() {
		c.server.stats.Slow.Add(1)
		c.abort()
	}
}

// stallTimeUnderPressure is how many seconds a connection may take nothing while unread answers take more than half of their memory.
const stallTimeUnderPressure = 5

// hasUnreadAnswers reports whether so many bytes wait that calls are refused.
func (c *conn) hasUnreadAnswers() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending() > maxPending
}

// holdAnswer counts n bytes of an answer until they are written. The caller holds mu.
func (c *conn) holdAnswer(n int) error {
	if err := c.server.deps.Answers.Hold(c.owner(), n); err != nil {
		return err
	}
	if c.unreadBytes == 0 && !c.inUnreadHolders {
		c.inUnreadHolders = true
		c.server.unreadHolders.add(c)
	}
	c.unreadBytes += n
	return nil
}

// releaseAnswers releases answers that are written: of what is held, at most the waiting bytes are not. The caller holds mu.
func (c *conn) releaseAnswers(waiting int) {
	if over := c.unreadBytes - waiting; over > 0 {
		c.server.deps.Answers.Release(c.owner(), over)
		c.unreadBytes -= over
	}
}

// closeUnread closes connections that take nothing while unread answers take much of their memory.
func (s *Server) closeUnread(now uint32) {
	s.unreadHolders.visit(func(c *conn) (keep bool) {
		c.mu.Lock()
		c.inUnreadHolders = c.unreadBytes > 0
		keep, stalled := c.inUnreadHolders, c.stalledSince
		c.mu.Unlock()
		if keep && stalled != 0 && now >= stalled+stallTimeUnderPressure && s.deps.Answers.UnderPressure() {
			s.stats.Slow.Add(1)
			c.hangUp()
		}
		return keep
	})
}
