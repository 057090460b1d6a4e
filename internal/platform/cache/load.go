package cache

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// fly loads the keys of flights, from the server or from the database. All of them land or fail.
func (c *Cache[K, V]) fly(ctx context.Context, flights map[K]*flight[V]) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if c.deps.Shared == nil {
		c.loadAll(ctx, flights)
		return
	}
	wait := backoff.New(2*time.Millisecond, 50*time.Millisecond)
	for deadline := time.Now().Add(leaseTime); len(flights) > 0; {
		c.useShared(ctx, flights)
		granted := take(flights, func(f *flight[V]) bool { return f.token != "" || f.unfilled })
		c.loadAll(ctx, granted)
		if len(flights) == 0 {
			return
		}
		// Other nodes load the rest. They keep it at the server, or their leases end.
		if time.Now().After(deadline) || wait.Wait(ctx) != nil {
			c.metrics.leaseTimeouts.Add(float64(len(flights)))
			c.loadAll(ctx, flights)
			return
		}
	}
}

// take removes some flights from a map and returns them.
func take[K ~uint64, V any](flights map[K]*flight[V], which func(*flight[V]) bool) map[K]*flight[V] {
	taken := map[K]*flight[V]{}
	for key, f := range flights {
		if which(f) {
			taken[key] = f
			delete(flights, key)
		}
	}
	return taken
}

// useShared lands the flights whose keys have fresh copies at the server, and asks for the leases of the others. Without the server, the flights
// load without one.
func (c *Cache[K, V]) useShared(ctx context.Context, flights map[K]*flight[V]) {
	usable := maps.Clone(flights)
	owed := c.owed.which(keysOf(usable))
	maps.DeleteFunc(usable, func(key K, f *flight[V]) bool {
		f.unfilled = owed[key]
		f.primary = f.primary || owed[key]
		return owed[key]
	})
	keys := keysOf(usable)
	if len(keys) == 0 {
		return
	}
	stamp, copies, err := c.deps.Shared.get(ctx, c.config.Name, numbers(keys))
	if err != nil {
		c.withoutShared(usable)
		return
	}
	now := c.nowMs()
	for i, key := range keys {
		e, ok := c.decode(copies[i], stamp)
		switch f := usable[key]; {
		case !ok:
		case now < e.freshUntil:
			delete(usable, key)
			delete(flights, key)
			c.metrics.shared.Inc()
			c.land(key, f, e)
		case !f.hasOld || f.old.keptTill < e.keptTill:
			f.old, f.hasOld = e, true
		}
	}
	if keys = keysOf(usable); len(keys) == 0 {
		return
	}
	leases, err := c.deps.Shared.lease(ctx, c.config.Name, numbers(keys))
	if err != nil {
		c.withoutShared(usable)
		return
	}
	var filled []K // by another node, since this one has asked
	for i, key := range keys {
		f := usable[key]
		f.token, f.stamp = leases[i].token, stamp
		f.primary = f.primary || leases[i].primary
		if e, ok := c.decode(leases[i].copy, stamp); ok && now < e.freshUntil {
			delete(flights, key)
			filled = append(filled, key)
			c.metrics.shared.Inc()
			c.land(key, f, e)
			f.kept = false // nothing is to be filled
		}
	}
	c.fillShared(ctx, filled, usable)
}

func (c *Cache[K, V]) withoutShared(flights map[K]*flight[V]) {
	for _, f := range flights {
		f.unfilled = true
	}
	c.metrics.sharedFailed.Inc()
}

// loadAll loads the keys of flights from the database.
func (c *Cache[K, V]) loadAll(ctx context.Context, flights map[K]*flight[V]) {
	for _, primary := range []bool{false, true} {
		some := take(flights, func(f *flight[V]) bool { return f.primary == primary })
		for keys := range slices.Chunk(keysOf(some), maxLoad) {
			c.load(ctx, keys, some, primary)
		}
	}
}

// load loads keys with one call, and ends their flights.
func (c *Cache[K, V]) load(ctx context.Context, keys []K, flights map[K]*flight[V], primary bool) {
	values, err := c.callLoad(ctx, keys, primary)
	if err != nil {
		c.metrics.loadFailed.Inc()
	}
	for _, key := range keys {
		f := flights[key]
		if err != nil {
			c.fail(key, f, err)
			continue
		}
		value, found := values[key]
		c.land(key, f, c.loaded(value, found))
	}
	c.fillShared(ctx, keys, flights)
}

func (c *Cache[K, V]) callLoad(ctx context.Context, keys []K, primary bool) (map[K]V, error) {
	if err := c.loads.Acquire(ctx, 1); err != nil {
		return nil, errs.Wrap(errs.Unavailable, "busy", "the server is busy; try again", err)
	}
	defer c.loads.Release(1)
	c.metrics.loads.Inc()
	c.metrics.loadedKeys.Add(float64(len(keys)))
	return c.config.Load(ctx, keys, primary)
}

// fillShared keeps what was loaded at the server, for the flights that still had the lease here, and still have it there. It ends all leases.
func (c *Cache[K, V]) fillShared(ctx context.Context, keys []K, flights map[K]*flight[V]) {
	if c.deps.Shared == nil {
		return
	}
	var fills []fill
	for _, key := range keys {
		f := flights[key]
		if f.token == "" {
			continue
		}
		one := fill{key: uint64(key), token: f.token, stamp: f.stamp}
		if f.kept {
			body, err := c.encode(f.result, f.stamp)
			if err != nil {
				c.deps.Logger.Error("a value cannot be kept in the shared cache", "cache", c.config.Name, "key", uint64(key), "error", err)
			} else {
				one.body, one.forMs = body, max(f.result.keptTill-c.nowMs(), 1)
			}
		}
		fills = append(fills, one)
	}
	if err := c.deps.Shared.fill(ctx, c.config.Name, fills); err != nil {
		c.metrics.sharedFailed.Inc() // the leases end by themselves
	}
}

func numbers[K ~uint64](keys []K) []uint64 {
	list := make([]uint64, len(keys))
	for i, key := range keys {
		list[i] = uint64(key)
	}
	return list
}
