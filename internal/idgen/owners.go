package idgen

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// SequencesConfig of owning.
type SequencesConfig struct {
	// Node is this node's name, which Owner gives. Two of one name do no harm.
	Node string
	// Own: the store belongs to this process alone, which has locked it, so that all other owners are gone: it takes over at
	// once. Else it waits until an owner has not renewed for Lease.
	Own bool
	// Lease is how long another node waits for an owner that does not renew. 0: 10 s. The same on all nodes.
	Lease time.Duration
	// Margin is how much earlier an owner that could not renew stops by itself. 0: 2 s.
	Margin time.Duration
	// PagesMost bounds the memory, in pages of 8 KiB, each for 1,024 adjacent keys. A section counts as one more. Beyond it
	// sections that were not used lately are forgotten, and begin above their bounds when they are used again. 0: 16,384, for 16
	// million dense keys.
	PagesMost int64
}

// holding is a node's lease of all that it owns, under a name that is never used again.
type holding struct {
	name    string
	entered atomic.Bool // in the store
	ended   atomic.Bool // for good
	until   atomic.Int64
	wall    atomic.Int64 // the same by the wall clock, which sees that the machine slept
}

// sighting of another holder: its beat, and since when.
type sighting struct {
	beat  int64
	since time.Duration
}

// wish for a section's bound to be raised above what it was.
type wish struct {
	section *section
	above   uint64
}

// owners owns sections for a node.
type owners struct {
	store  counters
	clock  clock.Clock
	logger *slog.Logger
	config SequencesConfig
	steady steady

	held   atomic.Pointer[holding]
	leases *turn
	over   bool // of the one who has that turn: Run has ended
	pages  atomic.Int64
	round  atomic.Int64 // of making room
	wanted chan wish

	mu   sync.Mutex // guards what is below
	seen map[string]sighting
	open map[*section]*shard // all that this node has in memory
}

const (
	raisers      = 4    // sections raised at once
	sectionQueue = 1024 // that wait to be raised; for one beyond, who comes to its bound waits
)

func newOwners(store counters, deps CounterDeps, c SequencesConfig) (*owners, error) {
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Margin == 0 {
		c.Margin = 2 * time.Second
	}
	if c.PagesMost == 0 {
		c.PagesMost = 16_384
	}
	if c.Margin < 0 || c.Lease < 2*c.Margin {
		return nil, errs.New(errs.Invalid, "bad_config", "the lease of sequences must be at least twice its margin")
	}
	o := &owners{store: store, clock: deps.Clock, logger: deps.Logger, config: c, steady: newSteady(), leases: newTurn(),
		wanted: make(chan wish, sectionQueue), seen: map[string]sighting{}, open: map[*section]*shard{}}
	o.begin()
	return o, nil
}

// begin takes a new name: what was held under the old one is held no more.
func (o *owners) begin() {
	old := o.held.Swap(&holding{name: o.config.Node + "/" + rand.Text()})
	if old == nil {
		return
	}
	old.ended.Store(true)
	o.mu.Lock()
	var lost []*section
	for c := range o.open {
		if c.holding == old {
			lost = append(lost, c)
		}
	}
	o.mu.Unlock()
	for _, c := range lost {
		o.drop(c)
	}
}

func nodeOf(holder string) string {
	node, _, _ := strings.Cut(holder, "/")
	return node
}

// owns tells whether a section is this node's for sure, now.
func (o *owners) owns(c *section) bool { return !c.closed.Load() && o.valid(c.holding) }

func (o *owners) valid(h *holding) bool {
	return !h.ended.Load() && int64(o.steady.now()) < h.until.Load() && o.clock.Now().UnixNano() < h.wall.Load()
}

// renew extends the lease, or begins a new one where there is none any more.
func (o *owners) renew(ctx context.Context) error {
	began := o.held.Load()
	before := began.until.Load()
	return o.leases.do(ctx, func() bool {
		return o.over || o.held.Load() != began || began.until.Load() == before // else somebody did meanwhile
	}, o.renewOnce)
}

func (o *owners) renewOnce(ctx context.Context) error {
	for {
		if o.over {
			return errs.New(errs.Unavailable, "closing", "the server is stopping; reconnect")
		}
		h := o.held.Load()
		steady, wall := o.steady.now(), o.clock.Now() // before it is stored: others see it later
		all, alive, err := o.store.renew(ctx, h.name, !h.entered.Load(), o.dead)
		if err != nil {
			return err
		}
		o.sight(all)
		if !alive {
			o.logger.Warn("sequences were taken over by another node, since this one did not renew in time")
			o.begin()
			continue
		}
		h.entered.Store(true)
		valid := o.config.Lease - o.config.Margin
		h.until.Store(int64(steady + valid))
		h.wall.Store(wall.Add(valid).UnixNano())
		return nil
	}
}

// sight notes which holders have renewed.
func (o *owners) sight(all heartbeats) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.steady.now()
	for holder := range o.seen {
		if _, there := all[holder]; !there {
			delete(o.seen, holder)
		}
	}
	for holder, beat := range all {
		if old, known := o.seen[holder]; !known || old.beat != beat {
			o.seen[holder] = sighting{beat, now}
		}
	}
}

// dead tells that a holder has not renewed for so long that it has stopped.
func (o *owners) dead(holder string, beat int64) bool {
	return o.config.Own || o.left(holder, beat) <= 0
}

// left is how long a holder that does not renew still has.
func (o *owners) left(holder string, beat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.steady.now()
	s, known := o.seen[holder]
	if !known || s.beat != beat {
		s = sighting{beat, now}
		o.seen[holder] = s
	}
	return o.config.Lease - (now - s.since)
}

