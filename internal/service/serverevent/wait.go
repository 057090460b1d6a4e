package serverevent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	// maxWaiters bounds the calls that wait on a node, and maxBotWaiters those for the events of one bot.
	maxWaiters, maxBotWaiters = 256, 16
	// pollInterval is how often a waiting call looks for events that other nodes have dispatched.
	pollInterval = 500 * time.Millisecond
)

// waiters are the calls that wait for events.
type waiters struct {
	number  atomic.Int32
	mu      sync.Mutex // guards waiting
	waiting map[*waiter]struct{}
}

// waiter waits for events of a bot, or of conversations.
type waiter struct {
	bot  id.User
	wake chan struct{}
}

var errTooManyWaiting = errs.New(errs.Exhausted, "too_many_waiting", "too many calls wait for events on this node; pull with wait_ms 0, or later")

// add begins a wait, which the caller ends.
func (w *waiters) add(bot id.User) (*waiter, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := 0
	for other := range w.waiting {
		if other.bot == bot {
			own++
		}
	}
	if len(w.waiting) >= maxWaiters || bot != 0 && own >= maxBotWaiters {
		return nil, nil, errTooManyWaiting
	}
	one := &waiter{bot: bot, wake: make(chan struct{}, 1)}
	w.waiting[one] = struct{}{}
	w.number.Add(1)
	return one, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, one)
		w.number.Add(-1)
	}, nil
}

// wait returns when there may be events, or after pollInterval. It reports false when ctx has ended.
func (w *waiter) wait(ctx context.Context) bool {
	poll := time.NewTimer(pollInterval)
	defer poll.Stop()
	select {
	case <-w.wake:
	case <-poll.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// Posted is called for each entry that this node posts to an inbox or an event stream. It does not block.
func (s *Service) Posted(u id.User) {
	stream := (timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}).IsEventStream()
	s.deliverer.posted(u, stream)
	w := &s.waiters
	if w.number.Load() == 0 {
		return
	}
	if stream {
		u = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.waiting {
		if one.bot == u {
			wakeup.Signal(one.wake)
		}
	}
}
