package gateway

// checkDeadlines closes a connection that missed one of its deadlines, and returns the second of the next check; 0 ends the checks.
func (s *Server) checkDeadlines(c *conn, now uint32) uint32 {
	grace, authWithin := uint32(s.config.Grace.Seconds()), uint32(s.config.AuthWithin.Seconds())
	c.mu.Lock()
	state, stalled, reads := c.state, c.stalledSince, c.reads
	c.mu.Unlock()
	resumed := s.resumed.Load()
	opened, last, begun, silence := max(c.opened, resumed), max(c.lastInput.Load(), resumed), c.incompleteSince.Load(), c.silence.Load()
	switch {
	case state == stateClosed:
		return 0
	case state >= stateClosing: // the client had enough time to answer
		c.hangUp()
		return now + 2
	case stalled != 0 && now >= max(stalled, resumed)+stallTime:
		s.stats.Slow.Add(1)
		c.sayGoodbye(closeSlow, "the client reads nothing", 0)
		return now + 2
	case state < stateReady && now >= opened+authWithin:
		c.sayGoodbye(closeAuth, "no credentials came in time; send an auth frame first", 0)
		return now + 2
	case now >= last+grace+silence && reads == readOn && c.receiver == nil:
		s.stats.Silent.Add(1)
		c.sayGoodbye(closeSilent, "no heartbeat came", 0)
		return now + 2
	case begun != 0 && reads == readOn && now >= max(begun, resumed)+chunkTime:
		s.stats.Slow.Add(1)
		c.sayGoodbye(closeIncomplete, "a message was not complete in time", 0)
		return now + 2
	case state < stateReady:
		return opened + authWithin
	case stalled != 0:
		return now + 5
	case c.receiver != nil: // nothing comes from its client; what is written to it shows whether the client is there
		return now + grace
	}
	// A stalled connection or message is noticed at the next heartbeat check at the latest, which therefore is not later for a client that may be silent.
	next := last + grace
	if silence > 0 {
		next = min(next+silence, now+grace)
	}
	if begun != 0 {
		next = min(next, max(begun+chunkTime, now+5))
	}
	return next
}
