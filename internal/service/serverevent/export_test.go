package serverevent

import "time"

// Hasten makes deliveries that fail be repeated at once, and become dead letters after some attempts.
func (s *Service) Hasten(attempts int) {
	s.retry.attempts, s.retry.first, s.retry.longest, s.retry.pause = attempts, time.Millisecond, 2*time.Millisecond, time.Millisecond
}

// CommandOf is commandOf.
var CommandOf = commandOf
