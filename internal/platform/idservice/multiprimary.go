package idservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// MultiPrimaryDeps are the dependencies of multi-primary ids. The order of the stores does not matter once they are set up.
type MultiPrimaryDeps struct {
	Stores []Records
	// Home is the node's own database, which issues such ids if no stores are configured. If there are Stores, it is retired, so that a
	// node without this setting does not restart the numbers. nil: there is none.
	Home   Records
	Logger *slog.Logger
}

// MultiPrimaryConfig configures the choice of a store.
type MultiPrimaryConfig struct {
	// First is the index of the store that is used while it answers. With different values on the nodes, the stores share the load.
	First int
	// Timeout of a store. 0: 2 s.
	Timeout time.Duration
}

const (
	maxStores          = 64
	storeRetryInterval = time.Second
)

// MultiPrimary issues ids from N record stores that do not communicate: the store in place p issues the numbers with remainder p modulo
// N, by one atomic update, and any one of them is enough. Numbers of one node increase: a store that is behind is raised above what this
// node has issued. The first New sets up the stores, and needs all of them; GrowMultiPrimary adds stores. The caller must have checked
// that the tag exists. All methods are safe for concurrent use.
type MultiPrimary struct {
	logger  *slog.Logger
	timeout time.Duration
	stores  []*primary

	mu      sync.Mutex // guards the fields below, and alive of the stores
	using   int
	highest map[string]uint64 // the highest issued number, by tag
}

// primary is one of the stores.
type primary struct {
	store counters
	alive bool // it answered the last call
}

