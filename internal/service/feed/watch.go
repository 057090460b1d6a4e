package feed

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/interest"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// maxWatchedPosts is how many posts one connection watches.
const maxWatchedPosts = 100

var (
	errWatched     = errs.New(errs.Invalid, "too_many_posts", "watch at most 100 posts")
	errManyWatched = &errs.Error{Kind: errs.Exhausted, Reason: "busy", Message: "too many posts are watched on this node; read the list again now and then", Retry: 10 * time.Second}
)

// Interest tells this node of posts that change on any node.
type Interest interface {
	// AddAll makes PostsChanged be called for some posts, until Remove. It is false if there is no room.
	AddAll(ctx context.Context, posts []interest.Key) bool
	Remove(post interest.Key)
	// Publish does not block.
	Publish(list []interest.Change)
}

// postWatches are the posts that clients of this node show.
type postWatches struct {
	wake         chan struct{} // when posts were added to changed or missed
	mu           sync.Mutex    // guards the maps, and those of watches
	byConnection map[any]*postWatch
	byPost       map[uint64]map[*postWatch]struct{}
	changed      map[uint64]struct{} // posts whose changes are to be pushed
	missed       map[uint64]struct{} // posts whose changes may have been missed
}

func newPostWatches() postWatches {
	return postWatches{wake: make(chan struct{}, 1), byConnection: map[any]*postWatch{}, byPost: map[uint64]map[*postWatch]struct{}{}, changed: map[uint64]struct{}{}, missed: map[uint64]struct{}{}}
}

// postWatch has the posts of one connection. Only sees changes.
type postWatch struct {
	reader id.User
	turn   uint32 // of the request: an earlier one that is handled later changes nothing
	posts  []uint64
	push   func(posts []uint64)
	// sees has whether the reader may see a post, as of the last change that was checked, and false if the answer to the request said so.
	sees map[uint64]bool
}

// WatchPosts replaces the posts whose changes are pushed to a connection, by calls of push that must not block. Of a post that the
// reader may not see any more it is told once. It returns those that have another version than
// the client shows, or are not for the reader. turn counts the connection's requests, since they may be handled in another order. The watch lasts until
// UnwatchPosts, which is called after ctx has ended.
func (s *Service) WatchPosts(ctx context.Context, reader id.User, connection any, turn uint32, posts []*gatewayv1.WatchedPost, push func(posts []uint64)) (changed []uint64, err error) {
	if len(posts) > maxWatchedPosts {
		return nil, errWatched
	}
	shown := map[uint64]uint32{}
	for _, p := range posts {
		shown[p.Post] = p.Version
	}
	w := &postWatch{reader: reader, turn: turn, push: push, sees: map[uint64]bool{}}
	for n := range shown {
		w.posts = append(w.posts, n)
	}
	slices.Sort(w.posts)
	// This comes before the versions are read, so that each later change is pushed.
	if !s.addInterest(ctx, w) {
		return nil, errManyWatched
	}
	old, err := s.watches.replace(ctx, connection, w)
	if err == nil && s.reached("posts-watched") == nil {
		var unseen []uint64
		changed, unseen, err = s.changedPosts(ctx, reader, w.posts, shown)
		s.watches.noteUnseen(w, unseen)
	}
	s.removeInterest(old)
	return changed, err
}

// changedPosts returns those of some posts that have another version than is shown, or are not for a reader, and the latter.
func (s *Service) changedPosts(ctx context.Context, reader id.User, posts []uint64, shown map[uint64]uint32) (changed, unseen []uint64, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		changed, unseen = nil, nil
		visible, err := s.visiblePosts(ctx, tx, reader, posts)
		if err != nil {
			return err
		}
		for _, n := range posts {
			p := visible[n]
			if p == nil {
				unseen = append(unseen, n)
			}
			if p == nil || p.version != shown[n] {
				changed = append(changed, n)
			}
		}
		return nil
	})
	return changed, unseen, err
}

// UnwatchPosts ends what a connection watches.
func (s *Service) UnwatchPosts(connection any) {
	s.removeInterest(s.watches.drop(connection))
}

func (s *Service) addInterest(ctx context.Context, w *postWatch) bool {
	return s.deps.Interest == nil || s.deps.Interest.AddAll(ctx, keysOf(w.posts))
}

// removeInterest ends the interest of a watch; nil has none.
func (s *Service) removeInterest(w *postWatch) {
	if w == nil || s.deps.Interest == nil {
		return
	}
	for _, n := range w.posts {
		s.deps.Interest.Remove(interest.Key(n))
	}
}

// keysOf are posts as package interest names them.
func keysOf(posts []uint64) []interest.Key {
	list := make([]interest.Key, len(posts))
	for i, n := range posts {
		list[i] = interest.Key(n)
	}
	return list
}

// replace returns the watch that is over: the connection's former one, or the given one if a later request was handled or the connection has ended.
func (p *postWatches) replace(ctx context.Context, connection any, w *postWatch) (old *postWatch, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil { // only now: UnwatchPosts follows the end of ctx
		return w, err
	}
	old = p.byConnection[connection]
	if old != nil && int32(w.turn-old.turn) < 0 {
		return w, nil
	}
	p.remove(old)
	p.byConnection[connection] = w
	for _, n := range w.posts {
		if p.byPost[n] == nil {
			p.byPost[n] = map[*postWatch]struct{}{}
		}
		p.byPost[n][w] = struct{}{}
	}
	return old, nil
}

// drop ends the watch of a connection, and returns it.
func (p *postWatches) drop(connection any) *postWatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.byConnection[connection]
	p.remove(old)
	delete(p.byConnection, connection)
	return old
}

// remove removes a watch from its posts. The caller holds mu.
func (p *postWatches) remove(w *postWatch) {
	if w == nil {
		return
	}
	for _, n := range w.posts {
		if delete(p.byPost[n], w); len(p.byPost[n]) == 0 {
			delete(p.byPost, n)
		}
	}
}

// publishChange tells the nodes with clients that show a post that it has changed. It is called after the commit, and by retries as well: the process may have
// died between the two.
func (s *Service) publishChange(n uint64) {
	if s.deps.Committed != nil {
		s.deps.Committed(n)
	}
	list := []interest.Change{{Key: interest.Key(n)}}
	if s.deps.Interest == nil {
		s.PostsChanged(list)
		return
	}
	s.deps.Interest.Publish(list)
}
