package news

import (
	"context"
	"time"
)

// Round reads what is new, as Run does each second.
func Round(ctx context.Context, s *Service) error { return s.round(ctx, s.deps.Tell) }

// Begin has s know nothing but what New finds.
func Begin(ctx context.Context, s *Service) error {
	s.last = 0
	clear(s.holes)
	return s.round(ctx, func(Item) {})
}

// Age has all that s did have happened so much earlier.
func Age(s *Service, d time.Duration) {
	s.read, s.trimAt, s.later.at = s.read.Add(-d), s.trimAt.Add(-d), s.later.at.Add(-d)
	for i := range s.marks {
		s.marks[i].at = s.marks[i].at.Add(-d)
	}
	for n := range s.holes {
		s.holes[n] = s.holes[n].Add(-d)
	}
}

// Missing counts the numbers that are asked for again.
func Missing(s *Service) int { return len(s.holes) }

// Times that the room keeps to.
const (
	KeptFor   = keptFor
	OpenFor   = openFor
	TrimEvery = trimEvery
)
