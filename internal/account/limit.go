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

// shareLeast of a limit is a node's, however many nodes there are: people would be refused before those who guess.
const shareLeast = 5

// share of a limit that is one node's. Whoever spreads deeds over all nodes has the limit, rounded up to so many for each node, or
// shareLeast for each node where that is more.
func share(most, nodes int) int {
	if nodes < 2 {
		return most
	}
	return min(most, max((most+nodes-1)/nodes, shareLeast))
}

// take counts a deed, and tells whether it is within this node's share of the limit, of so many nodes.
func (l *limit) take(key string, now time.Time, nodes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) > time.Minute {
		l.since, l.counts = now, map[string]int{} // a new map, not one emptied: nobody waits for that
	}
	n, known := l.counts[key]
	if n >= share(l.most, nodes) || !known && len(l.counts) >= attemptsMost {
		return false
	}
	l.counts[key] = n + 1
	return true
}

var errLogins = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_logins", Message: "too many logins; wait a minute", Retry: time.Minute}

// admit counts logins by handle, known or not.
func (s *Service) admit(handle string) error {
	nodes := 1
	if s.deps.Nodes != nil {
		nodes = s.deps.Nodes()
	}
	if !s.logins.take(handle, s.deps.Clock.Now(), nodes) {
		return errLogins
	}
	return nil
}
