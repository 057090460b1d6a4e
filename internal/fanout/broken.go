package fanout

import (
	"context"
	"errors"
	"maps"
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
		err := l.storeWhole(ctx, posts, l.doubt())
		if !errors.Is(err, timeline.ErrDamaged) {
			return err
		}
		return l.storeSingly(ctx, posts, func(timeline.Post) bool { return true })
	}
	var sound []int
	known := maps.Clone(l.broken)
	for i := range posts {
		if !known[posts[i].Key] {
			sound = append(sound, i)
		}
	}
	err := some(posts, sound, func(posts []timeline.Post) error { return l.storeWhole(ctx, posts, l.doubt()) })
	one := errors.Is(err, timeline.ErrDamaged) // at least, that was not known
	if err != nil && !one {
		return err
	}
	return l.storeSingly(ctx, posts, func(p timeline.Post) bool { return one || known[p.Key] })
}

// storeSingly posts inbox by inbox what is meant.
func (l *lane) storeSingly(ctx context.Context, posts []timeline.Post, meant func(timeline.Post) bool) error {
	inboxes := map[timeline.Key][]int{}
	for i := range posts {
		if meant(posts[i]) {
			inboxes[posts[i].Key] = append(inboxes[posts[i].Key], i)
		}
	}
	for key, indexes := range inboxes {
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
			delete(l.missed, key)
		}
	}
	return nil
}

// doubt is how long an inbox that looks damaged is waited for: not anew, where one was damaged a moment ago.
func (l *lane) doubt() *doubt {
	if !l.lost.IsZero() && time.Since(l.lost) < lostFor {
		return &doubt{tries: doubtTries}
	}
	return &doubt{since: time.Now()}
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
	if !l.broken[key] && len(l.broken) >= mostLost {
		clear(l.broken)
	}
	l.broken[key], l.missed[key], l.lost = true, true, time.Now()
	l.worker.deps.Logger.Error("a user's stream is damaged, and takes nothing: run rialto verify", "user", key.ID, "error", err)
}

// asideBroken sets aside what could not be posted, until it is or ctx ends.
func (l *lane) asideBroken(ctx context.Context) error {
	if len(l.missed) == 0 {
		return nil
	}
	defer clear(l.missed)
	if l.worker.deps.Aside == nil {
		return nil
	}
	next := 0
	for _, t := range l.tasks {
		posts := l.posts[next : next+t.posts]
		next += t.posts
		missed := func(p timeline.Post) bool { return p.Seq == 0 && l.missed[p.Key] }
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