// NewMultiPrimary opens stores. If none is set up, all must answer, and are set up. Otherwise, stores that do not answer, or do not
// belong to the set, are skipped until they do.
func NewMultiPrimary(ctx context.Context, deps MultiPrimaryDeps, config MultiPrimaryConfig) (*MultiPrimary, error) {
	n := len(deps.Stores)
	if n < 1 || n > maxStores || config.First < 0 || config.First >= n {
		return nil, errs.New(errs.Invalid, "bad_config", "multi-primary ids need 1 to 64 stores, and First must be one of them")
	}
	m := &MultiPrimary{logger: deps.Logger, timeout: config.Timeout, using: config.First, highest: map[string]uint64{}}
	if m.timeout == 0 {
		m.timeout = 2 * time.Second
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
	if err := checkDistinctPlaces(layouts); err != nil {
		return nil, err
	}
	begun := slices.ContainsFunc(layouts, func(l layout) bool { return l.ceiling > 0 })
	half := slices.ContainsFunc(layouts, func(l layout) bool { return l.stride > 0 && l.ceiling == 0 })
	if begun && (!half || len(failures) > 0) {
		for i, l := range layouts {
			if l.ceiling == 0 {
				m.logger.Warn("a store of multi-primary ids does not answer, or does not belong to the set; it is skipped", "store", i)
			}
		}
		return m, retireHome(ctx, deps.Home, layouts, false)
	}
	if len(failures) > 0 {
		return nil, errs.Wrap(errs.Unavailable, "ids_unavailable", "all stores of multi-primary ids must answer when they are set up", errors.Join(failures...))
	}
	if err := retireHome(ctx, deps.Home, layouts, !begun); err != nil {
		return nil, err
	}
	layouts, err := m.setUp(ctx)
	if err != nil {
		return nil, err
	}
	return m, retireHome(ctx, deps.Home, layouts, false)
}

// retireHome retires the node's own database from giving ids if it is not one of the stores. fresh: the stores have no layout
// yet.
func retireHome(ctx context.Context, home Records, stores []layout, fresh bool) error {
	if home == nil {
		return nil
	}
	c := counters{home}
	own, err := c.layout(ctx)
	if err != nil {
		return err
	}
	several := slices.ContainsFunc(stores, func(l layout) bool { return l.stride > 1 })
	unknown := slices.ContainsFunc(stores, func(l layout) bool { return l.stride == 0 }) // it may be the home database
	alone := own.stride == 1 && own.ceiling > 0
	if own != retired && (alone && (several || fresh) || own.stride == 0 && !unknown) {
		return c.retire(ctx)
	}
	return nil
}

// open creates a store's tables if they are missing, and reads its layout.
func (m *MultiPrimary) open(ctx context.Context, p *primary) (l layout, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	if l, err = p.store.layout(ctx); err != nil { // it may have no tables yet
		if _, err = openCounters(ctx, p.store.db); err == nil {
			l, err = p.store.layout(ctx)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.alive = err == nil && l.ceiling > 0
	return l, err
}

// setUp assigns a place to each store, and opens all stores when each has its own place: nodes that do this concurrently, with the stores
// in another order, discover this before a number is issued.
func (m *MultiPrimary) setUp(ctx context.Context) ([]layout, error) {
	layouts := make([]layout, len(m.stores))
	for i, p := range m.stores {
		var err error
		if layouts[i], err = p.store.initLayout(ctx, layout{generation: 1, place: uint64(i), stride: uint64(len(m.stores))}); err != nil {
			return nil, err
		}
		if layouts[i].stride != uint64(len(m.stores)) {
			return nil, errs.New(errs.Invalid, "bad_config", "the stores of multi-primary ids belong to a different set; to add stores, grow the set")
		}
	}
	if err := checkDistinctPlaces(layouts); err != nil {
		return nil, err
	}
	for i, p := range m.stores {
		if layouts[i].ceiling > 0 {
			continue
		}
		to := layouts[i]
		to.ceiling = maxNumber
		if err := p.store.changeLayout(ctx, layouts[i], to); err != nil {
			return nil, err
		}
		p.alive = true
	}
	return layouts, nil
}

// checkDistinctPlaces rejects a set in which two stores have the same place.
func checkDistinctPlaces(layouts []layout) error {
	if len(layouts) > 1 && slices.Contains(layouts, retired) {
		return errs.New(errs.Invalid, "bad_config", "one of the stores has retired from multi-primary ids permanently; use another database instead")
	}
	places := map[layout]bool{}
	for _, l := range layouts {
		at := layout{generation: l.generation, place: l.place}
		if l.stride > 0 && places[at] {
			return errs.New(errs.Invalid, "bad_config", fmt.Sprintf("two stores of multi-primary ids have the place %d, because nodes set them up in different orders; if no id was issued yet, empty their tables id_primary, and configure the same order on all nodes", l.place))
		}
		places[at] = true
	}
	return nil
}

// Fill returns len(dst) ids of a tag, increasing, from one store.
func (m *MultiPrimary) Fill(ctx context.Context, tag string, dst []uint64) error {
	if len(dst) == 0 {
		return nil
	}
	if len(dst) > maxBatch || !tagName.MatchString(tag) {
		return errBadBatch()
	}
	m.mu.Lock()
	first, above := m.using, m.highest[tag]
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
			m.recordAnswer(at, err == nil)
			if err != nil {
				failures = append(failures, fmt.Errorf("store %d: %w", at, err))
				continue
			}
			for k := range dst {
				dst[k] = from + uint64(k)*stride
			}
			m.recordIssued(tag, dst[len(dst)-1])
			return nil
		}
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: "none of the stores of multi-primary ids answers; try again", Retry: storeRetryInterval, Cause: errors.Join(failures...)}
}

// Next returns an id.
func (m *MultiPrimary) Next(ctx context.Context, tag string) (uint64, error) {
	var one [1]uint64
	err := m.Fill(ctx, tag, one[:])
	return one[0], err
}

func (m *MultiPrimary) ask(ctx context.Context, p *primary, tag string, n int, above uint64) (from, stride uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	return p.store.reserveStride(ctx, tag, uint64(n), above)
}

func (m *MultiPrimary) isAlive(p *primary) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return p.alive
}

// recordAnswer records whether a store answered. Run probes a store that did not.
func (m *MultiPrimary) recordAnswer(at int, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores[at].alive = answered
	if answered {
		m.using = at
	}
}

func (m *MultiPrimary) recordIssued(tag string, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.highest[tag] = max(m.highest[tag], n)
}

// Run probes stores that did not answer, until ctx ends.
func (m *MultiPrimary) Run(ctx context.Context) error {
	tick := time.NewTicker(storeRetryInterval)
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
