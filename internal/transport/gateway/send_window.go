package gateway

import (
	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Messages wait in the sockets of their senders before the log has more than it can store soon: a message that is not read costs nothing, keeps its order, and
// need not be refused and sent again. Each connection has a window of messages in flight. The more are in flight on this node, the smaller it is, but each
// connection may have one, so that a sender of few messages does not wait behind one of many. Such dynamic thresholds divide the memory of switches as well: each
// queue may have a fixed multiple of what is free (docs/decisions/0119-overload.md).

// A user with many connections would have most of it nevertheless, and the messages of all others would wait behind theirs. So a user's messages in flight, of all
// connections to this node, may weigh userInFlight. Beyond it the user's frames wait at their connections, which go on one after the other. A frame is handled whole, so a
// user may have one more.
//
// Messages that wait for something else than the log (a webhook, a conversation that is loaded, a message before them) would use up the windows while nothing is
// stored. They are parked: they have a budget of their own, of which each user and each network has a share. Beyond it they count as in flight.

const (
	// nodeInFlight is what the messages in flight of all connections may weigh: those of about 20,000 short messages, which is less than the log's queue.
	nodeInFlight = 25 << 20
	// A connection's may weigh a windowPart of what is free of it.
	windowPart = 8
	// userInFlight is what those of one user may weigh: about 330 short messages, which the log stores in some milliseconds.
	userInFlight = nodeInFlight / 64
	// maxParked is what the parked messages of all users weigh at most.
	maxParked = 8 << 20
	// sendOverhead is what a message weighs beside its content.
	sendOverhead = 1 << 10
	// A read brings a quarter of the window at most, since a message of some hundred bytes weighs several times that, but at least leastRead bytes.
	weightPerByte = 4
	leastRead     = 4 << 10
)

func (s *Server) initWindows() {
	s.senders.server = s
	s.parked = budget.New(budget.Config{Bytes: maxParked, NetworkShare: budget.NetworkOfUsers})
}

// sendWindow returns what the messages in flight of a connection may weigh now.
func (s *Server) sendWindow() int64 {
	return max(1, (nodeInFlight-s.inFlight.Load())/windowPart)
}

// readSize returns how many bytes are to be read from the connection's socket at once.
func (c *conn) readSize(most int) int {
	window := c.server.sendWindow()
	if u := c.sender.Load(); u != nil {
		window = min(window, userInFlight-u.weight.Load())
	}
	return int(min(int64(most), max(leastRead, window/weightPerByte)))
}

// addInFlight counts a send as one without a receipt. It reports whether the connection has so many that no more is to be read. Only the reading goroutine calls it.
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

// isFull reports whether no more is to be read because of the sends in flight.
func (c *conn) isFull() bool {
	n, size := c.inFlight.Load(), c.inFlightBytes.Load()
	return n >= maxInFlight || size >= maxInFlightBytes || n > 0 && int64(n)*sendOverhead+size >= c.server.sendWindow()
}

// endInFlight ends what addInFlight began.
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

// hasWindow reports whether a connection whose reading was paused has so few sends in flight that it is to be read again. It always is without any.
func (c *conn) hasWindow() bool {
	n, size := c.inFlight.Load(), c.inFlightBytes.Load()
	return n < maxInFlight/2 && size < maxInFlightBytes/2 && (n == 0 || int64(n)*sendOverhead+size < c.server.sendWindow()/2)
}
