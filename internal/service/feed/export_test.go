package feed

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// UseSmallSizes makes windows, their entries and the steps of fan-out small, so that few posts reach their limits.
func (s *Service) UseSmallSizes() {
	s.sizes = sizes{windowPosts: 4, compactAfter: 3, windowEntries: 7, windowChunk: 3, pushFollowers: 1, pushBatches: 2, authorsPerQuery: 2, scanFactor: 1, fewAuthors: 1, fewRows: 1, ordinaryFollowers: 2, clockWait: time.Microsecond}
}

// Interrupt makes a function run between two steps of an operation, which ends there if the function returns an error.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// PendingPosts returns the posts whose fan-out is not done.
func (s *Service) PendingPosts(ctx context.Context) (list []uint64, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE pending ORDER BY id`)
		refs, err := appendRefs(nil, rows, err)
		list = postsOf(refs)
		return err
	})
	return list, err
}

// Announce announces the posts that wait for that.
func (s *Service) Announce(ctx context.Context) error {
	for {
		select {
		case n := <-s.announcements:
			if err := s.announce(ctx, n); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// CheckWatched pushes the changes that wait to those who watch.
func (s *Service) CheckWatched(ctx context.Context) error { return s.checkWatched(ctx) }

// RunJob runs a job that the service inserted.
func (s *Service) RunJob(ctx context.Context, args job.Args) error {
	if j, ok := args.(clean); ok {
		return s.clean(ctx, j)
	}
	return s.push(ctx, args.(push))
}

// RunPush runs a job of fan-out as its worker does.
func (s *Service) RunPush(ctx context.Context, args job.Args) error {
	return s.runPush(ctx, args.(push))
}

// IsClean reports whether a job takes hidden posts out of windows.
func IsClean(args job.Args) bool {
	_, is := args.(clean)
	return is
}

// WindowPosts returns the posts of a reader's window.
func (s *Service) WindowPosts(ctx context.Context, reader id.User) ([]uint64, error) {
	w, err := s.readWindow(ctx, reader)
	if err != nil {
		return nil, err
	}
	return postsOf(w.refs), nil
}

// PushStep runs the next job of a post's fan-out, or, with again, one that was done before.
func (s *Service) PushStep(ctx context.Context, n uint64, again bool) error {
	var p *post
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		p, err = getPost(ctx, tx, n)
		return err
	})
	if err != nil {
		return err
	}
	j := push{Post: n, After: p.pushedTo}
	if again {
		j.After = 0
	}
	return s.push(ctx, j)
}

// WindowFloor returns the floor of a reader's window, and whether it has one that is complete.
func (s *Service) WindowFloor(ctx context.Context, reader id.User) (floor uint64, complete bool, err error) {
	w, err := s.readWindow(ctx, reader)
	if err != nil {
		return 0, false, err
	}
	return w.floor, w.complete, nil
}

// WindowKey of a reader.
func WindowKey(reader id.User) timeline.Key { return windowKey(reader) }

// BareRead reads the newest entries of a reader's window and the rows of some posts, and returns how many there are.
func (s *Service) BareRead(ctx context.Context, reader id.User, list []uint64) (n int, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if _, err := s.deps.Log.ReadBackward(ctx, windowKey(reader), 0, s.sizes.windowChunk); err != nil {
			return err
		}
		posts, err := getPosts(ctx, tx, list)
		if err != nil {
			return err
		}
		for _, p := range posts {
			if _, err := p.view(reader); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// NeverUseWindows makes pages be read from the rows, and windows be left as they are.
func (s *Service) NeverUseWindows() { s.withoutWindows = true }
