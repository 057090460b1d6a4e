package rialto

import (
	"errors"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

const (
	// maxUnansweredPings is how many pings are sent, one for each heartbeat, before a silent connection is closed.
	maxUnansweredPings = 2
	defaultHeartbeat   = 5 * time.Second
	// backgroundAnswer is how long a ping in the background waits for an answer.
	backgroundAnswer = 10 * time.Second
)

// SetBackground says whether the app is in the background. Pings are then sent as rarely as the path to the server allows, which the client finds out, and
// as the server permits. The default is the foreground, with the server's interval.
func (c *Client) SetBackground(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.background == on {
		return
	}
	c.background = on
	if s := c.socket; s != nil {
		s.background.Store(on)
		select {
		case s.mode <- struct{}{}:
		default:
		}
	}
}

// heartbeat of a connection.
type heartbeat struct {
	every, longest time.Duration // in the foreground, and at most in the background
	search         *idleSearch
	unanswered     int           // pings
	tested         time.Duration // how long the path was idle before the ping that is not answered; 0: no such ping
}

func newHeartbeat(h *gatewayv1.Hello, search *idleSearch) heartbeat {
	b := heartbeat{every: time.Duration(h.HeartbeatMs) * time.Millisecond, longest: time.Duration(h.LongestHeartbeatMs) * time.Millisecond, search: search}
	if b.every <= 0 {
		b.every = defaultHeartbeat
	}
	return b
}

// heartbeat sends pings, and closes the connection if nothing comes back: the node may be stopped or unreachable, and the network does
// not always report it. Time in which the client itself does not read is not counted.
func (s *socket) heartbeat(b heartbeat) {
	timer := time.NewTimer(b.every)
	defer timer.Stop()
	if s.inBackground(&b) {
		timer.Reset(s.beat(&b, true))
	}
	for {
		select {
		case <-s.ctx.Done():
			if s.run.Err() == nil && s.inBackground(&b) { // a proxy closes an idle connection before the ping
				s.dropped(&b)
			}
			return
		case <-s.mode:
			timer.Reset(s.beat(&b, true)) // it says when the next one comes
		case <-s.received:
			if b.tested > 0 {
				b.search.keep(b.tested)
			}
			if b.unanswered > 0 && s.inBackground(&b) {
				timer.Reset(s.interval(&b))
			}
			b.unanswered, b.tested = 0, 0
		case <-timer.C:
			if !s.reading.Load() {
				b.unanswered, b.tested = 0, 0
			}
			if b.unanswered >= maxUnansweredPings || b.unanswered > 0 && s.inBackground(&b) {
				if s.inBackground(&b) {
					s.dropped(&b)
				}
				s.fail(errors.New("rialto: the server does not answer"))
				return
			}
			timer.Reset(s.beat(&b, false))
		}
	}
}

// inBackground reports whether the heartbeat is that of the background.
func (s *socket) inBackground(b *heartbeat) bool { return s.background.Load() && b.longest > b.every }

// interval is the time from a frame that was sent to the next ping.
func (s *socket) interval(b *heartbeat) time.Duration {
	if s.inBackground(b) {
		return b.search.next(b.every, b.longest)
	}
	return b.every
}

// beat sends a ping if it is due, or in any case, and returns when to call it again.
func (s *socket) beat(b *heartbeat, always bool) time.Duration {
	now := time.Now()
	if !s.inBackground(b) {
		sent := now.Sub(time.Unix(0, s.sentAt.Load()))
		if !always && b.unanswered == 0 && sent < b.every && now.Sub(time.Unix(0, s.gotAt.Load())) < b.every {
			return b.every - sent // frames went both ways: each counts as a heartbeat
		}
		s.ping(0)
		b.unanswered++
		return b.every
	}
	interval := s.interval(b)
	b.tested = max(b.tested, s.idle(b))
	next := interval
	if !b.search.settled(b.every, b.longest) {
		next = min(2*interval, b.longest) // the answer may double the time
	}
	s.ping(next)
	b.unanswered++
	return min(backgroundAnswer, interval)
}

// idle is for how long the path has been idle; 0 if that has not tested it: it is short, or the machine slept.
func (s *socket) idle(b *heartbeat) time.Duration {
	idle := time.Since(time.Unix(0, max(s.wroteAt.Load(), s.gotAt.Load())))
	if idle <= b.every/2 || idle >= 2*b.longest {
		return 0
	}
	return idle
}

// dropped records that the connection was lost, after it had been idle. After a goodbye it was not.
func (s *socket) dropped(b *heartbeat) {
	if b.tested == 0 {
		b.tested = s.idle(b)
	}
	if b.tested > 0 {
		b.search.drop(b.tested)
	}
}

// ping sends a ping. next is when the next one comes at the latest, 0 if that is the server's interval.
func (s *socket) ping(next time.Duration) {
	s.pingAt.CompareAndSwap(0, time.Now().UnixNano())
	s.enqueue(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{RttMs: uint32(s.rtt.Load() / int64(time.Millisecond)), Retries: uint32(s.retries), NextMs: uint32((next + time.Millisecond - 1) / time.Millisecond)}})
}

