package idservice

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// growthSlack is how many numbers the old stores may still issue while the set grows. After that they wait until it is done.
const growthSlack = 10_000_000

// GrowMultiPrimary adds stores to a set of multi-primary ids. stores lists all of them, old and empty ones, and all must answer. Ids can be
// issued meanwhile. The set moves to the next generation:
//
//  1. All old stores agree on a ceiling that none has passed. They continue below it, in steps of N.
//  2. When all have agreed, the new stores get their places, above the ceiling, but are still closed.
//  3. Each old store continues above the ceiling, in steps of M; then the new ones are opened.
//
// Numbers up to the ceiling are distinct by their remainder modulo N, those above by their remainder modulo M. An interrupted growth
// continues when it is called again. Nodes that do not know the new stores yet continue with the old ones. A set cannot shrink, and a
// lost store cannot be replaced by an empty one, which would repeat the lost one's numbers: the others continue without it.
func GrowMultiPrimary(ctx context.Context, stores []Records) error {
	g := growth{stores: make([]counters, len(stores)), layouts: make([]layout, len(stores))}
	if len(stores) > maxStores {
		return errs.New(errs.Invalid, "bad_config", "multi-primary ids take 1 to 64 stores")
	}
	for i, db := range stores {
		var err error
		if g.stores[i], err = openCounters(ctx, db); err == nil {
			g.layouts[i], err = g.stores[i].layout(ctx)
		}
		if err != nil {
			return errs.Wrap(errs.Unavailable, "ids_unavailable", "all stores of multi-primary ids must answer while the set grows", fmt.Errorf("store %d: %w", i, err))
		}
	}
	if err := g.plan(ctx); err != nil {
		return err
	}
	return g.apply(ctx)
}

// growth from one generation to the next.
type growth struct {
	stores  []counters
	layouts []layout
	to      int64 // generation
	ceiling uint64
}

func (g *growth) plan(ctx context.Context) error {
	if err := checkDistinctPlaces(g.layouts); err != nil {
		return err
	}
	var lo, hi layout // of the lowest and the highest generation
	known, highest := uint64(0), uint64(0)
	for i, l := range g.layouts {
		last, err := g.stores[i].highest(ctx)
		if err != nil {
			return err
		}
		highest = max(highest, last, l.above)
		if l.stride == 0 {
			continue
		}
		if known == 0 || l.generation < lo.generation {
			lo = l
		}
		if l.generation > hi.generation {
			hi = l
		}
		known++
	}
	m := uint64(len(g.layouts))
	switch {
	case known == 0:
		return errs.New(errs.Invalid, "bad_config", "none of the stores is set up for multi-primary ids; there is nothing to grow")
	case hi.generation > lo.generation || hi.stride == m && known == m: // it was begun, or is complete
		if hi.stride != m {
			return errs.New(errs.Invalid, "bad_config", fmt.Sprintf("a growth to %d stores was begun; finish it with those", hi.stride))
		}
		g.to, g.ceiling = hi.generation, hi.above
		return nil
	case known != lo.stride || m < known:
		return errs.New(errs.Invalid, "bad_config", fmt.Sprintf("growing a set needs all of its %d stores; %d of them are given", lo.stride, known))
	}
	g.to, g.ceiling = lo.generation+1, highest+growthSlack
	agreed := uint64(0)
	for _, l := range g.layouts {
		if l.ceiling < maxNumber {
			agreed = max(agreed, l.ceiling)
		}
	}
	if agreed > 0 { // another growth has begun, and may be in progress: then it is the same one
		g.ceiling = agreed
	}
	return nil
}

func (g *growth) apply(ctx context.Context) error {
	for i, l := range g.layouts {
		if l.stride == 0 || l.generation == g.to {
			continue
		}
		capped := l
		capped.ceiling = g.ceiling
		if err := g.stores[i].changeLayout(ctx, l, capped); err != nil {
			return err
		}
		g.layouts[i] = capped
	}
	if err := g.placeNew(ctx); err != nil {
		return err
	}
	for i, l := range g.layouts {
		to := layout{generation: g.to, place: l.place, stride: uint64(len(g.layouts)), above: g.ceiling, ceiling: maxNumber}
		if l == to || g.isNew(l) {
			continue
		}
		if err := g.stores[i].changeLayout(ctx, l, to); err != nil {
			return err
		}
	}
	for i, l := range g.layouts {
		if !g.isNew(l) {
			continue
		}
		to := l
		to.ceiling = maxNumber
		if err := g.stores[i].changeLayout(ctx, l, to); err != nil {
			return err
		}
	}
	return nil
}

// isNew reports whether a store has its place, but is still closed.
func (g *growth) isNew(l layout) bool {
	return l.generation == g.to && l.ceiling == l.above && l.above == g.ceiling
}

// placeNew assigns the free places to the stores without one.
func (g *growth) placeNew(ctx context.Context) error {
	taken := map[uint64]bool{}
	for _, l := range g.layouts {
		if l.stride > 0 {
			taken[l.place] = true
		}
	}
	free := uint64(0)
	for i, l := range g.layouts {
		if l.stride > 0 {
			continue
		}
		for taken[free] {
			free++
		}
		taken[free] = true
		want := layout{generation: g.to, place: free, stride: uint64(len(g.layouts)), above: g.ceiling, ceiling: g.ceiling}
		stored, err := g.stores[i].initLayout(ctx, want)
		if err != nil {
			return err
		}
		if stored != want {
			return errs.New(errs.Conflict, "growing", "the stores of multi-primary ids changed meanwhile; grow them again")
		}
		g.layouts[i] = stored
	}
	return nil
}
