package feed

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A window is a timeline of kind Feed with three kinds of entries (docs/formats/feed.md):
//
//   - begin: a build has begun. It makes fan-out write to the window.
//   - push: a post that fan-out brought.
//   - base: the posts of all whom the reader followed, down to a floor, as of a moment after the entry from. The window is the newest base and all pushes
//     after its from: a push up to from is of a post that was committed before that moment, and so is in the base, or below its floor.
//
// The order of a build gives that: begin is appended, then the snapshot of the rows begins, then base is appended.
const (
	entryBegin = 1
	entryPush  = 2
	entryBase  = 3
)

func windowKey(reader id.User) timeline.Key {
	return timeline.Key{Kind: timeline.Feed, ID: uint64(reader)}
}

// window is what a reader's window has.
type window struct {
	complete bool   // else there is nothing that can be used
	changes  uint64 // of whom the reader follows, when it was built
	floor    uint64
	refs     []ref  // those at or above the floor, the newest first, each once
	pushes   int    // since the base
	last     uint64 // seq of the last entry
}

// base is a decoded entry.
type base struct {
	changes, from, floor uint64
	refs                 []ref
}

func (b *base) append(to []byte) []byte {
	to = append(to, entryBase)
	for _, v := range []uint64{b.changes, b.from, b.floor} {
		to = binary.AppendUvarint(to, v)
	}
	last := uint64(math.MaxInt64)
	for _, r := range b.refs { // descending
		to = binary.AppendUvarint(to, last-r.post)
		to = binary.AppendUvarint(to, uint64(r.author))
		last = r.post
	}
	return to
}

func (r ref) appendPush(to []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(to, entryPush), r.post), uint64(r.author))
}

// uvarint takes a number from the front of b. It sets bad if there is none.
func uvarint(b *[]byte, bad *bool) uint64 {
	v, n := binary.Uvarint(*b)
	if n <= 0 {
		*bad = true
		return 0
	}
	*b = (*b)[n:]
	return v
}

func decodeBase(b []byte) (out base, err error) {
	bad := false
	out.changes, out.from, out.floor = uvarint(&b, &bad), uvarint(&b, &bad), uvarint(&b, &bad)
	last := uint64(math.MaxInt64)
	for len(b) > 0 && !bad {
		down, author := uvarint(&b, &bad), uvarint(&b, &bad)
		bad = bad || down > last
		last -= down
		out.refs = append(out.refs, ref{last, id.User(author)})
	}
	if bad {
		return base{}, timeline.ErrCorrupt
	}
	return out, nil
}

func decodePush(b []byte) (r ref, err error) {
	bad := false
	r.post, r.author = uvarint(&b, &bad), id.User(uvarint(&b, &bad))
	if bad || len(b) > 0 {
		return ref{}, timeline.ErrCorrupt
	}
	return r, nil
}

// readWindow returns the window of a reader. What it has was stored before the call; what was stored before the call, it has.
func (s *Service) readWindow(ctx context.Context, reader id.User) (*window, error) {
	w, err := s.readEntries(ctx, windowKey(reader))
	if errors.Is(err, timeline.ErrCorrupt) {
		s.deps.Logger.Warn("the window of a home timeline cannot be read; it is built again", "user", reader, "error", err)
		return &window{}, nil
	}
	return w, err
}

func (s *Service) readEntries(ctx context.Context, key timeline.Key) (*window, error) {
	w := &window{}
	var newest *base
	for before, chunk := uint64(0), s.sizes.windowChunk; ; {
		entries, err := s.deps.Log.ReadBackward(ctx, key, before, chunk)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if newest != nil && e.Seq <= newest.from {
				break
			}
			if w.last = max(w.last, e.Seq); len(e.Payload) == 0 {
				return nil, timeline.ErrCorrupt
			}
			switch kind, body := e.Payload[0], e.Payload[1:]; {
			case kind == entryPush:
				r, err := decodePush(body)
				if err != nil {
					return nil, err
				}
				w.refs, w.pushes = append(w.refs, r), w.pushes+1
			case kind == entryBase && newest == nil:
				b, err := decodeBase(body)
				if err != nil {
					return nil, err
				}
				newest = &b
			}
		}
		if len(entries) > 0 {
			before = entries[len(entries)-1].Seq
		}
		switch {
		case newest != nil && before <= newest.from+1:
			w.use(newest)
			return w, nil
		case len(entries) < chunk:
			return &window{}, nil // there is no base, or entries after it were dropped
		}
	}
}

