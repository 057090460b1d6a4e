package fanout

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// An inbox may itself be corrupt, so that nothing can be posted to it. Its user has no stream until the store is repaired; other users of
// the lane must not wait for that. Entries that the user misses are quarantined, so that they are dispatched again.

// postAll posts like postWithRetry, but skips corrupt inboxes: their posts get no seq. Posts to inboxes known to be corrupt are tried one
// by one. If the corrupt inbox is unknown, every inbox is tried on its own once.
func (l *lane) postAll(ctx context.Context, posts []timeline.Post) error {
	l.corruption.ForgetSuspects()
	if !slices.ContainsFunc(posts, l.isCorrupt) {
		err := l.postWithRetry(ctx, posts, true)
		if !errors.Is(err, timeline.ErrCorrupt) {
			return err
		}
		return l.postByInbox(ctx, posts, func(timeline.Post) bool { return true })
	}
	var sound []int
	known := maps.Clone(l.corrupt)
	for i := range posts {
		if !known[posts[i].Key] {
			sound = append(sound, i)
		}
	}
	err := postSubset(posts, sound, func(posts []timeline.Post) error { return l.postWithRetry(ctx, posts, true) })
	one := errors.Is(err, timeline.ErrCorrupt) // an inbox not known to be corrupt
	if err != nil && !one {
		return err
	}
	return l.postByInbox(ctx, posts, func(p timeline.Post) bool { return one || known[p.Key] })
}

// postByInbox posts the selected posts inbox by inbox.
func (l *lane) postByInbox(ctx context.Context, posts []timeline.Post, meant func(timeline.Post) bool) error {
	inboxes := map[timeline.Key][]int{}
	for i := range posts {
		if meant(posts[i]) {
			inboxes[posts[i].Key] = append(inboxes[posts[i].Key], i)
		}
	}
	for key, indexes := range inboxes {
		err := postSubset(posts, indexes, func(posts []timeline.Post) error {
			return l.postWithRetry(ctx, posts, false) // postAll has retried
		})
		switch {
		case errors.Is(err, timeline.ErrCorrupt):
			l.markCorrupt(key, err)
			for _, i := range indexes {
				posts[i].Seq = 0
			}
		case err != nil:
			return err
		default:
			delete(l.corrupt, key)
			delete(l.unposted, key)
		}
	}
	return nil
}

// postSubset posts the posts at the given indexes.
func postSubset(posts []timeline.Post, indexes []int, store func([]timeline.Post) error) error {
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

func (l *lane) isCorrupt(p timeline.Post) bool { return l.corrupt[p.Key] }

// maxCorrupt bounds the corrupt inboxes that a lane remembers. At the bound, all are forgotten and detected again.
const maxCorrupt = 1000

// markCorrupt records that an inbox is corrupt.
func (l *lane) markCorrupt(key timeline.Key, err error) {
	if !l.corrupt[key] && len(l.corrupt) >= maxCorrupt {
		clear(l.corrupt)
	}
	l.corrupt[key], l.unposted[key] = true, true
	l.corruption.Confirm(timeline.Key{}, time.Now())
	l.worker.deps.Logger.Error("a user's inbox is corrupt and accepts no posts: run rialto verify", "user", key.ID, "error", err)
}

// quarantineUnposted puts the entries that could not be posted into quarantine, and retries until that succeeds or ctx ends.
func (l *lane) quarantineUnposted(ctx context.Context) error {
	if len(l.unposted) == 0 {
		return nil
	}
	defer clear(l.unposted)
	if l.worker.deps.Quarantine == nil {
		return nil
	}
	next := 0
	for _, t := range l.tasks {
		posts := l.posts[next : next+t.posts]
		next += t.posts
		missed := func(p timeline.Post) bool { return p.Seq == 0 && l.unposted[p.Key] }
		if t.kind != message.DeliverEntry || !slices.ContainsFunc(posts, missed) {
			continue
		}
		key := timeline.Key{Kind: timeline.Conversation, ID: uint64(t.conversation)}
		for retry := backoff.New(retryFirst, retryMax); ; {
			err := l.worker.deps.Quarantine.Put(ctx, key, t.seq, "a member's inbox is corrupt")
			if err == nil {
				l.worker.quarantined.Add(1)
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.worker.deps.Logger.Warn("entries for a corrupt inbox cannot be quarantined yet; it is tried again", "error", err)
			if err := retry.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