const (
	// A search ends when it is this close: this time, or this share of what is known to be kept.
	searchTolerance = 5 * time.Second
	searchShare     = 8
	// Two idle times that should be the same differ by less than this share, and a search that is over stays by it below what is kept.
	searchMargin = 20
)

// idleSearch finds out for how long the path to the server keeps an idle connection: routers on the way forget one that is idle for longer. It doubles the
// time until the path drops a connection, and then bisects. A time counts as too long when it failed twice, since networks fail for other reasons, too.
type idleSearch struct {
	kept    time.Duration // the longest idle time that the path has kept
	dropped time.Duration // the shortest after which it dropped a connection, twice; 0: none
	suspect time.Duration // after which a connection was lost once; 0: none
}

// next is the time after which to ping next, of at least from and at most to.
func (s *idleSearch) next(from, to time.Duration) time.Duration {
	kept := max(s.kept, from)
	try := (kept + s.dropped) / 2
	switch {
	case s.suspect > 0:
		try = s.suspect
	case s.dropped == 0:
		try = 2 * kept
	case s.settled(from, to):
		try = kept - kept/searchMargin
	}
	return max(from, min(try, to))
}

// settled reports whether the search is over, so that the next time will be the same.
func (s *idleSearch) settled(from, to time.Duration) bool {
	kept := max(s.kept, from)
	switch {
	case s.suspect > 0:
		return false
	case s.dropped == 0:
		return kept >= to
	}
	return s.dropped-kept <= max(searchTolerance, kept/searchShare)
}

// keep records that a ping after an idle time was answered.
func (s *idleSearch) keep(idle time.Duration) {
	s.kept = max(s.kept, idle)
	if isSame(idle, s.suspect) {
		s.suspect = 0
	}
	if idle >= s.dropped {
		s.dropped = 0 // the path is another one now
	}
}

// drop records that a ping after an idle time was not answered, or that the connection was closed.
func (s *idleSearch) drop(idle time.Duration) {
	if idle >= s.kept && isSame(s.kept, idle) {
		s.suspect, s.dropped = 0, idle // the limit is right here
		return
	}
	if s.suspect == 0 || !isSame(idle, s.suspect) {
		s.suspect = idle
		return
	}
	twice := min(idle, s.suspect)
	if twice <= s.kept {
		s.kept = 0 // the path is another one now
	}
	if s.dropped == 0 || twice < s.dropped {
		s.dropped = twice
	}
	s.suspect = 0
}

// isSame reports whether an idle time is at least as long as another one, but for what timers differ.
func isSame(idle, as time.Duration) bool { return idle >= as-as/searchMargin }
