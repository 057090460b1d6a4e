package idservice

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

// SequencesConfig configures the ownership of sections.
type SequencesConfig struct {
	// Node is this node's name, which Owner returns. Two nodes with the same name do no harm.
	Node string
	// Exclusive: only this process uses the store, which it has locked. All other owners are gone, so it takes over at once.
	// Otherwise it waits until an owner has not renewed for Lease.
	Exclusive bool
	// Lease is how long another node waits for an owner that does not renew. All nodes need the same value. 0: 10 s.
	Lease time.Duration
	// Margin is how much earlier an owner that could not renew stops by itself. 0: 2 s.
	Margin time.Duration
	// MaxPages bounds the memory, in pages of 8 KiB, each for 1,024 adjacent keys. A section counts as one more page. Beyond
	// the bound, sections that were not used lately are evicted; they continue above their bounds when they are used again. 0:
	// 16,384, for 16 million dense keys.
	MaxPages int64
}

// nodeLease is a node's lease of all sections that it owns. Its name is never reused.
type nodeLease struct {
	name     string
	entered  atomic.Bool // in the store
	ended    atomic.Bool // permanently
	validity *lease.Validity
}

// raiseRequest requests a bound above a value for a section.
type raiseRequest struct {
	section *section
	bound   uint64
}

// sectionOwner acquires, renews and raises the sections of this node.
type sectionOwner struct {
	store  counters
	clock  clock.Clock
	logger *slog.Logger
	config SequencesConfig

	lease         atomic.Pointer[nodeLease]
	renewal       *singleFlight
	closed        bool // Run has ended; guarded by renewal
	pages         atomic.Int64
	round         atomic.Int64 // of evictions
	raiseRequests chan raiseRequest

	mu   sync.Mutex          // guards the fields below
	seen lease.Heartbeats    // of the holders
	open map[*section]*shard // all that this node has in memory
}

const (
	raisers      = 4    // sections raised at once
	sectionQueue = 1024 // sections waiting to be raised; if it is full, callers that reach a bound wait
)

func newSectionOwner(store counters, deps CounterDeps, c SequencesConfig) (*sectionOwner, error) {
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Margin == 0 {
		c.Margin = 2 * time.Second
	}
	if c.MaxPages == 0 {
		c.MaxPages = 16_384
	}
	if c.Margin < 0 || c.Lease < 2*c.Margin {
		return nil, errs.New(errs.Invalid, "bad_config", "the lease of sequences must be at least twice its margin")
	}
	o := &sectionOwner{store: store, clock: deps.Clock, logger: deps.Logger, config: c, renewal: newSingleFlight(),
		raiseRequests: make(chan raiseRequest, sectionQueue), open: map[*section]*shard{}}
	o.startLease()
	return o, nil
}

// startLease starts a lease under a new name, and drops sections held under the old one.
func (o *sectionOwner) startLease() {
	old := o.lease.Swap(&nodeLease{name: o.config.Node + "/" + rand.Text(), validity: lease.NewValidity()})
	if old == nil {
		return
	}
	old.ended.Store(true)
	o.mu.Lock()
	var lost []*section
	for c := range o.open {
		if c.lease == old {
			lost = append(lost, c)
		}
	}
	o.mu.Unlock()
	for _, c := range lost {
		o.evict(c)
	}
}

// owns reports whether this node certainly owns a section now.
func (o *sectionOwner) owns(c *section) bool { return !c.closed.Load() && o.valid(c.lease) }

func (o *sectionOwner) valid(h *nodeLease) bool {
	return !h.ended.Load() && h.validity.Remaining(h.validity.Now(o.clock.Now())) > 0
}

// renew extends the lease, or starts a new one if there is none.
func (o *sectionOwner) renew(ctx context.Context) error {
	began := o.lease.Load()
	before := began.validity.Generation()
	return o.renewal.do(ctx, func() bool {
		return o.closed || o.lease.Load() != began || began.validity.Generation() == before // otherwise another caller did
	}, o.renewOnce)
}

func (o *sectionOwner) renewOnce(ctx context.Context) error {
	for {
		if o.closed {
			return errs.New(errs.Unavailable, "closing", "the server is stopping; reconnect")
		}
		h := o.lease.Load()
		from := h.validity.Now(o.clock.Now()) // before it is stored: others see it later
		all, alive, err := o.store.renew(ctx, h.name, !h.entered.Load(), o.isExpired)
		if err != nil {
			return err
		}
		o.recordHeartbeats(all)
		if !alive {
			o.logger.Warn("another node took over sequences, because this node did not renew its lease in time")
			o.startLease()
			continue
		}
		h.entered.Store(true)
		h.validity.Extend(from, o.config.Lease-o.config.Margin)
		return nil
	}
}

// recordHeartbeats records which holders have renewed.
func (o *sectionOwner) recordHeartbeats(all heartbeats) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.seen.Begin(now, 0)
	for holder, beat := range all {
		o.seen.Seen(holder, lease.Beat{Count: uint64(beat)}, now)
	}
}

