package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
)

// MultiPrimaryDeps of multi-primary ids. The order of the stores does not matter once they are set up.
type MultiPrimaryDeps struct {
	Stores []Records
	// Home are the node's own records, which give such ids where no stores are named: they leave it to Stores, so that nobody who
	// does not know of those begins anew. nil: there are none.
	Home   Records
	Logger *slog.Logger
}

// MultiPrimaryConfig of the choice among stores.
type MultiPrimaryConfig struct {
	// First is the store, counted from 0, that is asked while it answers. With another on each node the stores share the work.
	First int
	// Patience with a store that does not answer. 0: 2 s.
	Patience time.Duration
}

const (
	storesMost  = 64
	retryStores = time.Second
)

// MultiPrimary gives ids from N record stores that know nothing of each other: the store in place p gives the numbers of which
// the remainder by N is p, by one atomic update, and goes on while any one is alive. Numbers of one node rise: a store that is
// behind is told to pass what this node has given. Stores are set up by the first New, which needs all of them, and added by
// GrowMultiPrimary. The caller has seen to it that the tag exists.  All methods may be called from many goroutines.
type MultiPrimary struct {
	logger   *slog.Logger
	patience time.Duration
	stores   []*primary

	mu    sync.Mutex // guards what is below, and the stores' alive
	using int
	high  map[string]uint64 // the highest given, by tag
}

// primary is one of the stores.
type primary struct {
	store counters
	alive bool // it answered when it was last asked
}

// NewMultiPrimary opens stores. Where none is set up, all must answer, and are; else those that do not answer, or were not set
// up with the others, are left out until they are.
func NewMultiPrimary(ctx context.Context, deps MultiPrimaryDeps, config MultiPrimaryConfig) (*MultiPrimary, error) {
	n := len(deps.Stores)
	if n < 1 || n > storesMost || config.First < 0 || config.First >= n {
		return nil, errs.New(errs.Invalid, "bad_config", "multi-primary ids take 1 to 64 stores, and the first asked is one of them")
	}
	m := &MultiPrimary{logger: deps.Logger, patience: config.Patience, using: config.First, high: map[string]uint64{}}
	if m.patience == 0 {
		m.patience = 2 * time.Second
	}
	layouts := make([]layout, n)
	var failures []error
	for i, db := range deps.Stores {
		m.stores = append(m.stores, &primary{store: counters{db}})
		var err error
		if layouts[i], err = m.open(ctx, m.stores[i]); err != nil {
			failures = append(failures, fmt.Errorf("store %d: %w", i, err))
		}
	}
	if err := apartIn(layouts); err != nil {
		return nil, err
	}
	begun := slices.ContainsFunc(layouts, func(l layout) bool { return l.ceiling > 0 })
	half := slices.ContainsFunc(layouts, func(l layout) bool { return l.stride > 0 && l.ceiling == 0 })
	if begun && (!half || len(failures) > 0) {
		for i, l := range layouts {
			if l.ceiling == 0 {
				m.logger.Warn("a store of multi-primary ids does not answer, or is not set up with the others; it is left out", "store", i)
			}
		}
		return m, leave(ctx, deps.Home, layouts, false)
	}
	if len(failures) > 0 {
		return nil, errs.Wrap(errs.Unavailable, "ids_unavailable", "all stores of multi-primary ids must answer when they are set up", errors.Join(failures...))
	}
	if err := leave(ctx, deps.Home, layouts, !begun); err != nil {
		return nil, err
	}
	layouts, err := m.setUp(ctx)
	if err != nil {
		return nil, err
	}
	return m, leave(ctx, deps.Home, layouts, false)
}

// leave has a node's records leave ids to stores among which they are not. Fresh stores have no layout yet.
func leave(ctx context.Context, home Records, stores []layout, fresh bool) error {
	if home == nil {
		return nil
	}
	c := counters{home}
	own, err := c.layout(ctx)
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(stores, func(l layout) bool { return l.stride > 1 })
	unknown := slices.ContainsFunc(stores, func(l layout) bool { return l.stride == 0 }) // it may be the records
	alone := own.stride == 1 && own.ceiling > 0
	if own != retired && (alone && (several || fresh) || own.stride == 0 && !unknown) {
		return c.retire(ctx)
	}
	return nil
}

