package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// changeSlots is a power of two. Keys that share a slot change together, which costs a load and nothing else.
	changeSlots = 1 << 16
	// maxPendingSlots bounds what is known of one transaction. One that changes more is taken to change all rows.
	maxPendingSlots = 1 << 14
	inCommit        = math.MaxUint64
)

// commitTracker records, for each key of the tables of snapshot caches, the number of the last commit that changed it. Only this process writes the database. The numbers rise.
// SQLite reports each row that its writer changes, so no statement can be forgotten.
type commitTracker struct {
	watched   atomic.Pointer[map[string][]watch] // by table; replaced by watchTables
	commits   atomic.Uint64                      // the number of the last commit that has ended
	all       atomic.Uint64                      // the last commit that may have changed any key; inCommit while it runs
	slots     [changeSlots]atomic.Uint64         // the last commit that changed a key; inCommit while it runs
	snapshots sync.Map                           // of *sql.Tx: the number of the last commit that had ended before the snapshot began

	mu         sync.Mutex // guards what the running transaction has changed
	pending    []uint32   // slots
	allChanged bool       // more than pending can tell
}

// watch is how the rows of a table name a key.
type watch struct {
	salt    uint64
	columns []int // of the key, by their positions
}

func newCommitTracker() *commitTracker {
	c := &commitTracker{}
	c.watched.Store(&map[string][]watch{})
	return c
}

// slotOf returns the slot of a key. The order of its numbers does not count.
func slotOf(salt uint64, numbers ...int64) uint32 {
	var sum uint64
	for _, n := range numbers {
		sum += mix(uint64(n))
	}
	return uint32(mix(sum+salt) % changeSlots)
}

// mix is the finalizer of SplitMix64.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// listen makes a connection of the writer report the rows that it changes. A nil tracker needs none.
func (c *commitTracker) listen(conn driver.Conn) {
	if c == nil {
		return
	}
	conn.(interface{ RegisterPreUpdateHook(sqlite.PreUpdateHookFn) }).RegisterPreUpdateHook(c.changed)
}

// changed adds the keys of a row that is about to change to those of the transaction.
func (c *commitTracker) changed(row sqlite.SQLitePreUpdateData) {
	for _, w := range (*c.watched.Load())[row.TableName] {
		if row.Op != sqlite3.SQLITE_INSERT {
			c.add(w.slot(row.Old))
		}
		if row.Op != sqlite3.SQLITE_DELETE {
			c.add(w.slot(row.New))
		}
	}
}

// slot returns the slot of a row; ok is false if it is not known.
func (w *watch) slot(read func(values ...any) error) (slot uint32, ok bool) {
	values := make([]any, slices.Max(w.columns)+1)
	if err := read(values...); err != nil {
		return 0, false
	}
	numbers := make([]int64, len(w.columns))
	for i, column := range w.columns {
		if numbers[i], ok = values[column].(int64); !ok {
			return 0, false
		}
	}
	return slotOf(w.salt, numbers...), true
}

func (c *commitTracker) add(slot uint32, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !known, len(c.pending) == maxPendingSlots:
		c.allChanged = true
	case len(c.pending) == 0 || c.pending[len(c.pending)-1] != slot: // an update mostly has the same key before and after
		c.pending = append(c.pending, slot)
	}
}

// begin forgets what a transaction that was rolled back would have changed.
func (c *commitTracker) begin() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending, c.allChanged = c.pending[:0], false
}

// commit runs the commit of the writer's transaction. While it runs, and if it fails, what the transaction has changed counts as changed.
func (c *commitTracker) commit(commit func() error) error {
	if c == nil {
		return commit()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark(inCommit)
	err := commit()
	n := c.commits.Load() + 1
	c.mark(n)
	c.commits.Store(n) // after the slots: a snapshot that begins with this number sees what they say
	return err
}

// mark sets the last commit of what the transaction has changed. mu is locked.
func (c *commitTracker) mark(n uint64) {
	for _, slot := range c.pending {
		c.slots[slot].Store(n)
	}
	if c.allChanged {
		c.all.Store(n)
	}
}

// last returns the last commit that changed a key of a slot; inCommit if that one still runs.
func (c *commitTracker) last(slot uint32) uint64 { return max(c.slots[slot].Load(), c.all.Load()) }

// snapshot notes that the snapshot of a transaction begins after a commit, until ended is called.
func (c *commitTracker) snapshot(tx *sql.Tx, after uint64) (ended func()) {
	c.snapshots.Store(tx, after)
	return func() { c.snapshots.Delete(tx) }
}

// watchTables makes rows of tables name keys, from the next transaction on.
func (d *DB) watchTables(ctx context.Context, salt uint64, tables map[string][]string) error {
	return d.Write(ctx, func(tx *sql.Tx) error {
		watched := maps.Clone(*d.tracker.watched.Load())
		for table, names := range tables {
			rows, err := tx.QueryContext(ctx, `SELECT name, cid FROM pragma_table_info($1)`, table)
			at, err := Pairs[string, int](rows, err)
			if err != nil {
				return err
			}
			w := watch{salt: salt}
			for _, name := range names {
				column, ok := at[name]
				if !ok {
					return fmt.Errorf("sqldb: the table %s has no column %s", table, name)
				}
				w.columns = append(w.columns, column)
			}
			watched[table] = append(slices.Clone(watched[table]), w)
		}
		d.tracker.watched.Store(&watched)
		return nil
	})
}
