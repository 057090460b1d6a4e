package gateway

// Messages wait in the sockets of their senders before the log has more than it can store soon: a message that is not read costs nothing, keeps its order, and
// need not be refused and sent again. Each connection has a window of messages in flight. The more are in flight on this node, the smaller it is, but each
// connection may have one, so that a sender of few messages does not wait behind one of many. Such dynamic thresholds divide the memory of switches as well: each
// queue may have a fixed multiple of what is free (docs/decisions/0119-overload.md).

const (
	// nodeInFlight is what the messages in flight of all connections may weigh: those of about 20,000 short messages, which is less than the log's queue.
	nodeInFlight = 25 << 20
	// A connection's may weigh a windowPart of what is free of it.
	windowPart = 8
	// sendOverhead is what a message weighs beside its content.
	sendOverhead = 1 << 10
	// A read brings a quarter of the window at most, since a message of some hundred bytes weighs several times that, but at least leastRead bytes.
	weightPerByte = 4
	leastRead     = 4 << 10
)

// sendWindow returns what the messages in flight of a connection may weigh now.
func (s *Server) sendWindow() int64 {
	return max(1, (nodeInFlight-s.inFlight.Load())/windowPart)
}

// readSize returns how many bytes are to be read from a socket at once.
func (s *Server) readSize(most int) int {
	return int(min(int64(most), max(leastRead, s.sendWindow()/weightPerByte)))
}

// addInFlight counts a send as one without a receipt. It reports whether the connection has so many that no more is to be read.
func (c *conn) addInFlight(cost int) (full bool) {
	n, size := c.inFlight.Add(1), c.inFlightBytes.Add(int64(cost))
	c.server.inFlight.Add(int64(cost) + sendOverhead)
	return n >= maxInFlight || size >= maxInFlightBytes || int64(n)*sendOverhead+size >= c.server.sendWindow()
}

// removeInFlight ends what addInFlight began.
func (c *conn) removeInFlight(cost int) {
	c.inFlight.Add(-1)
	c.inFlightBytes.Add(-int64(cost))
	c.server.inFlight.Add(-int64(cost) - sendOverhead)
}

// hasWindow reports whether a connection whose reading was paused has so few sends in flight that it is to be read again. It always is without any.
func (c *conn) hasWindow() bool {
	n, size := c.inFlight.Load(), c.inFlightBytes.Load()
	return n < maxInFlight/2 && size < maxInFlightBytes/2 && (n == 0 || int64(n)*sendOverhead+size < c.server.sendWindow()/2)
}
