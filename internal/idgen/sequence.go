package idgen

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
)

// Sequences keeps a counter for each key of a tag in memory, and in the record store only one bound for each section of adjacent
// keys: no key's counter is above its section's bound. A section has one owner at a time. Whoever takes one over, or starts
// again, begins above its bound: numbers are skipped, and none is given twice or goes back. Keys should be dense, as user
// numbers from a segment: then a key takes 8 bytes. Each of few keys far apart takes a section and a page of its own.
//
// Two things keep owners apart. Each change of a bound names the term in which its owner got the section, so that two never
// give one number, whatever their clocks do. And an owner that could not renew stops a margin before another may take over, so
// that no number goes back. The machine's steady clock measures both; the wall clock only makes an owner stop earlier.
//
// All methods may be called from many goroutines. Where Run does not run, callers renew and raise bounds themselves, and wait.
type Sequences struct {
	owners *owners
	mu     sync.Mutex // guards tags
	tags   map[string]*Sequence
}

const (
	pageKeys = 1024 // 8 KiB
	shards   = 16   // of a tag's sections
)

// Sequence is the counters of one tag.
type Sequence struct {
	tag    string
	keys   uint64 // in a section
	owners *owners
	shards [shards]shard
}

// shard is some of a tag's sections by number. The map is never changed, only replaced.
type shard struct {
	sections atomic.Pointer[map[uint64]*section]
	mu       sync.Mutex // held by who replaces the map
	opening  *turn
}

// section as this node owns it in one term.
type section struct {
	tag     string
	number  uint64
	term    int64
	start   uint64 // all numbers given are above
	holding *holding
	bound   atomic.Uint64
	closed  atomic.Bool  // another owns it, or this node forgot it
	used    atomic.Int64 // in which round of making room, at last
	asked   atomic.Bool  // for a higher bound, early
	last    atomic.Bool  // the bound is the tag's maximum

	raising *turn
	tried   uint64 // the highest bound that may be stored; of the one who has the turn
	step    atomic.Uint64

	mu    sync.Mutex // held by who makes a page, or drops all
	made  int64
	pages []atomic.Pointer[page]
}

// page is how far some keys' counters are above the section's start.
type page [pageKeys]atomic.Uint64

// NewSequences makes the tables where they are missing.
func NewSequences(ctx context.Context, deps CounterDeps, config SequencesConfig) (*Sequences, error) {
	store, err := openCounters(ctx, deps.DB)
	if err != nil {
		return nil, err
	}
	o, err := newOwners(store, deps, config)
	return &Sequences{owners: o, tags: map[string]*Sequence{}}, err
}

// Run renews what this node owns, and raises bounds before they are reached, until ctx ends. Then it gives up what it owns, and
// no number is given any more.
func (s *Sequences) Run(ctx context.Context) error { return s.owners.run(ctx) }

// Of gives a tag's counters: NotFound without such a tag. They may be kept.
func (s *Sequences) Of(ctx context.Context, tag string) (*Sequence, error) {
	s.mu.Lock()
	q := s.tags[tag]
	s.mu.Unlock()
	if q != nil {
		return q, nil
	}
	t, err := s.owners.store.tag(ctx, tag, SchemeSequence)
	if err != nil {
		return nil, err
	}
	q = &Sequence{tag: tag, keys: t.SectionKeys, owners: s.owners}
	for i := range q.shards {
		q.shards[i].opening = newTurn()
		q.shards[i].sections.Store(&map[uint64]*section{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.tags[tag]; first != nil {
		return first, nil
	}
	s.tags[tag] = q
	return q, nil
}

// Next gives the next number of a key, above all that were given of it, on any node. Unavailable with the reason
// sequence_elsewhere: another node owns the key's section (Owner tells which), or did until a moment ago.
func (q *Sequence) Next(ctx context.Context, key uint64) (uint64, error) {
	return q.next(ctx, key, 1)
}

// NextN gives n numbers of a key, 1 to 10,000, and of them the first.
func (q *Sequence) NextN(ctx context.Context, key uint64, n int) (first uint64, err error) {
	if n < 1 || n > batchMost {
		return 0, badBatch()
	}
	return q.next(ctx, key, uint64(n))
}

// Peek gives a number that none of the key's is above so far, and the next one will be: the last one given, or where this
// node's numbers begin.
func (q *Sequence) Peek(ctx context.Context, key uint64) (uint64, error) {
	c, err := q.section(ctx, key)
	if err != nil {
		return 0, err
	}
	place := key % q.keys
	if p := c.pages[place/pageKeys].Load(); p != nil {
		return c.start + p[place%pageKeys].Load(), nil
	}
	return c.start, nil
}

func (q *Sequence) next(ctx context.Context, key, n uint64) (uint64, error) {
	place := key % q.keys
	for {
		// It was owned, by its own lease, after this call began: numbers that another gives from now on are later ones.
		c, err := q.section(ctx, key)
		if err != nil {
			return 0, err
		}
		p := c.pages[place/pageKeys].Load()
		if p == nil {
			if err := q.owners.makePage(c, place/pageKeys); err != nil {
				return 0, err
			}
			continue
		}
		counter := &p[place%pageKeys]
		for {
			at := counter.Load()
			last := c.start + at + n
			bound := c.bound.Load()
			if last > bound {
				if err := q.owners.raise(ctx, c, last); err != nil {
					return 0, err
				}
				break // it may be another's now
			}
			if !counter.CompareAndSwap(at, at+n) {
				continue
			}
			if bound-last < c.step.Load()/10 && !c.last.Load() && c.asked.CompareAndSwap(false, true) {
				q.owners.want(c, bound)
			}
			return c.start + at + 1, nil
		}
	}
}

// section gives a key's section, which this node owns now.
func (q *Sequence) section(ctx context.Context, key uint64) (*section, error) {
	number := key / q.keys
	s := &q.shards[number%shards]
	c := (*s.sections.Load())[number]
	if c != nil && q.owners.owns(c) {
		if round := q.owners.round.Load(); c.used.Load() != round { // mostly it is, and nothing is written
			c.used.Store(round)
		}
		return c, nil
	}
	err := s.opening.do(ctx, func() bool {
		c = (*s.sections.Load())[number]
		return c == nil || !q.owners.owns(c)
	}, func(ctx context.Context) (err error) {
		if c != nil && !c.closed.Load() && !c.holding.ended.Load() { // perhaps it only needs to be renewed
			if err := q.owners.renew(ctx); err != nil || q.owners.owns(c) {
				return err
			}
		}
		if c != nil {
			q.owners.drop(c)
		}
		c, err = q.owners.acquire(ctx, s, q.tag, number, q.keys)
		return err
	})
	return c, err
}

func (s *shard) put(c *section) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sections := maps.Clone(*s.sections.Load())
	sections[c.number] = c
	s.sections.Store(&sections)
}

func (s *shard) remove(c *section) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (*s.sections.Load())[c.number] != c {
		return
	}
	sections := maps.Clone(*s.sections.Load())
	delete(sections, c.number)
	s.sections.Store(&sections)
}

// Pages is how many pages of 8 KiB this node's sequences take, of at most PagesMost.
func (s *Sequences) Pages() int64 { return s.owners.pages.Load() }

// Owner gives the node that owns a key's section, "" if none does.
func (q *Sequence) Owner(ctx context.Context, key uint64) (node string, err error) {
	holder, err := q.owners.store.owner(ctx, q.tag, key/q.keys)
	return nodeOf(holder), err
}