// open makes a store's tables where they are missing, and reads its layout.
func (m *MultiPrimary) open(ctx context.Context, p *primary) (l layout, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	if l, err = p.store.layout(ctx); err != nil { // perhaps it has no tables yet
		if _, err = openCounters(ctx, p.store.db); err == nil {
			l, err = p.store.layout(ctx)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.alive = err == nil && l.ceiling > 0
	return l, err
}

// setUp gives each store its place, and opens all when all have one of their own: nodes that do so at once, with the stores in
// another order, find out before a number is given.
func (m *MultiPrimary) setUp(ctx context.Context) ([]layout, error) {
	layouts := make([]layout, len(m.stores))
	for i, p := range m.stores {
		var err error
		if layouts[i], err = p.store.place(ctx, layout{generation: 1, place: uint64(i), stride: uint64(len(m.stores))}); err != nil {
			return nil, err
		}
		if layouts[i].stride != uint64(len(m.stores)) {
			return nil, errs.New(errs.Invalid, "bad_config", "the stores of multi-primary ids were set up with others; add stores by growing the set")
		}
	}
	if err := apartIn(layouts); err != nil {
		return nil, err
	}
	for i, p := range m.stores {
		if layouts[i].ceiling > 0 {
			continue
		}
		to := layouts[i]
		to.ceiling = most
		if err := p.store.relay(ctx, layouts[i], to); err != nil {
			return nil, err
		}
		p.alive = true
	}
	return layouts, nil
}

// apartIn refuses stores of which two have one place.
func apartIn(layouts []layout) error {
	if len(layouts) > 1 && slices.Contains(layouts, retired) {
		return errs.New(errs.Invalid, "bad_config", "one of the stores left multi-primary ids to others, for good; take another database in its place")
	}
	places := map[layout]bool{}
	for _, l := range layouts {
		at := layout{generation: l.generation, place: l.place}
		if l.stride > 0 && places[at] {
			return errs.New(errs.Invalid, "bad_config", fmt.Sprintf("two stores of multi-primary ids have the place %d: nodes set them up in different orders; if no id was given yet, empty their tables id_primary, and give all nodes one order", l.place))
		}
		places[at] = true
	}
	return nil
}

// Fill gives len(dst) ids of a tag, rising, from one store.
func (m *MultiPrimary) Fill(ctx context.Context, tag string, dst []uint64) error {
	if len(dst) == 0 {
		return nil
	}
	if len(dst) > batchMost || !tagName.MatchString(tag) {
		return badBatch()
	}
	m.mu.Lock()
	first, above := m.using, m.high[tag]
	m.mu.Unlock()
	var failures []error
	for _, evenDead := range []bool{false, true} {
		for i := range m.stores {
			at := (first + i) % len(m.stores)
			p := m.stores[at]
			if m.isAlive(p) == evenDead {
				continue
			}
			from, stride, err := m.ask(ctx, p, tag, len(dst), above)
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), err)
			}
			if errors.Is(err, errElsewhere) {
				return err
			}
			m.note(at, err == nil)
			if err != nil {
				failures = append(failures, fmt.Errorf("store %d: %w", at, err))
				continue
			}
			for k := range dst {
				dst[k] = from + uint64(k)*stride
			}
			m.given(tag, dst[len(dst)-1])
			return nil
		}
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: "none of the stores of multi-primary ids answers; try again", Retry: retryStores, Cause: errors.Join(failures...)}
}

// Next gives an id.
func (m *MultiPrimary) Next(ctx context.Context, tag string) (uint64, error) {
	var one [1]uint64
	err := m.Fill(ctx, tag, one[:])
	return one[0], err
}

func (m *MultiPrimary) ask(ctx context.Context, p *primary, tag string, n int, above uint64) (from, stride uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	return p.store.takePlaces(ctx, tag, uint64(n), above)
}

func (m *MultiPrimary) isAlive(p *primary) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return p.alive
}

// note goes on with a store that answered; one that did not is asked again by Run.
func (m *MultiPrimary) note(at int, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores[at].alive = answered
	if answered {
		m.using = at
	}
}

func (m *MultiPrimary) given(tag string, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.high[tag] = max(m.high[tag], n)
}

// Run asks stores that did not answer again, until ctx ends.
func (m *MultiPrimary) Run(ctx context.Context) error {
	tick := time.NewTicker(retryStores)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for i, p := range m.stores {
			if ctx.Err() != nil || m.isAlive(p) {
				continue
			}
			if l, err := m.open(ctx, p); err == nil && l.ceiling > 0 {
				m.logger.Info("a store of multi-primary ids answers again", "store", i)
			}
		}
	}
}
