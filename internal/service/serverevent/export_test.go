package serverevent

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/id"
)

// Hasten makes deliveries that fail be repeated at once, and become dead letters after some attempts.
func (s *Service) Hasten(attempts int) {
	s.retry.attempts, s.retry.first, s.retry.longest, s.retry.pause = attempts, time.Millisecond, 2*time.Millisecond, time.Millisecond
}

// Divide divides fewer slots among webhooks. It is called before Run.
func (s *Service) Divide(c bulkhead.Config) { s.deliverer.slots = bulkhead.New[string](c) }

// Single makes each delivery have requests of one event, of which others say whether they were slow. It is called before Run.
func (s *Service) Single(isSlow func() bool) {
	s.retry.events = 1
	s.deliverer.isSlow = func(time.Duration) bool { return isSlow() }
}

// InUse is how many slots a consumer uses.
func (s *Service) InUse(consumer string) int { return s.deliverer.slots.InUse(consumer) }

// Share takes all slots that a consumer may have now, and returns how many they are.
func (s *Service) Share(consumer string) (n int) {
	for s.deliverer.slots.TryAcquire(consumer) {
		n++
	}
	return n
}

// AddWaiter adds a call that waits for events of a bot, and never ends.
func (s *Service) AddWaiter(bot id.User) error {
	_, _, err := s.waiters.add(bot)
	return err
}

// CommandOf is commandOf.
var CommandOf = commandOf