// isExpired reports whether a holder has not renewed for so long that it must have stopped.
func (o *sectionOwner) isExpired(holder string, beat int64) bool {
	return o.config.Exclusive || o.remaining(holder, beat) <= 0
}

// remaining returns how long the lease of a holder that does not renew still lasts.
func (o *sectionOwner) remaining(holder string, beat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	return o.config.Lease - now.Sub(o.seen.Seen(holder, lease.Beat{Count: uint64(beat)}, now))
}

// acquire gets a section of a tag into its shard.
func (o *sectionOwner) acquire(ctx context.Context, s *shard, tag string, number, keys uint64) (*section, error) {
	for {
		h := o.lease.Load()
		if !o.valid(h) {
			if err := o.renew(ctx); err != nil {
				return nil, err
			}
			h = o.lease.Load()
		}
		got, err := o.store.acquire(ctx, tag, number, h.name, o.isExpired)
		switch {
		case err != nil:
			return nil, err
		case got.owner != "":
			return nil, &errs.Error{Kind: errs.Unavailable, Reason: "sequence_elsewhere", Message: "another node gives this sequence; ask that one, or try again",
				Retry: max(o.remaining(got.owner, got.beat), retryFirst)}
		case got.expired:
			if err := o.renew(ctx); err != nil { // its next renewal starts a new lease
				return nil, err
			}
			continue
		}
		if err := o.reservePage(nil); err != nil {
			return nil, err
		}
		c := &section{tag: tag, number: number, term: got.term, start: got.start, lease: h, raising: newSingleFlight(), made: 1,
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

// makePage adds a page for keys of a section.
func (o *sectionOwner) makePage(c *section, n uint64) error {
	if err := o.reservePage(c); err != nil {
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

// reservePage counts one more page. If there are too many, it evicts sections other than c, beginning with those unused for
// longest, until a sixteenth is free, so that not every call has to evict.
func (o *sectionOwner) reservePage(c *section) error {
	o.round.Add(1) // so that later uses count as more recent
	if o.pages.Add(1) <= o.config.MaxPages {
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
		if o.pages.Load() <= o.config.MaxPages-o.config.MaxPages/16 {
			break
		}
		o.evict(other)
	}
	if o.pages.Load() <= o.config.MaxPages {
		return nil
	}
	o.pages.Add(-1)
	return errMemory
}

// evict drops a section from memory. When it is acquired again, its numbers start above its bound.
func (o *sectionOwner) evict(c *section) {
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

// requestRaise asks Run to raise a section's bound.
func (o *sectionOwner) requestRaise(c *section, bound uint64) {
	select {
	case o.raiseRequests <- raiseRequest{c, bound}:
	default:
		c.asked.Store(false)
	}
}

// raise raises a section's bound to at least need, or finds that another node owns the section.
func (o *sectionOwner) raise(ctx context.Context, c *section, need uint64) error {
	return c.raising.do(ctx, func() bool { return c.bound.Load() < need && !c.closed.Load() }, func(ctx context.Context) error {
		old := c.bound.Load()
		next, own, err := o.store.raise(ctx, c.tag, c.number, c.term, old, c.tried, need)
		if err != nil {
			if !isAnswer(err) {
				c.tried = max(c.tried, next) // it may be stored
			}
			return err
		}
		if !own {
			o.evict(c)
			return nil
		}
		c.tried = next
		c.last.Store(next == old)
		c.bound.Store(next)
		return nil
	})
}

func (o *sectionOwner) run(ctx context.Context) error {
	var raising sync.WaitGroup
	for range raisers {
		raising.Go(func() { o.raiseRequested(ctx) })
	}
	tick := time.NewTicker(o.config.Lease / 5)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if !o.lease.Load().entered.Load() {
				continue // it has owned nothing yet
			}
			if err := o.renew(ctx); err != nil && ctx.Err() == nil {
				o.logger.Warn("sequences could not be renewed", "error", err)
			}
		}
	}
	raising.Wait()
	return o.releaseAll(context.WithoutCancel(ctx))
}

// releaseAll releases the lease, so that other nodes need not wait until it expires.
func (o *sectionOwner) releaseAll(ctx context.Context) error {
	err := o.renewal.do(ctx, func() bool { return true }, func(ctx context.Context) error {
		o.closed = true
		h := o.lease.Load()
		h.ended.Store(true)
		if !h.entered.Load() {
			return nil
		}
		return o.store.release(ctx, h.name)
	})
	if e := errs.Of(err); e != nil && e.Kind == errs.Unavailable {
		o.logger.Warn("sequences could not be released; other nodes wait until the lease expires", "error", errors.Unwrap(e))
		return nil
	}
	return err
}

func (o *sectionOwner) raiseRequested(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-o.raiseRequests:
			c := w.section
			err := o.raise(ctx, c, w.bound+1)
			c.asked.Store(false)
			if err != nil && ctx.Err() == nil && !errs.Is(err, errs.Exhausted) {
				o.logger.Warn("a sequence's bound could not be raised; the numbers below it are still issued", "tag", c.tag, "section", c.number, "error", err)
			}
		}
	}
}
