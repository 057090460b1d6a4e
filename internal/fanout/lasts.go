package fanout

import (
	"context"

	"github.com/rialto-im/rialto/internal/timeline"
)

// An event of the outbox must not be posted behind one that was handed over later, by another node, while who handed this one over was
// paused, or the event on its way. So the last thing before it is posted is to ask whether its turn lasts: a later one is handed over only
// in a later turn, and is behind this one in the lane where both are posted here. Where another node posts the later one, that node has
// taken the partition, and the log refuses this one, unless this node has taken the partition back between question and post: part.term keeps
// it from that.

// try posts once, what has a turn only while that lasts.
func (l *lane) try(ctx context.Context, posts []timeline.Post) error {
	w := l.worker
	if l.turn == "" {
		return w.deps.Log.Post(ctx, posts)
	}
	var of [timeline.Partitions]bool
	for i := range posts {
		of[posts[i].Key.Partition()] = true
	}
	for p := range of {
		if of[p] {
			term := &w.part(p).term
			term.RLock()
			defer term.RUnlock()
		}
	}
	if w.deps.Lasts == nil {
		return errOver
	}
	within, cancel := context.WithTimeout(ctx, lastsTime)
	lasts, err := w.deps.Lasts(within, l.turn)
	cancel()
	if err != nil && ctx.Err() == nil {
		w.deps.Logger.Warn("events are not stored: nobody says whether their turn lasts", "events", len(posts), "error", err)
	}
	if err != nil || !lasts {
		return errOver
	}
	return w.deps.Log.Post(ctx, posts)
}

// refuse has nothing of the round posted or pushed. What was, since the turn ended between two partitions, is found by devices as a gap.
func (l *lane) refuse() {
	l.posts = l.posts[:0]
	for i := range l.tasks {
		if t := &l.tasks[i]; t.posts > 0 && t.turn == l.turn {
			t.of.refuse()
		}
		l.tasks[i].posts = 0
	}
}
