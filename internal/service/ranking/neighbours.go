package ranking

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/vectorindex"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	// maxNeighbours is how many of the newest posts a node has vectors of: about 30 MiB.
	maxNeighbours = 50_000
	// neighbourPosts is how many posts that are like what a reader likes are candidates.
	neighbourPosts = 150
	// A refresh reads the newest posts, and as many times more as it takes until it meets one that it knows.
	refreshFirst, refreshGrowth = 200, 16
	refreshInterval             = 5 * time.Second
	neighbourWidth              = 200
)

// neighbours has the vectors of the newest posts for everyone. It is soft state: each node makes its own from the posts' rows, at its start and while posts are published.
type neighbours struct {
	index *vectorindex.Index
	max   int
	// mu guards known: the newest posts, with when each was edited last; those that are not for everyone are in it as well.
	mu    sync.Mutex
	known map[uint64]int64
}

func newNeighbours(most int) (*neighbours, error) {
	x, err := vectorindex.New(vectorindex.Config{Dimensions: dimensions, Capacity: most, BuildWidth: 64, SearchWidth: neighbourWidth, Seed: 1})
	return &neighbours{index: x, max: most, known: map[uint64]int64{}}, err
}

// search returns the posts most similar to a vector.
func (n *neighbours) search(v *vector, most int) []uint64 {
	if v == nil {
		return nil
	}
	hits := n.index.Search(v[:], most)
	list := make([]uint64, len(hits))
	for i, h := range hits {
		list[i] = h.ID
	}
	return list
}

// unknown returns those of some posts that were not read yet, ascending.
func (n *neighbours) unknown(list []uint64) (out []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, post := range list {
		if _, ok := n.known[post]; !ok {
			out = append(out, post)
		}
	}
	slices.Sort(out)
	return out
}

// put notes what was read of a post; nil: it is deleted or hidden, or not for everyone. A post that is neither known nor new is left out.
func (n *neighbours) put(post uint64, isNew bool, editedMs int64, v *vector) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, known := n.known[post]
	if !known && !isNew || known && was == editedMs && (v != nil) == n.index.Has(post) {
		return nil
	}
	n.known[post] = editedMs
	if v == nil || *v == (vector{}) {
		n.index.Delete(post)
		return nil
	}
	return n.index.Put(post, v[:])
}

// trim forgets the oldest posts beyond what there is room for.
func (n *neighbours) trim(more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known)+more <= n.max {
		return
	}
	list := slices.Sorted(maps.Keys(n.known))
	for _, post := range list[:min(len(list), len(n.known)+more-n.max+n.max/20)] {
		delete(n.known, post)
		n.index.Delete(post)
	}
}

// RefreshNeighbours reads the posts that were published since it was called last. The first time it reads all that it has room for.
func (s *Service) RefreshNeighbours(ctx context.Context) error {
	var fresh []uint64
	for limit := min(refreshFirst, s.near.max); ; limit = min(limit*refreshGrowth, s.near.max) {
		list, err := s.deps.Posts.NewestPosts(ctx, limit)
		if err != nil {
			return err
		}
		fresh = s.near.unknown(list)
		if len(fresh) < len(list) || len(list) < limit || limit == s.near.max {
			break
		}
	}
	// The oldest first: if this ends early, the next refresh does not take what is left for known.
	for some := range slices.Chunk(fresh, factsAtOnce) {
		s.near.trim(len(some))
		if err := s.readNeighbours(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// readNeighbours reads new posts.
func (s *Service) readNeighbours(ctx context.Context, list []uint64) error {
	var posts []*feedv1.Post
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		posts, err = s.deps.Posts.ToIndex(ctx, tx, list)
		return err
	})
	if err != nil {
		return err
	}
	read := make(map[uint64]*feedv1.Post, len(posts))
	for _, p := range posts {
		read[p.Id] = p
	}
	for _, n := range list {
		p := read[n]
		var v *vector
		if isForEveryone(p) {
			v = factsOf(p).vector
		}
		if err := s.near.put(n, true, p.GetEditedMs(), v); err != nil && !errors.Is(err, vectorindex.ErrFull) { // two refreshes at once may fill it
			return err
		}
	}
	return nil
}

func isForEveryone(p *feedv1.Post) bool {
	a := p.GetContent().GetAudience()
	return p != nil && (a == feedv1.Audience_AUDIENCE_UNSPECIFIED || a == feedv1.Audience_AUDIENCE_EVERYONE)
}
