package cache

import (
	"context"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
)

// flight is a load of one key. As long as it is the flight of its key, it holds the lease: what it loads is kept.
type flight[V any] struct {
	done   chan struct{} // closed once result or err is set
	result entry[V]
	err    error

	primary  bool     // the primary is to be read
	old      entry[V] // the copy that a load replaces
	hasOld   bool
	token    string // the lease at the server; "" is none
	stamp    uint64 // generation of the server when the lease was granted
	unfilled bool   // the server was not asked, and nothing is kept there
	kept     bool   // by land: the flight still had the lease in this process
}

// maxPrimary bounds the keys of a shard that are loaded from the primary.
const maxPrimary = 4096

// shard has the flights of some keys.
type shard[K ~uint64, V any] struct {
	mu         sync.Mutex       // guards all fields, and the order of copies and invalidations in this process
	flights    map[K]*flight[V] // by key
	primary    map[K]int64      // keys that were invalidated, and until when they are loaded from the primary, in ms
	allPrimary int64            // until then all keys are
}

func (c *Cache[K, V]) shardOf(key K) *shard[K, V] {
	return &c.shards[id.Hash(uint64(key))%shardCount]
}

// join returns a flight for each key that has no fresh copy by now, and starts those that are missing, as part of the caller's trace.
func (c *Cache[K, V]) join(ctx context.Context, keys []K, now int64) map[K]*flight[V] {
	flights, started := make(map[K]*flight[V], len(keys)), map[K]*flight[V]{}
	for _, key := range keys {
		if flights[key] != nil {
			continue // the key is in the list twice
		}
		s := c.shardOf(key)
		s.mu.Lock()
		f := s.flights[key]
		switch e, ok := c.copyOf(key); {
		case f != nil:
			c.metrics.joined.Inc()
		case ok && now < e.freshUntil: // another flight has landed meanwhile
			f = &flight[V]{done: make(chan struct{}), result: e}
			close(f.done)
		default:
			f = &flight[V]{done: make(chan struct{}), primary: s.mustReadPrimary(key, now), old: e, hasOld: ok}
			s.flights[key], started[key] = f, f
		}
		s.mu.Unlock()
		flights[key] = f
	}
	if len(started) > 0 {
		ctx := tracing.Adopt(context.Background(), ctx) // not of a caller: others wait for the same keys
		c.loading.Go(func() { c.fly(ctx, started) })
	}
	return flights
}

// mustReadPrimary reports whether a key was invalidated a short time ago. The caller holds the lock.
func (s *shard[K, V]) mustReadPrimary(key K, now int64) bool {
	until, ok := s.primary[key]
	if ok && now >= until {
		delete(s.primary, key)
	}
	return now < until || now < s.allPrimary
}

// land ends a flight with its result, which is kept if the flight still has the lease.
func (c *Cache[K, V]) land(key K, f *flight[V], e entry[V]) {
	s := c.shardOf(key)
	s.mu.Lock()
	if f.kept = s.flights[key] == f; f.kept {
		delete(s.flights, key)
		c.keep(key, e)
	}
	s.mu.Unlock()
	f.result = e
	close(f.done)
}

// fail ends a flight whose load failed: with the copy that it should replace, if that was not invalidated and is not too old.
func (c *Cache[K, V]) fail(key K, f *flight[V], err error) {
	s, now := c.shardOf(key), c.nowMs()
	s.mu.Lock()
	current := s.flights[key] == f
	if current {
		delete(s.flights, key)
	}
	if stale := current && f.hasOld && now < f.old.keptTill; stale {
		f.result = f.old
		f.result.freshUntil = min(now+retryStale.Milliseconds(), f.old.keptTill)
		c.keep(key, f.result)
		c.metrics.stale.Inc()
	} else {
		f.err = err
	}
	s.mu.Unlock()
	close(f.done)
}

// Invalidate forgets the copies of keys, here and at the server. Call it after the commit of a change, and before it is answered. Other nodes
// forget theirs when they get the event. It does not fail: while the server cannot be told, this node does not use its copies of the keys.
func (c *Cache[K, V]) Invalidate(ctx context.Context, keys ...K) {
	if c.deps.Shared == nil {
		c.forget(keys)
		return
	}
	added := c.owed.add(keys) // first: a load that begins after forget must not use a copy of the server
	c.forget(keys)
	c.pay(ctx, added)
}

// invalidateLater is Invalidate that does not wait for the server.
func (c *Cache[K, V]) invalidateLater(keys ...K) {
	if c.deps.Shared != nil {
		c.owed.add(keys)
		c.owed.signal()
	}
	c.forget(keys)
}

// forget forgets the copies and leases in this process.
func (c *Cache[K, V]) forget(keys []K) {
	until := c.nowMs() + primaryTime.Milliseconds()
	for _, key := range keys {
		s := c.shardOf(key)
		s.mu.Lock()
		delete(s.flights, key) // those who come now start another
		if len(s.primary) >= maxPrimary {
			s.allPrimary = until
			clear(s.primary)
		}
		s.primary[key] = until
		c.local.Invalidate(key)
		c.negative.Invalidate(key)
		s.mu.Unlock()
		c.metrics.invalidated.Inc()
	}
}

// invalidateAll forgets everything, here and at the server: events may have been missed.
func (c *Cache[K, V]) invalidateAll() {
	if c.deps.Shared != nil {
		c.owed.addAll() // first: from now on the server's copies are not used
	}
	until := c.nowMs() + primaryTime.Milliseconds()
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		clear(s.flights)
		clear(s.primary)
		s.allPrimary = until
		s.mu.Unlock()
	}
	for _, part := range []interface{ InvalidateAll() }{c.local, c.negative} {
		part.InvalidateAll() // a load that began after the loop has read what is new
	}
	c.owed.signal()
}

// keysOf returns the keys of flights, in order.
func keysOf[K ~uint64, V any](flights map[K]*flight[V]) []K {
	keys := make([]K, 0, len(flights))
	for key := range flights {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
