package sqldb

import (
	"context"
	"database/sql"
	"time"

	"github.com/maypok86/otter/v2"
)

// entryLifetime bounds the life of an entry, for a file whose rows were changed by hand.
const entryLifetime = time.Minute

// entryOverheadBytes is what an entry takes beside its value.
const entryOverheadBytes = 160

// SnapshotCacheConfig says what a SnapshotCache keeps.
type SnapshotCacheConfig[K comparable, V any] struct {
	// Name is that of the metrics.
	Name string
	// Tables are those that a value is read from, each with the columns that name its key. They are numbers.
	Tables map[string][]string
	// Key returns the numbers of a key. Their order does not count.
	Key func(K) []int64
	// Size returns the bytes of a value. If nil, it has none worth counting.
	Size func(V) int
	// MaxBytes bounds the values in memory; each counts entryOverheadBytes more than its Size. Those that are read most stay.
	MaxBytes uint64
}

// SnapshotCache keeps what was read of an embedded database, by keys. What it returns for a snapshot is what the snapshot has: an entry is used only if no commit has changed
// its rows between the snapshot in which it was read and the one in which it is used, and none is about to. Other databases have other writers; for them it keeps nothing.
// All methods are safe for concurrent use.
type SnapshotCache[K comparable, V any] struct {
	of   SnapshotCacheConfig[K, V]
	db   *DB
	salt uint64
	rows *otter.Cache[any, cachedValue] // of K, with a V each, because each further type of cache would add 0.3 MB to the program; nil: nothing is kept
	// count is called with the numbers of keys that were cached, and of those that were not. It may be nil.
	count func(hits, misses int)
}

// cachedValue is a value as of a snapshot.
type cachedValue struct {
	value  any
	exists bool
	after  uint64 // the last commit before the snapshot
}

// NewSnapshotCache returns a cache of rows of tables, which exist.
func NewSnapshotCache[K comparable, V any](ctx context.Context, db *DB, of SnapshotCacheConfig[K, V]) (*SnapshotCache[K, V], error) {
	c := &SnapshotCache[K, V]{of: of, db: db}
	if !db.HasSnapshotCaches() {
		return c, nil
	}
	c.salt = db.salts.Add(1) << 32
	if db.cacheReads != nil {
		c.count = db.cacheReads(of.Name)
	}
	rows, err := otter.New(&otter.Options[any, cachedValue]{
		MaximumWeight:    of.MaxBytes,
		ExpiryCalculator: otter.ExpiryWriting[any, cachedValue](entryLifetime),
		Weigher: func(_ any, v cachedValue) uint32 {
			if of.Size == nil || !v.exists {
				return entryOverheadBytes
			}
			return uint32(entryOverheadBytes + of.Size(v.value.(V)))
		},
	})
	if err != nil {
		return nil, err
	}
	if err := db.watchTables(ctx, c.salt, of.Tables); err != nil {
		return nil, err
	}
	c.rows = rows
	return c, nil
}

// Covers reports whether the cache has entries for a transaction: it is a ReadSnapshot of an embedded database.
func (c *SnapshotCache[K, V]) Covers(tx *sql.Tx) bool {
	_, ok := c.snapshot(tx)
	return ok
}

func (c *SnapshotCache[K, V]) snapshot(tx *sql.Tx) (after uint64, ok bool) {
	if c.rows == nil {
		return 0, false
	}
	v, ok := c.db.tracker.snapshots.Load(tx)
	if !ok {
		return 0, false
	}
	return v.(uint64), true
}

// Get returns the values of those of some keys that have one, as of a transaction. Values are shared, and must not be changed. load reads some of the keys in the
// transaction, and leaves out those that have no value.
func (c *SnapshotCache[K, V]) Get(tx *sql.Tx, keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
	after, ok := c.snapshot(tx)
	if !ok {
		return load(keys)
	}
	return c.get(after, keys, load)
}

// GetCurrent is Get as of a moment of the call. load reads outside a transaction.
func (c *SnapshotCache[K, V]) GetCurrent(keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
	if c.rows == nil {
		return load(keys)
	}
	return c.get(c.db.tracker.commits.Load(), keys, load)
}

// get returns values as of a snapshot that began after a commit.
func (c *SnapshotCache[K, V]) get(after uint64, keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
	found := make(map[K]V, len(keys))
	var missing []K
	for _, k := range keys {
		have, ok := c.rows.GetIfPresent(k)
		switch {
		case !ok || c.lastChange(k) > min(have.after, after):
			missing = append(missing, k)
		case have.exists:
			found[k] = have.value.(V)
		}
	}
	if c.count != nil {
		c.count(len(keys)-len(missing), len(missing))
	}
	if len(missing) == 0 {
		return found, nil
	}
	loaded, err := load(missing)
	if err != nil {
		return nil, err
	}
	for _, k := range missing {
		v, exists := loaded[k]
		if exists {
			found[k] = v
		}
		if c.lastChange(k) <= after {
			c.rows.Set(k, cachedValue{v, exists, after})
		}
	}
	return found, nil
}

// lastChange returns the last commit that changed the rows of a key.
func (c *SnapshotCache[K, V]) lastChange(k K) uint64 {
	return c.db.tracker.last(slotOf(c.salt, c.of.Key(k)...))
}