// use completes a window that has all pushes after a base.
func (w *window) use(b *base) {
	w.complete, w.changes, w.floor = true, b.changes, b.floor
	w.refs = append(w.refs, b.refs...)
	w.refs = slices.DeleteFunc(w.refs, func(r ref) bool { return r.post < w.floor })
	slices.SortFunc(w.refs, newestFirst)
	w.refs = slices.Compact(w.refs)
}

// below returns at most n posts of a window below an id, of authors whose posts are shown.
func (w *window) below(before uint64, shown map[id.User]bool, n int) (list []ref) {
	at, _ := slices.BinarySearchFunc(w.refs, before-1, func(r ref, highest uint64) int { return newestFirst(r, ref{post: highest}) })
	for _, r := range w.refs[at:] {
		if len(list) == n {
			break
		}
		if shown[r.author] {
			list = append(list, r)
		}
	}
	return list
}

// buildWindow builds the window of a reader from the rows.
func (s *Service) buildWindow(ctx context.Context, reader id.User) error {
	begin := &timeline.AppendRequest{Key: windowKey(reader), Payload: []byte{entryBegin}}
	if err := s.appendAll(ctx, begin); err != nil {
		return err
	}
	if err := s.reached("build-begun"); err != nil {
		return err
	}
	most, err := s.windowPosts(ctx, reader)
	if err != nil {
		return err
	}
	b := base{from: begin.Seq}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		followed, _, changes, err := s.deps.Graph.Followed(ctx, tx, reader)
		if err != nil {
			return err
		}
		b.changes = changes
		// With deleted posts: a page whose snapshot is older than this one may see them.
		if b.refs, err = s.pull(ctx, tx, followed, math.MaxInt64, 0, most+1, withDeleted); err != nil {
			return err
		}
		if len(b.refs) > most { // the window ends there also if posts above it are left out
			b.refs, b.floor = b.refs[:most], b.refs[most-1].post
		}
		retired, err := retiredPosts(ctx, tx, postsOf(b.refs))
		b.refs = slices.DeleteFunc(b.refs, func(r ref) bool { return retired[r.post] })
		return err
	})
	if err == nil {
		err = s.reached("build-read")
	}
	if err != nil {
		return err
	}
	return s.putBase(ctx, reader, &b, most)
}

// frequentDays of the last 28 days make a reader frequent.
const frequentDays = 20

// windowPosts returns how many posts the window of a reader has at most: twice as many for those who come nearly each day, who read more of them.
func (s *Service) windowPosts(ctx context.Context, reader id.User) (int, error) {
	if s.deps.ActiveDays == nil {
		return s.sizes.windowPosts, nil
	}
	days, err := s.deps.ActiveDays(ctx, reader)
	if err == nil && days >= frequentDays {
		return 2 * s.sizes.windowPosts, nil
	}
	return s.sizes.windowPosts, err
}

// compact replaces the base of a window by what the window has.
func (s *Service) compact(ctx context.Context, reader id.User, w *window) error {
	if err := s.reached("compaction-begun"); err != nil {
		return err
	}
	most, err := s.windowPosts(ctx, reader)
	if err != nil {
		return err
	}
	return s.putBase(ctx, reader, &base{changes: w.changes, from: w.last, floor: w.floor, refs: slices.Clone(w.refs)}, most)
}

// putBase appends a base, of which it keeps the newest posts, and drops what it replaces.
func (s *Service) putBase(ctx context.Context, reader id.User, b *base, most int) error {
	if len(b.refs) > most {
		b.refs = b.refs[:most]
		b.floor = b.refs[most-1].post
	}
	if err := s.appendAll(ctx, &timeline.AppendRequest{Key: windowKey(reader), Payload: b.append(nil)}); err != nil {
		return err
	}
	if err := s.reached("base-appended"); err != nil {
		return err
	}
	return s.deps.Log.Expire(ctx, windowKey(reader), b.from+1, nil)
}

// appendAll appends entries and waits until they are stored. It returns the first error.
func (s *Service) appendAll(ctx context.Context, entries ...*timeline.AppendRequest) error {
	done := make(chan error, len(entries))
	for _, a := range entries {
		a.Done = func(a *timeline.AppendRequest) { done <- a.Err }
	}
	s.deps.Log.Append(entries...)
	var first error
	for range entries {
		select {
		case err := <-done:
			if first == nil {
				first = err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return first
}
