package gateway

import "sync"

const wheelSeconds = 128

// wheel has every open connection under the second at which it is to be looked at, so that a tick costs what is due and not
// what is open.
type wheel struct {
	mu      sync.Mutex // guards all below
	at      uint32     // the last second that was turned to
	buckets [wheelSeconds][]*conn
}

// put has c looked at at the second due, less than wheelSeconds from now.
func (w *wheel) put(c *conn, due uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due = max(due, w.at+1)
	w.buckets[due%wheelSeconds] = append(w.buckets[due%wheelSeconds], c)
}

// turn looks at what is due up to now; look gives the next second, 0 to forget the connection.
func (w *wheel) turn(now uint32, look func(c *conn, now uint32) uint32) {
	w.mu.Lock()
	if now <= w.at { // the clock stepped back
		w.mu.Unlock()
		return
	}
	from := max(w.at+1, now-min(now, wheelSeconds-1))
	var due []*conn
	for second := from; second <= now; second++ {
		b := &w.buckets[second%wheelSeconds]
		due = append(due, *b...)
		clear(*b)
		*b = (*b)[:0]
		if cap(*b) > 1024 {
			*b = nil
		}
	}
	w.at = now
	w.mu.Unlock()
	for _, c := range due {
		if next := look(c, now); next != 0 {
			w.put(c, next)
		}
	}
}

// all open connections; some may have ended.
func (w *wheel) all() (list []*conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.buckets {
		list = append(list, b...)
	}
	return list
}

// look decides about one connection and gives the second of the next look.
func (s *Server) look(c *conn, now uint32) uint32 {
	grace := uint32(s.config.Grace.Seconds())
	c.mu.Lock()
	gone, closing, ready, stalled, paused := c.gone, c.closing, c.ready, c.stalled, c.paused
	c.mu.Unlock()
	last, begun := c.last.Load(), c.begun.Load()
	switch {
	case gone:
		return 0
	case closing: // the other side had its time to answer
		c.end()
		return now + 2
	case stalled != 0 && now >= stalled+stallTime:
		s.stats.Slow.Add(1)
		c.bye(closeSlow, "the connection takes nothing", 0)
		return now + 2
	case !ready && now >= c.opened+uint32(s.config.AuthWithin.Seconds()):
		c.bye(closeAuth, "no credentials came in time; send an auth frame first", 0)
		return now + 2
	case now >= last+grace:
		s.stats.Silent.Add(1)
		c.bye(closeSilent, "no heartbeat came", 0)
		return now + 2
	case begun != 0 && !paused && now >= begun+slowTime:
		s.stats.Slow.Add(1)
		c.bye(closeTorn, "a message did not come whole in time", 0)
		return now + 2
	case !ready:
		return c.opened + uint32(s.config.AuthWithin.Seconds())
	case stalled != 0:
		return now + 5
	}
	// A connection that stalls, or whose message does, is seen at its next heartbeat's look at the latest.
	next := last + grace
	if begun != 0 {
		next = min(next, max(begun+slowTime, now+5))
	}
	return next
}
