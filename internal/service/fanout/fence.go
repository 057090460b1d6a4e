package fanout

import (
	"context"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// An outbox event must not be posted behind one that another node dispatched later, for example while this one's dispatcher was paused.
// So each post of such events first checks that their fence is current. If both events are posted here, the later one has a later fence
// and follows in the same lane. If the later event was posted by another node, that node has acquired the partition, and the log rejects
// this post, unless this node acquires the partition again between check and post. partition.acquireLock prevents that.

// postIfCurrent posts once. Events with a fence are posted only if it is current.
func (l *lane) postIfCurrent(ctx context.Context, posts []timeline.Post) error {
	w := l.worker
	if l.fence == "" {
		return w.deps.Log.Post(ctx, posts)
	}
	var of [timeline.Partitions]bool
	for i := range posts {
		of[posts[i].Key.Partition()] = true
	}
	for p := range of {
		if of[p] {
			term := &w.partition(p).acquireLock
			term.RLock()
			defer term.RUnlock()
		}
	}
	if w.deps.IsCurrent == nil {
		return errStaleTerm
	}
	within, cancel := context.WithTimeout(ctx, fenceCheckTimeout)
	current, err := w.deps.IsCurrent(within, l.fence)
	cancel()
	if err != nil && ctx.Err() == nil {
		w.deps.Logger.Warn("events are not stored: their fence cannot be checked", "events", len(posts), "error", err)
	}
	if err != nil || !current {
		return errStaleTerm
	}
	return w.deps.Log.Post(ctx, posts)
}

// rejectStale keeps the round's events from being posted or pushed. If some were, because the fence became stale between two partitions,
// devices find a gap.
func (l *lane) rejectStale() {
	l.posts = l.posts[:0]
	for i := range l.tasks {
		if t := &l.tasks[i]; t.posts > 0 && t.fence == l.fence {
			t.part.stale.Store(true)
		}
		l.tasks[i].posts = 0
	}
}
