// Package cache keeps copies of rows in memory, and in a Redis or Valkey server if there is one, so that the database is read once for many
// readers.
//
// A Cache is read-through: a caller asks for keys, and a function of the rows' owner loads the missing ones. Concurrent readers of a
// key share one load, on all nodes if there is a server. A copy is fresh for ten seconds and then loaded again; while the database fails, it is
// served for up to a day. Negative results (a row does not exist) are cached as well, in a separate space.
//
// A writer of a row adds an event to the transaction (Invalidations.Add) and calls Invalidate after the commit. Each node gets the event, even
// if the writer has crashed. After an invalidation no copy that was read before it is kept:
//
//   - A load is a lease. An invalidation revokes the leases of its keys, in the process and at the server. What a load without a lease has
//     read goes to the callers that wait for it, and is not cached.
//   - For half a minute after an invalidation, the key is loaded from the primary, and not from a replica that may lag.
//   - While the server cannot be told of an invalidation, this node reads the key from the database.
//
// A cache may use base packages, Redis and clusterevent, and no database. All methods are safe for concurrent use.
package cache

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
)

// Deps are the dependencies of a Cache.
type Deps struct {
	Clock   clock.Clock
	Logger  *slog.Logger
	Metrics *Metrics
	// Shared is the server that all nodes share. If nil, copies are in this process only.
	Shared *Shared
}

// Config of a Cache. The zero value of a number is the documented default.
type Config[K ~uint64, V any] struct {
	// Name of the cache, in lower case letters. It is part of the keys at the server, in events and in metrics.
	Name string
	// Load reads rows by their keys, at most maxLoad. Keys that it does not return do not exist. It must read the primary if primary is set, and
	// may read a replica otherwise.
	Load func(ctx context.Context, keys []K, primary bool) (map[K]V, error)
	// Encode and Decode are the form of values at the server. Both may be nil if there is none. A change of the form needs another Name.
	Encode func(V) ([]byte, error)
	Decode func([]byte) (V, error)
	// Size returns the bytes of a value in memory. If nil, values have none worth counting.
	Size func(V) int
	// MaxBytes is how much values take in this process, each with 128 bytes more than its Size; default 16 MiB. Those that are asked for most stay.
	MaxBytes int
	// Fresh is how long a copy is served without a load, more or less by a tenth; default 10s. Also how long it is known that a key does not exist.
	Fresh time.Duration
	// Stale is how long a copy is served while loads fail; default 24h.
	Stale time.Duration
	// MaxLoads is how many calls of Load are in progress; default 32. Further ones wait.
	MaxLoads int
}

const (
	maxLoad     = 200 // keys of one call of Load
	loadTimeout = 5 * time.Second
	// retryStale is how long a copy that was served because a load failed is served without another load.
	retryStale = time.Second
	// primaryTime is how long after an invalidation a key is loaded from the primary. Replicas lag less, or are not used.
	primaryTime = 30 * time.Second
	shardCount  = 32
	// entryBytes is what an entry takes beside its value.
	entryBytes = 128
	// negativeShare of MaxBytes is for keys that are known not to exist. They cannot displace values.
	negativeShare = 4
)

// entry is a copy of a value, or of the fact that there is none.
type entry[V any] struct {
	value                V
	found                bool
	freshUntil, keptTill int64 // in ms
}

// Cache keeps copies of values by key.
type Cache[K ~uint64, V any] struct {
	deps     Deps
	config   Config[K, V]
	local    *otter.Cache[K, entry[V]] // values
	negative *otter.Cache[K, entry[V]] // keys that do not exist
	shards   [shardCount]shard[K, V]
	loads    *semaphore.Weighted
	loading  sync.WaitGroup // goroutines that load
	owed     owed[K]        // what the server must be told
	metrics  *cacheMetrics
}

// New returns an empty cache.
func New[K ~uint64, V any](deps Deps, config Config[K, V]) (*Cache[K, V], error) {
	config.MaxBytes = cmp.Or(config.MaxBytes, 16<<20)
	config.Fresh = cmp.Or(config.Fresh, 10*time.Second)
	config.Stale = max(cmp.Or(config.Stale, 24*time.Hour), config.Fresh)
	config.MaxLoads = cmp.Or(config.MaxLoads, 32)
	if config.Name == "" || config.Load == nil || deps.Shared != nil && (config.Encode == nil || config.Decode == nil) {
		return nil, fmt.Errorf("cache %q: Name and Load are needed, and with a shared server Encode and Decode", config.Name)
	}
	c := &Cache[K, V]{deps: deps, config: config, loads: semaphore.NewWeighted(int64(config.MaxLoads)), metrics: deps.Metrics.of(config.Name), owed: newOwed[K]()}
	for i := range c.shards {
		c.shards[i].flights, c.shards[i].primary = map[K]*flight[V]{}, map[K]int64{}
	}
	var err error
	if c.local, err = otter.New(&otter.Options[K, entry[V]]{MaximumWeight: uint64(config.MaxBytes), Weigher: c.weight}); err == nil {
		c.negative, err = otter.New(&otter.Options[K, entry[V]]{MaximumSize: max(config.MaxBytes/entryBytes/negativeShare, 1)})
	}
	return c, err
}

