package account

import (
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
)

// limit counts deeds by key in windows of a minute. Where more keys are counted than memory is for, new ones wait for the next.
type limit struct {
	most int // of one key in a window

	mu     sync.Mutex // guards all below
	since  time.Time
	counts map[string]int
}

// attemptsMost are the keys that a limit counts.
const attemptsMost = 100_000

func newLimit(most int) *limit { return &limit{most: most, counts: map[string]int{}} }

// take counts a deed, and tells whether it is within the limit.
func (l *limit) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) > time.Minute {
		l.since, l.counts = now, map[string]int{} // a new map, not one emptied: nobody waits for that
	}
	n, known := l.counts[key]
	if n >= l.most || !known && len(l.counts) >= attemptsMost {
		return false
	}
	l.counts[key] = n + 1
	return true
}

var errLogins = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_logins", Message: "too many logins; wait a minute", Retry: time.Minute}

// admit counts logins by handle, known or not.
func (s *Service) admit(handle string) error {
	if !s.logins.take(handle, s.deps.Clock.Now()) {
		return errLogins
	}
	return nil
}
