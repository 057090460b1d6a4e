package idgen

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// SegmentsConfig of the ranges that a node takes.
type SegmentsConfig struct {
	// StepMost bounds how far a tag's step doubles. 0: 10,000,000.
	StepMost uint64
}

const (
	tooShort     = 15 * time.Minute // a segment that lasts less doubles the step
	tooLong      = 30 * time.Minute // one that lasts longer halves it
	fetchers     = 4                // segments fetched at once
	segmentQueue = 1024             // segments that wait to be fetched; one beyond is found by look
	look         = time.Second      // how often what could not be fetched is tried again
)

// Segments gives small, rising numbers per tag out of ranges taken from the record store. While one range is used the next is
// fetched, as soon as a tenth is used, so that no caller waits; and what is held lasts through an outage of the store.
// Numbers of one node rise. All methods may be called from many goroutines.
type Segments struct {
	store    counters
	clock    clock.Clock
	logger   *slog.Logger
	stepMost uint64
	wanted   chan *Segment
	opening  *turn

	mu   sync.Mutex // held by those who change tags
	tags atomic.Pointer[map[string]*Segment]
}

// NewSegments makes the tables where they are missing.
func NewSegments(ctx context.Context, deps CounterDeps, config SegmentsConfig) (*Segments, error) {
	store, err := openCounters(ctx, deps.DB)
	s := &Segments{store: store, clock: deps.Clock, logger: deps.Logger, stepMost: config.StepMost, wanted: make(chan *Segment, segmentQueue), opening: newTurn()}
	if s.stepMost == 0 {
		s.stepMost = stepMost
	}
	s.tags.Store(&map[string]*Segment{})
	return s, err
}

// Segment is one tag's numbers on this node.
type Segment struct {
	tag   string
	all   *Segments
	fetch *turn
	using atomic.Pointer[numbers]

	mu    sync.Mutex // guards what is below
	next  *numbers
	step  uint64
	least uint64    // the tag's own step
	since time.Time // when the range in use began to be used
	ended *numbers  // the last that came to its end
}

// numbers are a range. What all callers write lies in a cache line of its own.
type numbers struct {
	first, count uint64
	early        uint64 // the place whose taker asks for the next range
	_            [104]byte
	taken        atomic.Uint64
	_            [120]byte
}

// take takes up to n, and gives the first.
func (r *numbers) take(n uint64) (first, got uint64, early bool) {
	at := r.taken.Add(n) - n
	if at >= r.count {
		return 0, 0, false
	}
	got = min(n, r.count-at)
	return r.first + at, got, at <= r.early && r.early < at+got
}

// Of gives a tag's numbers: NotFound without such a tag. It may be kept.
func (s *Segments) Of(ctx context.Context, tag string) (*Segment, error) {
	if g := (*s.tags.Load())[tag]; g != nil {
		return g, nil
	}
	g := &Segment{tag: tag, all: s, fetch: newTurn()}
	g.using.Store(&numbers{})
	err := s.opening.do(ctx, func() bool { return (*s.tags.Load())[tag] == nil }, g.fetchNext)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.tags.Load()
	if first := old[tag]; first != nil {
		return first, nil
	}
	tags := maps.Clone(old)
	tags[tag] = g
	s.tags.Store(&tags)
	return g, nil
}

// Forget drops what this node holds of a tag. It is for a tag that was deleted.
func (s *Segments) Forget(tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	delete(tags, tag)
	s.tags.Store(&tags)
}

// drop is Forget, unless the tag was opened anew meanwhile.
func (s *Segments) drop(g *Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	if tags[g.tag] == g {
		delete(tags, g.tag)
	}
	s.tags.Store(&tags)
}

// Fill gives len(dst) numbers of a tag, rising.
func (s *Segments) Fill(ctx context.Context, tag string, dst []uint64) error {
	g, err := s.Of(ctx, tag)
	if err != nil {
		return err
	}
	return g.Fill(ctx, dst)
}

// Next gives a number. Unavailable: what the node held is used up, and the store does not answer. Exhausted: the tag's maximum
// is reached.
func (g *Segment) Next(ctx context.Context) (uint64, error) {
	for {
		r := g.using.Load()
		at := r.taken.Add(1) - 1
		if at < r.count {
			if at == r.early {
				g.want()
			}
			return r.first + at, nil
		}
		if err := g.turnOver(ctx, r); err != nil {
			return 0, err
		}
	}
}

// Fill gives len(dst) numbers, rising. What an error leaves half done is lost, and never given again.
func (g *Segment) Fill(ctx context.Context, dst []uint64) error {
	for len(dst) > 0 {
		r := g.using.Load()
		first, got, early := r.take(uint64(len(dst)))
		if early {
			g.want()
		}
		for i := range got {
			dst[i] = first + i
		}
		dst = dst[got:]
		if len(dst) == 0 {
			return nil
		}
		if err := g.turnOver(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// want has Run fetch the next range. Where its queue is full, or it does not run, who comes to the end of the range fetches.
func (g *Segment) want() {
	select {
	case g.all.wanted <- g:
	default:
	}
}

// turnOver puts the next range in the place of a used one.
func (g *Segment) turnOver(ctx context.Context, used *numbers) error {
	if g.promote(used) {
		return nil
	}
	return g.fetch.do(ctx, func() bool { return g.using.Load() == used && !g.ready() }, g.fetchNext)
}

// ready tells whether the next range is here.
func (g *Segment) ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next != nil
}

// promote tells whether callers can go on.
func (g *Segment) promote(used *numbers) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.using.Load() != used {
		return true
	}
	if g.ended != used && used.count > 0 { // before the next one is fetched, if it was not
		g.ended, g.step = used, adapt(g.step, g.least, g.all.stepMost, g.all.clock.Now().Sub(g.since))
	}
	if g.next == nil {
		return false
	}
	g.using.Store(g.next)
	g.next, g.since = nil, g.all.clock.Now()
	return true
}

// adapt gives the step after a segment that lasted so long.
func adapt(step, least, most uint64, lasted time.Duration) uint64 {
	switch {
	case lasted < tooShort:
		step *= 2
	case lasted > tooLong:
		step /= 2
	}
	return max(min(step, most), least)
}

// fetchNext takes a range from the store. Its caller has the turn.
func (g *Segment) fetchNext(ctx context.Context) error {
	g.mu.Lock()
	want := g.step
	g.mu.Unlock()
	first, n, least, err := g.all.store.takeRange(ctx, g.tag, want)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next, g.least, g.step = &numbers{first: first, count: n, early: n / 10}, least, max(want, least)
	return nil
}

// wants tells that a tenth of the range is used, and the next one is not here.
func (g *Segment) wants() bool {
	r := g.using.Load()
	return r.taken.Load() > r.early && !g.ready()
}

// Run fetches ranges before they are needed, until ctx ends.
func (s *Segments) Run(ctx context.Context) error {
	var fetching sync.WaitGroup
	defer fetching.Wait()
	for range fetchers {
		fetching.Go(func() { s.fetch(ctx) })
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, g := range *s.tags.Load() {
				if g.wants() {
					g.want()
				}
			}
		}
	}
}

func (s *Segments) fetch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-s.wanted:
			err := g.fetch.do(ctx, g.wants, g.fetchNext)
			if errs.Is(err, errs.NotFound) { // another node deleted it
				s.drop(g)
			} else if err != nil && ctx.Err() == nil && !errs.Is(err, errs.Exhausted) { // who comes to a maximum is told
				s.logger.Warn("the next segment cannot be fetched; what is held is given", "tag", g.tag, "error", err)
			}
		}
	}
}
