package feed

import (
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// HomeTimeline returns a page of a reader's home timeline.
func (s *Service) HomeTimeline(ctx context.Context, reader id.User, r *feedv1.HomeTimelineRequest) (*feedv1.HomeTimelineResponse, error) {
	out := &feedv1.HomeTimelineResponse{}
	var h *home
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if h, err = s.openHome(ctx, tx, reader); err != nil {
			return err
		}
		p := &page{service: s, tx: tx, reader: reader, limit: outputlimit.SmallPageSize(r.Limit)}
		out.Posts, out.Next, err = p.fill(ctx, startOf(r.Before), h.source)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.maintain(ctx, reader, h)
	return out, nil
}

// home is a home timeline as of a transaction.
type home struct {
	service  *Service
	tx       *sql.Tx
	window   *window // one that is not usable is empty, with a floor above all posts
	usable   bool
	followed int              // how many authors the reader follows
	pulls    bool             // the reader is one who pulls, and has no window
	shown    map[id.User]bool // those followed who are neither muted nor blocked
	own      []id.User        // the reader, if the timeline shows the reader's own posts, which are in no window
	pulled   []id.User        // those of shown whose posts above the floor are not all in the window
	pending  []ref            // of shown, above the floor
}

// authors returns whose posts the timeline shows, in the order of ids.
func (h *home) authors() []id.User {
	list := append(slices.Collect(maps.Keys(h.shown)), h.own...)
	slices.Sort(list)
	return list
}

// openHome reads what the pages of a timeline need. The snapshot begins before the window is read, so that the window has all posts that are not pending
// in the snapshot.
func (s *Service) openHome(ctx context.Context, tx *sql.Tx, reader id.User) (*home, error) {
	followed, shown, changes, err := s.deps.Graph.Followed(ctx, tx, reader)
	if err != nil {
		return nil, err
	}
	h := &home{service: s, tx: tx, own: []id.User{reader}, followed: len(followed), shown: shown}
	if err := s.reached("home-snapshot"); err != nil {
		return nil, err
	}
	if h.pulls, err = s.pulls(ctx, tx, reader, h.followed); err != nil {
		return nil, err
	}
	if h.followed > 0 && !h.pulls && !s.withoutWindows {
		if h.window, err = s.readWindow(ctx, reader); err != nil {
			return nil, err
		}
		h.usable = h.window.complete && h.window.changes == changes
	}
	if !h.usable {
		h.window = &window{floor: math.MaxInt64}
		return h, nil
	}
	if err := s.reached("window-used"); err != nil {
		return nil, err
	}
	if h.pulled, err = s.pulledAuthors(ctx, tx, shown, h.window.floor); err != nil {
		return nil, err
	}
	h.pending, err = s.pendingPosts(ctx, tx, shown)
	return h, err
}

// source merges the window with what it lacks, and goes on below its floor with the posts of all authors.
func (h *home) source(ctx context.Context, before uint64, n int) ([]uint64, uint64, error) {
	floor := h.window.floor
	if before <= floor {
		refs, err := h.service.pull(ctx, h.tx, h.authors(), before, 0, n, withoutDeleted)
		return postsOf(refs), endOf(postsOf(refs), n, 0), err
	}
	refs, err := h.service.pull(ctx, h.tx, slices.Concat(h.pulled, h.own), before, floor, n, withoutDeleted)
	if err != nil {
		return nil, 0, err
	}
	refs = append(refs, h.window.below(before, h.shown, n)...)
	for _, r := range h.pending {
		if r.post < before && r.post >= floor {
			refs = append(refs, r)
		}
	}
	slices.SortFunc(refs, newestFirst)
	refs = slices.Compact(refs)
	list := postsOf(refs[:min(len(refs), n)])
	return list, endOf(list, n, floor), nil
}

// maintain builds the window of a reader who has none that can be used, replaces the base of one with many pushes, and moves readers between having a window and pulling.
// The page is right without it.
func (s *Service) maintain(ctx context.Context, reader id.User, h *home) {
	var err error
	switch {
	case h.followed == 0 || s.withoutWindows:
	case h.pulls:
		err = s.closeWindow(ctx, reader)
	case h.followed >= s.config.ReaderPullAbove:
		err = s.startPulling(ctx, reader)
	case !h.usable:
		err = s.fillWindow(ctx, reader)
	case h.window.pushes >= s.sizes.compactAfter:
		err = s.compact(ctx, reader, h.window)
	}
	if err != nil {
		s.deps.Logger.Warn("the window of a home timeline could not be changed; pages are right without it", "user", reader, "error", err)
	}
}
