// Package vectorindex finds the stored vectors that are most similar to another one, approximately, by a hierarchical navigable small world (HNSW).
//
// Each vector is a node of a graph on level 0, and of sparser graphs on the levels above. A search descends from the sparsest graph, and continues in each with the
// nodes nearest so far. Vectors have the length 1. The similarity of two vectors is the cosine of their angle, which is their dot product.
//
// Links are symmetric: a node knows all nodes that link to it. So a deletion removes a node from the graph, links its neighbours with each other, and frees its memory;
// nothing grows with the number of deletions. The level of a vector follows from its id and the seed, so the same operations in the same order build the same
// index, which gives the same answers.
//
// An index is in memory only, and bounded: Config.Capacity vectors with 5 bytes for each dimension, 16 for its sketch, and 4 bytes for each of about 2.1 × Config.Links links.
//
// All methods are safe for concurrent use. Searches run at the same time; a change waits for them, and they for it.
package vectorindex

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
)

// Config of an Index. All but Dimensions and Capacity have defaults.
type Config struct {
	// Dimensions of the vectors.
	Dimensions int
	// Capacity is how many vectors it has at most.
	Capacity int
	// Links of a vector on each level above 0; twice as many on level 0. The default is 16.
	Links int
	// BuildWidth is how many candidates for neighbours a new vector has. The default is 128.
	BuildWidth int
	// SearchWidth is how many candidates a search keeps at least: more find more, and take longer. The default is 128.
	SearchWidth int
	Seed        uint64
}

const (
	defaultLinks = 16
	defaultWidth = 128
	maxLevel     = 16
)

// ErrFull is returned if an index has no room for a further vector.
var ErrFull = errors.New("vectorindex: the index is full")

// Hit is a vector that was found.
type Hit struct {
	ID uint64
	// Similarity is between -1 and 1.
	Similarity float32
}

// Index of vectors.
type Index struct {
	config Config
	planes planes // of sketches
	// bounds of sketches, for searches and for links
	searchBounds, buildBounds *bounds
	// mu guards all fields below. Searches hold it shared.
	mu       sync.RWMutex
	slots    map[uint64]uint32 // slot of each id
	ids      []uint64          // by slot
	vectors  []float32         // by slot
	packed   []uint64          // by slot, wordsOf the dimensions each
	scales   []float32         // of packed, by slot
	sketches []sketch          // by slot
	levels   []int8            // by slot; -1: the slot is free
	links    [][][]uint32      // by slot and level
	free     []uint32
	entry    uint32 // a node of the highest level, if there is any
	visits   sync.Pool
	builder  searcher // of changes
}

// New returns an empty index.
func New(c Config) (*Index, error) {
	if c.Links == 0 {
		c.Links = defaultLinks
	}
	if c.BuildWidth == 0 {
		c.BuildWidth = defaultWidth
	}
	if c.SearchWidth == 0 {
		c.SearchWidth = defaultWidth
	}
	if c.Dimensions < 1 || c.Capacity < 1 || c.Capacity > math.MaxInt32 || c.Links < 2 || c.BuildWidth < c.Links || c.SearchWidth < 1 {
		return nil, fmt.Errorf("vectorindex: %d dimensions, capacity %d, %d links, widths %d and %d", c.Dimensions, c.Capacity, c.Links, c.BuildWidth, c.SearchWidth)
	}
	x := &Index{config: c, slots: map[uint64]uint32{}, planes: newPlanes(c.Dimensions, c.Seed), searchBounds: newBounds(searchError), buildBounds: newBounds(buildError)}
	x.visits.New = func() any { return &searcher{} }
	return x, nil
}

// Len returns how many vectors there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Has reports whether an id has a vector.
func (x *Index) Has(n uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.slots[n]
	return ok
}

// Put stores a vector, in place of that of the same id. It is scaled to the length 1; one without a length, and one of another number of dimensions, is refused.
func (x *Index) Put(n uint64, vector []float32) error {
	length := norm(vector)
	if len(vector) != x.config.Dimensions || length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return fmt.Errorf("vectorindex: a vector of %d dimensions with the length %v", len(vector), length)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s, ok := x.slots[n]; ok {
		x.remove(s)
	}
	if len(x.slots) >= x.config.Capacity {
		return ErrFull
	}
	s := x.allocate(n)
	into := x.vector(s)
	for i, v := range vector {
		into[i] = float32(float64(v) / length)
	}
	x.scales[s] = pack(into, x.words(s))
	x.sketches[s] = x.planes.sketch(into)
	x.insert(s)
	return nil
}

