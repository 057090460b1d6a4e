package gateway

import (
	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/message"
)

// When the log is busy, messages wait unread in the sockets of their senders. An unread message costs nothing, keeps its order, and need not be refused and sent
// again. Each connection has a window of messages in flight. The window shrinks while more messages are in flight on this node, but always allows one message, so
// that a sender of few messages does not wait behind a sender of many. Switches divide their memory by such dynamic thresholds, too: each queue may use a fixed
// multiple of the free memory (docs/decisions/0119-overload.md).

// A user with many connections could still fill most of the log's queue, and the messages of all others would wait behind theirs. So the messages in flight of a
// user, on all connections to this node, may weigh userInFlight. Beyond that, frames wait at the user's connections, which are resumed one after the other. A frame
// is handled as a whole, so a user may exceed the limit by one frame.
//
// Messages that wait for something other than the log (a webhook, the loading of a conversation, an earlier message) would use up the windows while nothing is
// stored. They are parked: they count against a budget of their own, of which each user and each network has a share. Beyond that budget they count as in flight.

const (
	// nodeInFlight is the weight that the messages in flight of all connections may have: that of about 20,000 short messages, which is less than the log's queue.
	nodeInFlight = 25 << 20
	// Those of a connection may use a fraction of 1/windowPart of what is free.
	windowPart = 8
	// userInFlight is the weight that those of a user may have: that of about 330 short messages, which the log stores in some milliseconds.
	userInFlight = nodeInFlight / 64
	// maxParked is the weight that the parked messages of all users may have.
	maxParked = 8 << 20
	// sendOverhead is the weight of a message in addition to its content.
	sendOverhead = 1 << 10
	// A read has at most a quarter of the window, because a message of some hundred bytes weighs several times its size, but at least leastRead bytes.
	weightPerByte = 4
	leastRead     = 4 << 10
)

func (s *Server) initWindows() {
	s.senders.server = s
	s.parked = budget.New(budget.Config{Bytes: maxParked, NetworkShare: budget.NetworkOfUsers})
}

// sendWindow returns the weight that the messages in flight of a connection may have now.
func (s *Server) sendWindow() int64 {
	return max(1, (nodeInFlight-s.inFlight.Load())/windowPart)
}

// readSize returns how many bytes to read from the connection's socket at once.
func (c *conn) readSize(most int) int {
	window := c.server.sendWindow()
	if u := c.sender.Load(); u != nil {
		window = min(window, userInFlight-u.weight.Load())
	}
	return int(min(int64(most), max(leastRead, window/weightPerByte)))
}

// addInFlight counts a send until its receipt. It reports whether the window is full, so that reading must pause. Only the reading goroutine calls it.
func (c *conn) addInFlight(cost int) (full bool) {
	if c.sender.Load() == nil {
		c.sender.Store(c.server.senders.join(c.caller.User))
	}
	c.countInFlight(1, cost)
	return c.isFull()
}

// countInFlight counts n sends, 1 or -1, with a content of cost bytes.
func (c *conn) countInFlight(n, cost int) {
	c.inFlight.Add(int32(n))
	c.inFlightBytes.Add(int64(n * cost))
	weight := int64(n * (cost + sendOverhead))
	c.server.inFlight.Add(weight)
	c.server.senders.add(c.sender.Load(), weight)
}

// isFull reports whether reading must pause because of the sends in flight.
func (c *conn) isFull() bool {
	n, size := c.inFlight.Load(), c.inFlightBytes.Load()
	return n >= maxInFlight || size >= maxInFlightBytes || n > 0 && int64(n)*sendOverhead+size >= c.server.sendWindow()
}

// endInFlight counts the end of a send that addInFlight counted.
func (c *conn) endInFlight(d *message.Draft) {
	if d.IsParked {
		d.IsParked = false
		c.server.parked.Release(c.owner(), d.Cost+sendOverhead)
		return
	}
	c.countInFlight(-1, d.Cost)
}

// onPark is the OnPark of all drafts but those that are held.
func onPark(d *message.Draft, parked bool) {
	c := d.Context.(*conn)
	switch {
	case parked && c.server.parked.Acquire(c.owner(), d.Cost+sendOverhead):
		d.IsParked = true
		c.countInFlight(-1, d.Cost)
		c.mu.Lock()
		if c.reads == readPaused { // perhaps because of this one
			c.queueWrite() // the write resumes reading
		}
		c.mu.Unlock()
	case !parked:
		d.IsParked = false
		c.server.parked.Release(c.owner(), d.Cost+sendOverhead)
		c.countInFlight(1, d.Cost)
	}
}

// hasWindow reports whether a connection whose reading was paused has so few sends in flight that reading may resume. Without any, it always may.
func (c *conn) hasWindow() bool {
	n, size := c.inFlight.Load(), c.inFlightBytes.Load()
	return n < maxInFlight/2 && size < maxInFlightBytes/2 && (n == 0 || int64(n)*sendOverhead+size < c.server.sendWindow()/2)
}
