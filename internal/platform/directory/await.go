package directory

import (
	"context"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Announced returns when a user's owner knows the connections that Connected has registered here. If that takes too long it returns too, and
// Recheck is called later.
func (s *Service) Announced(ctx context.Context, u id.User) { s.await(ctx, key{aboutUser, uint64(u)}) }

// Followed waits like Announced until a conversation's owner knows that this node follows it. It reports whether the owner does.
func (s *Service) Followed(ctx context.Context, c id.Conversation) bool {
	return s.await(ctx, key{aboutFollow, uint64(c)})
}

func (s *Service) await(ctx context.Context, k key) bool {
	if s.partitions == nil {
		return true
	}
	r := &s.partitionOf(k.id).reporter
	r.mu.Lock()
	if !r.isPending(k) {
		r.mu.Unlock()
		return true
	}
	done := make(chan struct{})
	r.waiters[k] = append(r.waiters[k], done)
	r.mu.Unlock()
	timeout := time.NewTimer(awaitTimeout)
	defer timeout.Stop()
	select {
	case <-done:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-done:
		return true
	default:
	}
	r.waiters[k] = slices.DeleteFunc(r.waiters[k], func(c chan struct{}) bool { return c == done })
	if len(r.waiters[k]) == 0 {
		delete(r.waiters, k)
	}
	r.recheck = true
	return false
}

// isPending reports whether the owner has not confirmed something yet. The caller holds mu.
func (r *reporter) isPending(k key) bool {
	_, queued := r.pending[k]
	_, sent := r.inFlight[k]
	return queued || sent
}