// Delete removes a vector. It reports whether there was one.
func (x *Index) Delete(n uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.slots[n]
	if ok {
		x.remove(s)
	}
	return ok
}

// Search returns the k vectors that are most similar to another one, the most similar first; fewer if there are not so many. A vector without a length finds nothing.
func (x *Index) Search(vector []float32, k int) []Hit {
	length := norm(vector)
	if len(vector) != x.config.Dimensions || length == 0 || k < 1 {
		return nil
	}
	query := make([]float32, len(vector))
	for i, v := range vector {
		query[i] = float32(float64(v) / length)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.slots) == 0 {
		return nil
	}
	s := x.visits.Get().(*searcher)
	defer x.visits.Put(s)
	words := make([]uint64, wordsOf(len(query)))
	scale := pack(query, words)
	s.query.setTo(words, scale)
	s.sketch = x.planes.sketch(query)
	at := x.descend(&s.query, int(x.levels[x.entry]), 0)
	found := s.search(x, x.searchBounds, at, 0, max(k, x.config.SearchWidth))
	for i, n := range found { // they were found by packed vectors
		found[i].similarity = Product(query, x.vector(n.slot))
	}
	slices.SortFunc(found, compare)
	hits := make([]Hit, min(k, len(found)))
	for i := range hits {
		hits[i] = Hit{x.ids[found[i].slot], found[i].similarity}
	}
	return hits
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, c := range v {
		sum += float64(c) * float64(c)
	}
	return math.Sqrt(sum)
}

// Product returns the sum of the products of the dimensions of two vectors of the same number of dimensions.
func Product(a, b []float32) float32 {
	b = b[:len(a)] // so that the compiler checks no bounds below
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}

func (x *Index) vector(s uint32) []float32 {
	d := x.config.Dimensions
	return x.vectors[int(s)*d : (int(s)+1)*d : (int(s)+1)*d]
}

// words returns the packed vector of a slot.
func (x *Index) words(s uint32) []uint64 {
	n := wordsOf(x.config.Dimensions)
	return x.packed[int(s)*n : (int(s)+1)*n : (int(s)+1)*n]
}

// similarity returns how similar a node is to a vector, approximately.
func (x *Index) similarity(to *factor, s uint32) float32 {
	return to.similarity(x.words(s), x.scales[s])
}

// most returns how many links a node has at most on a level.
func (x *Index) most(level int) int {
	if level == 0 {
		return 2 * x.config.Links
	}
	return x.config.Links
}

// levelOf returns the highest level of an id: each level has one of config.Links of the nodes of the level below.
func (x *Index) levelOf(n uint64) int {
	h := id.Hash(n ^ id.Hash(x.config.Seed+1))
	uniform := (float64(h>>11) + 0.5) / (1 << 53)
	return min(maxLevel, int(-math.Log(uniform)/math.Log(float64(x.config.Links))))
}

// allocate returns a slot for an id.
func (x *Index) allocate(n uint64) uint32 {
	var s uint32
	if len(x.free) > 0 {
		s = x.free[len(x.free)-1]
		x.free = x.free[:len(x.free)-1]
	} else {
		s = uint32(len(x.ids))
		x.ids, x.levels, x.links = append(x.ids, 0), append(x.levels, -1), append(x.links, nil)
		x.vectors = append(x.vectors, make([]float32, x.config.Dimensions)...)
		x.packed, x.scales = append(x.packed, make([]uint64, wordsOf(x.config.Dimensions))...), append(x.scales, 0)
		x.sketches = append(x.sketches, sketch{})
	}
	level := x.levelOf(n)
	x.slots[n], x.ids[s], x.levels[s] = s, n, int8(level)
	x.links[s] = make([][]uint32, level+1)
	return s
}

// searcher has the memory of a search.
type searcher struct {
	visited []uint64 // a bit for each slot
	marked  []uint32 // the slots whose bits are set
	open    heap     // to be visited, the most similar first
	found   heap     // the best so far, the least similar first
	out     []near
	query   factor
	sketch  sketch   // of the query
	fresh   []uint32 // the neighbours of a node that were not visited before, and may be similar enough
	touched uint64
}

