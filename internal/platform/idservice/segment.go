package idservice

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// SegmentsConfig configures the ranges that a node reserves.
type SegmentsConfig struct {
	// MaxStep bounds how far a tag's step doubles. 0: 10,000,000.
	MaxStep uint64
}

const (
	doubleStepBelow = 15 * time.Minute // a segment that is used up sooner doubles the step
	halveStepAbove  = 30 * time.Minute // a segment that lasts longer halves it
	fetchers        = 4                // concurrent fetches
	segmentQueue    = 1024             // segments waiting for a fetch; beyond, a scan finds them
	retryInterval   = time.Second      // interval of retries
)

// Segments gives small, increasing numbers per tag, from ranges that the node reserves in the database. The next range is fetched when a
// tenth of the current one is used, so that no caller waits, and the node can bridge an outage of the database. Numbers of one node
// increase. All methods are safe for concurrent use.
type Segments struct {
	store         counters
	clock         clock.Clock
	logger        *slog.Logger
	maxStep       uint64
	fetchRequests chan *Segment
	opening       *singleFlight

	mu   sync.Mutex // held while tags change
	tags atomic.Pointer[map[string]*Segment]
}

// NewSegments creates missing tables.
func NewSegments(ctx context.Context, deps CounterDeps, config SegmentsConfig) (*Segments, error) {
	store, err := openCounters(ctx, deps.DB)
	s := &Segments{store: store, clock: deps.Clock, logger: deps.Logger, maxStep: config.MaxStep, fetchRequests: make(chan *Segment, segmentQueue), opening: newSingleFlight()}
	if s.maxStep == 0 {
		s.maxStep = maxStep
	}
	s.tags.Store(&map[string]*Segment{})
	return s, err
}

// Segment has one tag's numbers on this node.
type Segment struct {
	tag   string
	all   *Segments
	fetch *singleFlight
	using atomic.Pointer[numberRange]

	mu    sync.Mutex // guards the fields below
	next  *numberRange
	step  uint64
	least uint64       // the tag's own step
	since time.Time    // when the current range began to be used
	ended *numberRange // the last range that was used up
}

// numberRange is a range of numbers. The field that all callers write has its own cache line.
type numberRange struct {
	first, count uint64
	early        uint64 // the caller that takes this index requests the next range
	_            [104]byte
	taken        atomic.Uint64
	_            [120]byte
}

// take takes up to n numbers, and returns the first.
func (r *numberRange) take(n uint64) (first, got uint64, early bool) {
	at := r.taken.Add(n) - n
	if at >= r.count {
		return 0, 0, false
	}
	got = min(n, r.count-at)
	return r.first + at, got, at <= r.early && r.early < at+got
}

// Of returns a tag's numbers, or NotFound. The result may be kept.
func (s *Segments) Of(ctx context.Context, tag string) (*Segment, error) {
	if g := (*s.tags.Load())[tag]; g != nil {
		return g, nil
	}
	g := &Segment{tag: tag, all: s, fetch: newSingleFlight()}
	g.using.Store(&numberRange{})
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

// Forget drops what this node has reserved for a deleted tag.
func (s *Segments) Forget(tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	delete(tags, tag)
	s.tags.Store(&tags)
}

// drop is Forget, unless the tag was opened again meanwhile.
func (s *Segments) drop(g *Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := maps.Clone(*s.tags.Load())
	if tags[g.tag] == g {
		delete(tags, g.tag)
	}
	s.tags.Store(&tags)
}

// Fill returns len(dst) numbers of a tag, increasing.
func (s *Segments) Fill(ctx context.Context, tag string, dst []uint64) error {
	g, err := s.Of(ctx, tag)
	if err != nil {
		return err
	}
	return g.Fill(ctx, dst)
}

// Next returns a number. Unavailable: the reserve is used up, and the store does not answer. Exhausted: the tag's maximum is reached.
func (g *Segment) Next(ctx context.Context) (uint64, error) {
	for {
		r := g.using.Load()
		at := r.taken.Add(1) - 1
		if at < r.count {
			if at == r.early {
				g.requestFetch()
			}
			return r.first + at, nil
		}
		if err := g.nextRange(ctx, r); err != nil {
			return 0, err
		}
	}
}

// Fill returns len(dst) numbers, increasing. Numbers taken before an error are lost, and never issued again.
func (g *Segment) Fill(ctx context.Context, dst []uint64) error {
	for len(dst) > 0 {
		r := g.using.Load()
		first, got, early := r.take(uint64(len(dst)))
		if early {
			g.requestFetch()
		}
		for i := range got {
			dst[i] = first + i
		}
		dst = dst[got:]
		if len(dst) == 0 {
			return nil
		}
		if err := g.nextRange(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// requestFetch asks Run to fetch the next range. If its queue is full, the caller that reaches the end of the range fetches it.
func (g *Segment) requestFetch() {
	select {
	case g.all.fetchRequests <- g:
	default:
	}
}

// nextRange replaces a used-up range by the next one.
func (g *Segment) nextRange(ctx context.Context, used *numberRange) error {
	if g.advance(used) {
		return nil
	}
	return g.fetch.do(ctx, func() bool { return g.using.Load() == used && !g.ready() }, g.fetchNext)
}

// ready reports whether the next range was fetched.
func (g *Segment) ready() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next != nil
}

// advance makes the next range current. It reports whether callers can continue.
func (g *Segment) advance(used *numberRange) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.using.Load() != used {
		return true
	}
	if g.ended != used && used.count > 0 { // before the next one is fetched
		g.ended, g.step = used, adaptStep(g.step, g.least, g.all.maxStep, g.all.clock.Now().Sub(g.since))
	}
	if g.next == nil {
		return false
	}
	g.using.Store(g.next)
	g.next, g.since = nil, g.all.clock.Now()
	return true
}

// adaptStep returns the step of the next segment, by the time that the last one lasted.
func adaptStep(step, least, most uint64, lasted time.Duration) uint64 {
	switch {
	case lasted < doubleStepBelow:
		step *= 2
	case lasted > halveStepAbove:
		step /= 2
	}
	return max(min(step, most), least)
}

// fetchNext reserves a range in the store. Its caller has the single flight.
func (g *Segment) fetchNext(ctx context.Context) error {
	g.mu.Lock()
	want := g.step
	g.mu.Unlock()
	first, n, least, err := g.all.store.reserveRange(ctx, g.tag, want)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next, g.least, g.step = &numberRange{first: first, count: n, early: n / 10}, least, max(want, least)
	return nil
}

// needsFetch reports that a tenth of the range is used and the next one is missing.
func (g *Segment) needsFetch() bool {
	r := g.using.Load()
	return r.taken.Load() > r.early && !g.ready()
}

// Run fetches ranges before they are needed, until ctx ends.
func (s *Segments) Run(ctx context.Context) error {
	var fetching sync.WaitGroup
	defer fetching.Wait()
	for range fetchers {
		fetching.Go(func() { s.runFetcher(ctx) })
	}
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, g := range *s.tags.Load() {
				if g.needsFetch() {
					g.requestFetch()
				}
			}
		}
	}
}

func (s *Segments) runFetcher(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-s.fetchRequests:
			err := g.fetch.do(ctx, g.needsFetch, g.fetchNext)
			if errs.Is(err, errs.NotFound) { // another node deleted it
				s.drop(g)
			} else if err != nil && ctx.Err() == nil && !errs.Is(err, errs.Exhausted) { // callers get the error of a maximum
				s.logger.Warn("the next segment cannot be fetched; the reserve is used", "tag", g.tag, "error", err)
			}
		}
	}
}
