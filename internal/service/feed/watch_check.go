package feed

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/platform/interest"
)

// A change of a post is pushed to those connections whose users may see the post. Others are told once that it is gone for them, since they show it, and then
// nothing until they may see it again: how often a post is edited is nothing to those whom its audience excludes.

const (
	// checkedPosts are checked in one snapshot.
	checkedPosts = 100
	// checkRetry is the time between two tries if the database does not answer.
	checkRetry = time.Second
)

// PostsChanged is called with posts that changed on any node. It does not block.
func (s *Service) PostsChanged(list []interest.Change) {
	s.watches.mu.Lock()
	for _, c := range list {
		if n := uint64(c.Key); s.watches.byPost[n] != nil {
			s.watches.changed[n] = struct{}{}
		}
	}
	s.watches.mu.Unlock()
	wakeup.Signal(s.watches.wake)
}

// PostsMissed is called where calls of PostsChanged may be missing: all clients read again what they show.
func (s *Service) PostsMissed() {
	s.watches.mu.Lock()
	for n := range s.watches.byPost {
		s.watches.missed[n] = struct{}{}
	}
	s.watches.mu.Unlock()
	wakeup.Signal(s.watches.wake)
}

// runWatches pushes changes to connections until ctx ends.
func (s *Service) runWatches(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.watches.wake:
		}
		for err := s.checkWatched(ctx); err != nil && ctx.Err() == nil; err = s.checkWatched(ctx) {
			s.deps.Logger.Warn("clients could not be told of changed posts; retrying", "error", err, "retry_after", checkRetry)
			_ = backoff.Sleep(ctx, checkRetry) // the loop sees the context's end
		}
	}
}

// checkWatched pushes all changes that wait.
func (s *Service) checkWatched(ctx context.Context) error {
	for {
		watchers := s.watches.due()
		if len(watchers) == 0 {
			return nil
		}
		readers, err := s.readersOf(ctx, watchers)
		if err != nil {
			s.watches.putBack(watchers)
			return err
		}
		for w, posts := range s.watches.update(watchers, readers) {
			w.push(posts)
		}
	}
}

// due returns some posts that have changed or may have, and removes them, with the watches that have them. Changes that are known come first.
func (p *postWatches) due() map[uint64][]*postWatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	watchers := map[uint64][]*postWatch{}
	for _, set := range []map[uint64]struct{}{p.changed, p.missed} {
		for n := range set {
			if len(watchers) == checkedPosts {
				return watchers
			}
			delete(set, n)
			if of := p.byPost[n]; of != nil {
				watchers[n] = slices.Collect(maps.Keys(of))
			}
		}
	}
	return watchers
}

// putBack makes posts be checked again.
func (p *postWatches) putBack(watchers map[uint64][]*postWatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range watchers {
		p.changed[n] = struct{}{}
	}
}

// readersOf returns which of the users who watch some posts may see them.
func (s *Service) readersOf(ctx context.Context, watchers map[uint64][]*postWatch) (readers map[uint64]map[id.User]bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		readers = make(map[uint64]map[id.User]bool, len(watchers))
		posts, err := getPosts(ctx, tx, slices.Sorted(maps.Keys(watchers)))
		if err != nil {
			return err
		}
		for n, list := range watchers {
			readers[n] = map[id.User]bool{}
			p := posts[n]
			if p == nil || p.deleted || p.hidden {
				continue
			}
			users := map[id.User]bool{}
			for _, w := range list {
				users[w.reader] = true
			}
			for some := range slices.Chunk(slices.Sorted(maps.Keys(users)), s.sizes.authorsPerQuery) {
				some, err := s.readersAmong(ctx, tx, p, some)
				if err != nil {
					return err
				}
				for _, u := range some {
					readers[n][u] = true
				}
			}
		}
		return nil
	})
	return readers, err
}

// update notes which users may see some posts, and returns the watches that are to be told of them.
func (p *postWatches) update(watchers map[uint64][]*postWatch, readers map[uint64]map[id.User]bool) (due map[*postWatch][]uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due = map[*postWatch][]uint64{}
	for _, n := range slices.Sorted(maps.Keys(watchers)) {
		for _, w := range watchers[n] {
			if _, isCurrent := p.byPost[n][w]; !isCurrent {
				continue // another watch replaced it, and its answer has what changed before
			}
			sees := readers[n][w.reader]
			if saw, known := w.sees[n]; sees || saw || !known {
				due[w] = append(due[w], n)
			}
			w.sees[n] = sees
		}
	}
	return due
}

// noteUnseen notes posts that the user of a watch may not see, as its answer says, unless a change was checked meanwhile.
func (p *postWatches) noteUnseen(w *postWatch, posts []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range posts {
		if _, known := w.sees[n]; !known {
			w.sees[n] = false
		}
	}
}