// near is a node and how similar it is to what is searched for.
type near struct {
	similarity float32
	slot       uint32
}

// before reports whether a comes before b where the more similar one is first. Of two that are equal, the lower slot is.
func (a near) before(b near) bool {
	return a.similarity > b.similarity || a.similarity == b.similarity && a.slot < b.slot
}

// visit reports whether a slot was not visited yet, and marks it.
func (s *searcher) visit(slot uint32) bool {
	word, bit := &s.visited[slot/64], uint64(1)<<(slot%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	s.marked = append(s.marked, slot)
	return true
}

// touch reads the beginning of a packed vector, so that it comes into the cache. The processor waits for many of such reads at once, and with one product after the other for one or two.
func (s *searcher) touch(words []uint64) { s.touched += words[0] }

// search returns the nodes of a level that are most similar to the query, at most width, the most similar first. They are valid until the next search.
func (s *searcher) search(x *Index, limits *bounds, at near, level, width int) []near {
	if need := (len(x.ids) + 63) / 64; len(s.visited) < need {
		s.visited = append(s.visited, make([]uint64, need-len(s.visited))...)
	}
	for _, slot := range s.marked {
		s.visited[slot/64] &^= 1 << (slot % 64)
	}
	s.marked = s.marked[:0]
	s.open, s.found = heap{list: s.open.list[:0]}, heap{list: s.found.list[:0], last: true}
	s.visit(at.slot)
	s.open.push(at)
	s.found.push(at)
	for len(s.open.list) > 0 {
		next := s.open.pop()
		if len(s.found.list) == width && s.found.list[0].before(next) {
			break
		}
		s.fresh = s.fresh[:0]
		least := float32(-1)
		if len(s.found.list) == width {
			least = s.found.list[0].similarity
		}
		for _, n := range x.links[next.slot][level] {
			if s.visit(n) && limits[s.sketch.differences(&x.sketches[n])] >= least {
				s.fresh = append(s.fresh, n)
				s.touch(x.words(n))
			}
		}
		for _, n := range s.fresh {
			c := near{x.similarity(&s.query, n), n}
			if len(s.found.list) == width {
				if !c.before(s.found.list[0]) {
					continue
				}
				s.found.pop()
			}
			s.found.push(c)
			s.open.push(c)
		}
	}
	if n := len(s.found.list); cap(s.out) < n {
		s.out = make([]near, 0, 1<<bits.Len(uint(n)))
	}
	s.out = s.out[:len(s.found.list)]
	for i := len(s.out) - 1; i >= 0; i-- {
		s.out[i] = s.found.pop()
	}
	return s.out
}

// descend returns the node nearest to a query by the greedy way from the entry down to the level above the last one, or the entry.
func (x *Index) descend(query *factor, from, last int) near {
	at := near{x.similarity(query, x.entry), x.entry}
	for level := from; level > last; level-- {
		for moved := true; moved; {
			moved = false
			for _, n := range x.links[at.slot][level] {
				if c := (near{x.similarity(query, n), n}); c.before(at) {
					at, moved = c, true
				}
			}
		}
	}
	return at
}

// heap is a binary heap: the first is the best, or the worst if last.
type heap struct {
	list []near
	last bool
}

func (h *heap) less(a, b near) bool {
	if h.last {
		return b.before(a)
	}
	return a.before(b)
}

func (h *heap) push(n near) {
	h.list = append(h.list, n)
	i := len(h.list) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.less(h.list[i], h.list[up]) {
			break
		}
		h.list[i], h.list[up] = h.list[up], h.list[i]
		i = up
	}
}

func (h *heap) pop() near {
	first, end := h.list[0], len(h.list)-1
	h.list[0] = h.list[end]
	h.list = h.list[:end]
	for i := 0; ; {
		next := 2*i + 1
		if next >= end {
			return first
		}
		if next+1 < end && h.less(h.list[next+1], h.list[next]) {
			next++
		}
		if !h.less(h.list[next], h.list[i]) {
			return first
		}
		h.list[i], h.list[next] = h.list[next], h.list[i]
		i = next
	}
}