// acquire gets a section of a tag into its shard.
func (o *owners) acquire(ctx context.Context, s *shard, tag string, number, keys uint64) (*section, error) {
	for {
		h := o.held.Load()
		if !o.valid(h) {
			if err := o.renew(ctx); err != nil {
				return nil, err
			}
			h = o.held.Load()
		}
		got, err := o.store.acquire(ctx, tag, number, h.name, o.dead)
		switch {
		case err != nil:
			return nil, err
		case got.other != "":
			return nil, &errs.Error{Kind: errs.Unavailable, Reason: "sequence_elsewhere", Message: "another node gives this sequence; ask that one, or try again",
				Retry: max(o.left(got.other, got.beat), retryFirst)}
		case got.lost:
			if err := o.renew(ctx); err != nil { // it finds out, and begins anew
				return nil, err
			}
			continue
		}
		if err := o.makeRoom(nil); err != nil {
			return nil, err
		}
		c := &section{tag: tag, number: number, term: got.term, start: got.start, holding: h, raising: newTurn(), made: 1,
			pages: make([]atomic.Pointer[page], (keys+pageKeys-1)/pageKeys)}
		c.bound.Store(got.bound)
		c.step.Store(got.step)
		o.mu.Lock()
		o.open[c] = s
		o.mu.Unlock()
		s.put(c)
		return c, nil
	}
}

var errMemory = errs.New(errs.Exhausted, "sequence_memory", "this node's memory for sequences is too small for one section; raise its bound")

// makePage makes room for keys of a section.
func (o *owners) makePage(c *section, n uint64) error {
	if err := o.makeRoom(c); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages[n].Load() != nil || c.closed.Load() {
		o.pages.Add(-1)
		return nil
	}
	c.made++
	c.pages[n].Store(new(page))
	return nil
}

// makeRoom counts one more page. Where there are too many, it forgets sections other than c, those first that were not used for
// longest, until a sixteenth is free: then it need not be done each time.
func (o *owners) makeRoom(c *section) error {
	o.round.Add(1) // so that what is used from here on was used later than what was used before
	if o.pages.Add(1) <= o.config.PagesMost {
		return nil
	}
	o.mu.Lock()
	var others []*section
	for other := range o.open {
		if other != c {
			others = append(others, other)
		}
	}
	o.mu.Unlock()
	slices.SortFunc(others, func(a, b *section) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, other := range others {
		if o.pages.Load() <= o.config.PagesMost-o.config.PagesMost/16 {
			break
		}
		o.drop(other)
	}
	if o.pages.Load() <= o.config.PagesMost {
		return nil
	}
	o.pages.Add(-1)
	return errMemory
}

// drop forgets a section, which can be had again above its bound only.
func (o *owners) drop(c *section) {
	o.mu.Lock()
	s := o.open[c]
	delete(o.open, c)
	o.mu.Unlock()
	if s == nil {
		return
	}
	s.remove(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed.Store(true)
	o.pages.Add(-c.made)
	c.made = 0
}

// want has Run raise a section's bound, if that is still what it was.
func (o *owners) want(c *section, bound uint64) {
	select {
	case o.wanted <- wish{c, bound}:
	default:
		c.asked.Store(false)
	}
}

// raise makes a section's bound at least need, or finds that it is another's.
func (o *owners) raise(ctx context.Context, c *section, need uint64) error {
	return c.raising.do(ctx, func() bool { return c.bound.Load() < need && !c.closed.Load() }, func(ctx context.Context) error {
		old := c.bound.Load()
		next, own, err := o.store.raise(ctx, c.tag, c.number, c.term, old, c.tried, need)
		if err != nil {
			if !ours(err) {
				c.tried = max(c.tried, next) // it may be stored
			}
			return err
		}
		if !own {
			o.drop(c)
			return nil
		}
		c.tried = next
		c.last.Store(next == old)
		c.bound.Store(next)
		return nil
	})
}

func (o *owners) run(ctx context.Context) error {
	var raising sync.WaitGroup
	for range raisers {
		raising.Go(func() { o.raiseWanted(ctx) })
	}
	tick := time.NewTicker(o.config.Lease / 5)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if !o.held.Load().entered.Load() {
				continue // it has owned nothing yet
			}
			if err := o.renew(ctx); err != nil && ctx.Err() == nil {
				o.logger.Warn("sequences could not be renewed", "error", err)
			}
		}
	}
	raising.Wait()
	return o.end(context.WithoutCancel(ctx))
}

// end gives all up, so that others need not wait. If the store does not answer, they do.
func (o *owners) end(ctx context.Context) error {
	err := o.leases.do(ctx, func() bool { return true }, func(ctx context.Context) error {
		o.over = true
		h := o.held.Load()
		h.ended.Store(true)
		if !h.entered.Load() {
			return nil
		}
		return o.store.release(ctx, h.name)
	})
	if e := errs.Of(err); e != nil && e.Kind == errs.Unavailable {
		o.logger.Warn("sequences could not be given up; other nodes wait for the lease", "error", errors.Unwrap(e))
		return nil
	}
	return err
}

func (o *owners) raiseWanted(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-o.wanted:
			c := w.section
			err := o.raise(ctx, c, w.above+1)
			c.asked.Store(false)
			if err != nil && ctx.Err() == nil && !errs.Is(err, errs.Exhausted) {
				o.logger.Warn("a sequence's bound could not be raised; the numbers below it are given", "tag", c.tag, "section", c.number, "error", err)
			}
		}
	}
}
