package chat

import (
	"context"
	"sync"
)

// pendingProjections tracks control entries whose rows are not yet written. A query over many conversations waits for those that began
// before it, because fan-out notifies members of a change as soon as it is in the log.
type pendingProjections struct {
	mu    sync.Mutex // guards pending
	under map[chan struct{}]struct{}
}

// begin is called before the entry is appended. The caller calls end when the rows are projected.
func (s *pendingProjections) begin() (end func()) {
	done := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		s.under = map[chan struct{}]struct{}{}
	}
	s.under[done] = struct{}{}
	return func() {
		s.mu.Lock()
		delete(s.under, done)
		s.mu.Unlock()
		close(done)
	}
}

// wait returns when all projections that had begun have ended.
func (s *pendingProjections) wait(ctx context.Context) error {
	s.mu.Lock()
	list := make([]chan struct{}, 0, len(s.under))
	for done := range s.under {
		list = append(list, done)
	}
	s.mu.Unlock()
	for _, done := range list {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
