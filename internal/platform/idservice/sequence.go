package idservice

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
)

// Sequences keeps a counter for each key of a tag in memory. The database stores only one bound for each section of adjacent keys: no key's
// counter is above its section's bound. A section has one owner at a time. A node that takes over a section, or restarts, begins above its
// bound: numbers are skipped, but never repeated or decreased. Keys should be dense, such as user numbers from a segment: then a key takes
// 8 bytes. Keys that are far apart take a section and a page each.
//
// Two mechanisms keep owners apart. Each change of a bound names the term in which its owner acquired the section, so that two owners never
// issue the same number, whatever their clocks do. And an owner that could not renew stops a margin before another may take over, so that
// numbers never decrease. The machine's monotonic clock measures both times; the wall clock can only make an owner stop earlier.
//
// All methods are safe for concurrent use. Without Run, callers renew and raise bounds themselves, and wait.
type Sequences struct {
	owner *sectionOwner
	mu    sync.Mutex // guards tags
	tags  map[string]*Sequence
}

const (
	pageKeys = 1024 // 8 KiB
	shards   = 16   // of a tag's sections
)

// Sequence has the counters of one tag.
type Sequence struct {
	tag    string
	keys   uint64 // in a section
	owner  *sectionOwner
	shards [shards]shard
}

// shard has some of a tag's sections, by number. The map is never changed, only replaced.
type shard struct {
	sections atomic.Pointer[map[uint64]*section]
	mu       sync.Mutex // held to replace the map
	opening  *singleFlight
}

// section is a section that this node owns in one term.
type section struct {
	tag    string
	number uint64
	term   uint64
	start  uint64 // all issued numbers are above it
	lease  *nodeLease
	bound  atomic.Uint64
	closed atomic.Bool  // another node owns it, or this node evicted it
	used   atomic.Int64 // the round of evictions in which it was last used
	asked  atomic.Bool  // an early raise was requested
	last   atomic.Bool  // the bound is the tag's maximum

	raising *singleFlight
	tried   uint64 // the highest bound that may be stored; used by the holder of the single flight
	step    atomic.Uint64

	mu    sync.Mutex // held to add a page, or to drop all
	made  int64
	pages []atomic.Pointer[page]
}

// page has the counters of adjacent keys, relative to the section's start.
type page [pageKeys]atomic.Uint64

// NewSequences creates missing tables.
func NewSequences(ctx context.Context, deps CounterDeps, config SequencesConfig) (*Sequences, error) {
	store, err := openCounters(ctx, deps.DB)
	if err != nil {
		return nil, err
	}
	o, err := newSectionOwner(store, deps, config)
	return &Sequences{owner: o, tags: map[string]*Sequence{}}, err
}

// Run renews the lease of this node's sections and raises bounds before they are reached, until ctx ends. Then it releases the sections,
// and no more numbers are issued.
func (s *Sequences) Run(ctx context.Context) error { return s.owner.run(ctx) }

// Of returns a tag's counters, or NotFound. The result may be kept.
func (s *Sequences) Of(ctx context.Context, tag string) (*Sequence, error) {
	s.mu.Lock()
	q := s.tags[tag]
	s.mu.Unlock()
	if q != nil {
		return q, nil
	}
	t, err := s.owner.store.tag(ctx, tag, SchemeSequence)
	if err != nil {
		return nil, err
	}
	q = &Sequence{tag: tag, keys: t.SectionKeys, owner: s.owner}
	for i := range q.shards {
		q.shards[i].opening = newSingleFlight()
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

// Next returns the next number of a key, above all its numbers issued on any node. It fails with Unavailable and the reason
// sequence_elsewhere if another node owns the key's section (see Owner), or did until a moment ago.
func (q *Sequence) Next(ctx context.Context, key uint64) (uint64, error) {
	return q.next(ctx, key, 1)
}

// NextN reserves n numbers of a key, 1 to 10,000, and returns the first.
func (q *Sequence) NextN(ctx context.Context, key uint64, n int) (first uint64, err error) {
	if n < 1 || n > maxBatch {
		return 0, errBadBatch()
	}
	return q.next(ctx, key, uint64(n))
}

// Peek returns a number that is below the key's next number and not below any issued one: the last one issued, or the start of this node's
// numbers.
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
		// It was owned under its lease after this call began: numbers that another node issues are later ones.
		c, err := q.section(ctx, key)
		if err != nil {
			return 0, err
		}
		p := c.pages[place/pageKeys].Load()
		if p == nil {
			if err := q.owner.makePage(c, place/pageKeys); err != nil {
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
				if err := q.owner.raise(ctx, c, last); err != nil {
					return 0, err
				}
				break // another node may own it now
			}
			if !counter.CompareAndSwap(at, at+n) {
				continue
			}
			if bound-last < c.step.Load()/10 && !c.last.Load() && c.asked.CompareAndSwap(false, true) {
				q.owner.requestRaise(c, bound)
			}
			return c.start + at + 1, nil
		}
	}
}

// section returns a key's section, after making sure that this node owns it.
func (q *Sequence) section(ctx context.Context, key uint64) (*section, error) {
	number := key / q.keys
	s := &q.shards[number%shards]
	c := (*s.sections.Load())[number]
	if c != nil && q.owner.owns(c) {
		if round := q.owner.round.Load(); c.used.Load() != round { // usually it is owned, and nothing is written
			c.used.Store(round)
		}
		return c, nil
	}
	err := s.opening.do(ctx, func() bool {
		c = (*s.sections.Load())[number]
		return c == nil || !q.owner.owns(c)
	}, func(ctx context.Context) (err error) {
		if c != nil && !c.closed.Load() && !c.lease.ended.Load() { // perhaps the lease only needs to be renewed
			if err := q.owner.renew(ctx); err != nil || q.owner.owns(c) {
				return err
			}
		}
		if c != nil {
			q.owner.evict(c)
		}
		c, err = q.owner.acquire(ctx, s, q.tag, number, q.keys)
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

// Pages returns how many pages of 8 KiB this node's sequences use; see SequencesConfig.MaxPages.
func (s *Sequences) Pages() int64 { return s.owner.pages.Load() }
