package gateway

import (
	"math/rand/v2"
	"time"
)

const (
	// longestDrain is how long connections are served after a stop has begun. The node's shutdown timeout is a little longer.
	longestDrain = 8 * time.Second
	drainStep    = 10 * time.Millisecond
)

// drain tells every connection to reconnect elsewhere, and accepts no more. The connections are told one after the other over DrainOver, at
// most longestDrain, and served until then, so that a client is only away while it reconnects. If DrainOver is longer, clients are asked to
// wait for the remainder before they reconnect. drain returns when all were told.
func (s *Server) drain(tick <-chan time.Time) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	list := s.wheel.all()
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	began, over := time.Now(), min(s.config.DrainOver, longestDrain)
	step := time.NewTicker(drainStep)
	defer step.Stop()
	for told := 0; told < len(list); {
		due := told + 1 // in each step: few are no crowd, and need not wait
		if over > 0 {
			due = max(due, int(float64(len(list))*float64(time.Since(began))/float64(over)))
		}
		for ; told < min(due, len(list)); told++ {
			list[told].sayGoodbye(closeDrain, "draining", s.stayAway())
		}
		s.Flush()
		if s.stats.Connections.Load() == 0 {
			return
		}
		select {
		case <-step.C:
		case <-tick:
			s.tick()
		}
	}
}

// stayAway is how long a drained client is asked to wait before it reconnects.
func (s *Server) stayAway() time.Duration {
	if more := s.config.DrainOver - longestDrain; more > 0 {
		return rand.N(more)
	}
	return 0
}

// closeRemaining gives drained connections a moment to close, and ends the rest.
func (s *Server) closeRemaining() {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 150 {
		if s.stats.Connections.Load() == 0 {
			return
		}
		<-ticker.C
	}
	for _, c := range s.wheel.all() {
		c.hangUp()
	}
	for range 150 {
		if s.stats.Connections.Load() == 0 {
			return
		}
		<-ticker.C
	}
}
