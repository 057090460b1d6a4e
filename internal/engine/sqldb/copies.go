package sqldb

import (
	"context"
	"database/sql"
	"time"

	"github.com/maypok86/otter/v2"
)

// copyLifetime bounds the life of a copy, for a file whose rows were changed by hand.
const copyLifetime = time.Minute

// copyBytes is what a copy takes beside its value.
const copyBytes = 160

// CopiesOf says what Copies keep.
type CopiesOf[K comparable, V any] struct {
	// Name is that of the metrics.
	Name string
	// Tables are those that a value is read from, each with the columns that name its key. They are numbers.
	Tables map[string][]string
	// Key returns the numbers of a key. Their order does not count.
	Key func(K) []int64
	// Size returns the bytes of a value. If nil, it has none worth counting.
	Size func(V) int
	// MaxBytes bounds the values in memory; each counts copyBytes more than its Size. Those that are read most stay.
	MaxBytes uint64
}

// Copies keeps what was read of an embedded database, by keys. What it returns for a snapshot is what the snapshot has: a copy is used only if no commit has changed its
// rows between the snapshot in which it was read and the one in which it is used, and none is about to. Other databases have other writers, and no copies.
// All methods are safe for concurrent use.
type Copies[K comparable, V any] struct {
	of   CopiesOf[K, V]
	db   *DB
	salt uint64
	rows *otter.Cache[any, copied] // of K, with a V each, because each further type of cache would add 0.3 MB to the program; nil: there are no copies
	// count is called with how many keys were copied, and how many were not. It may be nil.
	count func(hits, misses int)
}

// copied is a value as of a snapshot.
type copied struct {
	value  any
	exists bool
	after  uint64 // the last commit before the snapshot
}

// NewCopies returns Copies of tables, which exist.
func NewCopies[K comparable, V any](ctx context.Context, db *DB, of CopiesOf[K, V]) (*Copies[K, V], error) {
	c := &Copies[K, V]{of: of, db: db}
	if db.changes == nil || db.store.options.OtherProcesses {
		return c, nil
	}
	c.salt = db.copies.Add(1) << 32
	if db.copyReads != nil {
		c.count = db.copyReads(of.Name)
	}
	rows, err := otter.New(&otter.Options[any, copied]{
		MaximumWeight:    of.MaxBytes,
		ExpiryCalculator: otter.ExpiryWriting[any, copied](copyLifetime),
		Weigher: func(_ any, v copied) uint32 {
			if of.Size == nil || !v.exists {
				return copyBytes
			}
			return uint32(copyBytes + of.Size(v.value.(V)))
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

// Has reports whether there are copies for a transaction: it is a ReadSnapshot of an embedded database.
func (c *Copies[K, V]) Has(tx *sql.Tx) bool {
	_, ok := c.snapshot(tx)
	return ok
}

func (c *Copies[K, V]) snapshot(tx *sql.Tx) (after uint64, ok bool) {
	if c.rows == nil {
		return 0, false
	}
	v, ok := c.db.changes.snapshots.Load(tx)
	if !ok {
		return 0, false
	}
	return v.(uint64), true
}

// Get returns the values of those of some keys that have one, as of a transaction. Values are shared, and must not be changed. load reads some of the keys in the
// transaction, and leaves out those that have no value.
func (c *Copies[K, V]) Get(tx *sql.Tx, keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
	after, ok := c.snapshot(tx)
	if !ok {
		return load(keys)
	}
	return c.get(after, keys, load)
}

// GetCurrent is Get as of a moment of the call. load reads outside a transaction.
func (c *Copies[K, V]) GetCurrent(keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
	if c.rows == nil {
		return load(keys)
	}
	return c.get(c.db.changes.commits.Load(), keys, load)
}

// get returns values as of a snapshot that began after a commit.
func (c *Copies[K, V]) get(after uint64, keys []K, load func(keys []K) (map[K]V, error)) (map[K]V, error) {
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
			c.rows.Set(k, copied{v, exists, after})
		}
	}
	return found, nil
}

// lastChange returns the last commit that changed the rows of a key.
func (c *Copies[K, V]) lastChange(k K) uint64 {
	return c.db.changes.last(slotOf(c.salt, c.of.Key(k)...))
}
