package clusterevent

import (
	"context"
	"time"
)

// Poll reads new events, as Run does each second.
func Poll(ctx context.Context, s *Service) error { return s.poll(ctx, s.deps.Handle) }

// Restart makes s forget all but what New finds.
func Restart(ctx context.Context, s *Service) error {
	s.last = 0
	clear(s.gaps)
	return s.poll(ctx, func(Event) {})
}

// Age pretends that all that s did happened earlier by d.
func Age(s *Service, d time.Duration) {
	s.lastRead, s.nextTrim, s.barrier.at = s.lastRead.Add(-d), s.nextTrim.Add(-d), s.barrier.at.Add(-d)
	for i := range s.checkpoints {
		s.checkpoints[i].at = s.checkpoints[i].at.Add(-d)
	}
	for n := range s.gaps {
		s.gaps[n] = s.gaps[n].Add(-d)
	}
}

// Gaps counts the missing numbers.
func Gaps(s *Service) int { return len(s.gaps) }

// Durations that tests depend on.
const (
	Retention         = retention
	MaxTransactionAge = maxTransactionAge
	TrimInterval      = trimInterval
)
