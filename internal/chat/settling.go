package chat

import (
	"context"
	"sync"
)

// settling knows the changes that are on their way from the log to the rows. Whoever reads the rows of many conversations waits
// for those that began before: members hear of a change, through fan-out, as soon as it is in the log.
type settling struct {
	mu    sync.Mutex // guards under
	under map[chan struct{}]struct{}
}

// begin is called before the entry is appended; what it gives, when the rows are projected.
func (s *settling) begin() (end func()) {
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

// wait until all that have begun have ended.
func (s *settling) wait(ctx context.Context) error {
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
