package gateway

import (
	"math/rand/v2"
	"time"
)

const (
	// longestDrain that connections are still served after a stop has begun. The house has a little more for all its parts.
	longestDrain = 8 * time.Second
	drainStep    = 10 * time.Millisecond
)

// drain asks every connection to go elsewhere, and accepts no more. Each is told at a moment of its own, spread over at most the configured
// time, and served until then as before: it is away for as long as it takes to connect, and no longer. What is configured beyond the longest
// drain is asked of clients, as a wait before they come back. It returns when all have been told.
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
			list[told].bye(closeDrain, "draining", s.away())
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

// away is how long a client is asked to stay away when it is told to go elsewhere.
func (s *Server) away() time.Duration {
	if more := s.config.DrainOver - longestDrain; more > 0 {
		return rand.N(more)
	}
	return 0
}

// finish gives connections that were told to go a moment to do so, and ends the rest.
func (s *Server) finish() {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for range 150 {
		if s.stats.Connections.Load() == 0 {
			return
		}
		<-look.C
	}
	for _, c := range s.wheel.all() {
		c.end()
	}
	for range 150 {
		if s.stats.Connections.Load() == 0 {
			return
		}
		<-look.C
	}
}