// weight returns the bytes that an entry takes in this process.
func (c *Cache[K, V]) weight(_ K, e entry[V]) uint32 {
	n := entryBytes
	if c.config.Size != nil {
		n += c.config.Size(e.value)
	}
	return uint32(min(n, math.MaxInt32))
}

// Run tells the server of invalidations that it could not be told at once, until ctx ends. It then waits for the loads in progress.
func (c *Cache[K, V]) Run(ctx context.Context) error {
	if c.deps.Shared != nil {
		c.payOwed(ctx)
	}
	<-ctx.Done()
	c.loading.Wait()
	c.local.StopAllGoroutines()
	c.negative.StopAllGoroutines()
	return nil
}

// Get returns a value, and whether it exists.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, found bool, err error) {
	if e, ok := c.fresh(key, c.nowMs()); ok {
		return e.value, e.found, nil
	}
	values, err := c.GetMany(ctx, []K{key})
	value, found = values[key]
	return value, found, err
}

// GetMany returns the values of keys that exist. If one cannot be read, it fails.
func (c *Cache[K, V]) GetMany(ctx context.Context, keys []K) (map[K]V, error) {
	values, now := make(map[K]V, len(keys)), c.nowMs()
	var missing []K
	for _, key := range keys {
		if e, ok := c.fresh(key, now); !ok {
			missing = append(missing, key)
		} else if e.found {
			values[key] = e.value
		}
	}
	if len(missing) == 0 {
		return values, nil
	}
	ctx, span := tracing.Start(ctx, "cache.load", trace.SpanKindInternal)
	span.Text("rialto.cache", c.config.Name)
	span.Int("rialto.cache.missing", len(missing))
	values, err := c.await(ctx, values, c.join(ctx, missing, now))
	span.End(err)
	return values, err
}

// await adds the values of flights to values, once they have landed. If one has failed, it fails.
func (c *Cache[K, V]) await(ctx context.Context, values map[K]V, flights map[K]*flight[V]) (map[K]V, error) {
	var faults error
	for key, f := range flights {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f.err != nil {
			faults = cmp.Or(faults, f.err)
		} else if f.result.found {
			values[key] = f.result.value
		}
	}
	if faults != nil {
		return nil, faults
	}
	return values, nil
}

// Warm loads what is missing, ahead of readers.
func (c *Cache[K, V]) Warm(ctx context.Context, keys []K) error {
	_, err := c.GetMany(ctx, keys)
	return err
}

// fresh returns the copy of a key in this process, if it need not be loaded.
func (c *Cache[K, V]) fresh(key K, now int64) (entry[V], bool) {
	e, ok := c.copyOf(key)
	if !ok || now >= e.freshUntil {
		return e, false
	}
	c.metrics.local.Inc()
	return e, true
}

// copyOf returns the copy of a key in this process.
func (c *Cache[K, V]) copyOf(key K) (entry[V], bool) {
	if e, ok := c.local.GetIfPresent(key); ok {
		return e, true
	}
	return c.negative.GetIfPresent(key)
}

// keep keeps a copy in this process. The caller holds the lock of the key's shard.
func (c *Cache[K, V]) keep(key K, e entry[V]) {
	if e.found {
		c.negative.Invalidate(key)
		c.local.Set(key, e)
	} else {
		c.local.Invalidate(key)
		c.negative.Set(key, e)
	}
}

// loaded is the copy of what was just loaded. Copies that were made at the same time do not all end at the same time.
func (c *Cache[K, V]) loaded(value V, found bool) entry[V] {
	now := c.nowMs()
	fresh := c.config.Fresh.Milliseconds()
	jitter := rand.Int64N(max(fresh/5, 1)) - fresh/10
	e := entry[V]{value: value, found: found, freshUntil: now + fresh + jitter, keptTill: now + c.config.Stale.Milliseconds()}
	if !found {
		e.keptTill = e.freshUntil
	}
	return e
}

func (c *Cache[K, V]) nowMs() int64 { return c.deps.Clock.Now().UnixMilli() }
