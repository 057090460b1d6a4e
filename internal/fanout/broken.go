package fanout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// An inbox may be damaged itself, so that nothing can be posted to it. Its user has no stream until the store is mended; all others of the
// lane are not to wait for that. What the user misses is set aside, so that it is carried again.

// store posts as storeWhole does, but to inboxes that are damaged: their posts have no seq then. One that is known to be damaged is tried
// alone, each time; where it is not known which is, once each is.
func (l *lane) store(ctx context.Context, posts []timeline.Post) error {
	if !slices.ContainsFunc(posts, l.isBroken) {
		if err := l.storeWhole(ctx, posts, &doubt{since: time.Now()}); !errors.Is(err, timeline.ErrDamaged) {
			return err
		}
	}
	inboxes := map[timeline.Key][]int{} // their posts
	var sound []int
	for i := range posts {
		inboxes[posts[i].Key] = append(inboxes[posts[i].Key], i)
		if !l.isBroken(posts[i]) {
			sound = append(sound, i)
		}
	}
	err := some(posts, sound, func(posts []timeline.Post) error { return l.storeWhole(ctx, posts, &doubt{since: time.Now()}) })
	one := errors.Is(err, timeline.ErrDamaged) // at least, that was not known
	if err != nil && !one {
		return err
	}
	for key, indexes := range inboxes {
		if !one && !l.isBroken(posts[indexes[0]]) {
			continue // it is stored
		}
		err := some(posts, indexes, func(posts []timeline.Post) error {
			return l.storeWhole(ctx, posts, &doubt{tries: doubtTries}) // it was waited for
		})
		switch {
		case errors.Is(err, timeline.ErrDamaged):
			l.lose(key, err)
			for _, i := range indexes {
				posts[i].Seq = 0
			}
		case err != nil:
			return err
		default:
			delete(l.broken, key)
		}
	}
	return nil
}

// some has those posts stored that indexes name.
func some(posts []timeline.Post, indexes []int, store func([]timeline.Post) error) error {
	if len(indexes) == 0 {
		return nil
	}
	chosen := make([]timeline.Post, len(indexes))
	for n, i := range indexes {
		chosen[n] = timeline.Post{Key: posts[i].Key, Payload: posts[i].Payload}
	}
	err := store(chosen)
	for n, i := range indexes {
		posts[i].Seq, posts[i].Prev = chosen[n].Seq, chosen[n].Prev
	}
	return err
}

func (l *lane) isBroken(p timeline.Post) bool { return l.broken[p.Key] }

// lose notes that an inbox is damaged.
func (l *lane) lose(key timeline.Key, err error) {
	if len(l.broken) >= mostLost {
		clear(l.broken)
	}
	l.broken[key] = true
	l.worker.deps.Logger.Error("a user's stream is damaged, and takes nothing: run rialto verify", "user", key.ID, "error", err)
}

// asideBroken sets aside what could not be posted, until it is or ctx ends.
func (l *lane) asideBroken(ctx context.Context) error {
	if len(l.broken) == 0 || l.worker.deps.Aside == nil {
		return nil
	}
	next := 0
	for _, t := range l.tasks {
		posts := l.posts[next : next+t.posts]
		next += t.posts
		missed := func(p timeline.Post) bool { return p.Seq == 0 && l.isBroken(p) }
		if t.kind != message.DeliverEntry || !slices.ContainsFunc(posts, missed) {
			continue
		}
		key := timeline.Key{Kind: timeline.Conversation, ID: uint64(t.conversation)}
		for wait := retryFirst; ; wait = min(2*wait, retryMost) {
			err := l.worker.deps.Aside.Put(ctx, key, t.seq, "a member's stream is damaged")
			if err == nil {
				l.worker.aside.Add(1)
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.worker.deps.Logger.Warn("what a damaged stream cannot take waits to be set aside", "error", err)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(wait):
			}
		}
	}
	return nil
}
