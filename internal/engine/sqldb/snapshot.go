package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// ReadSnapshot runs fn in a transaction that only reads. All its queries see the database as of its beginning, or as of the first query in PostgreSQL: all that Write had
// returned for before that, and of each later transaction nothing. fn must not keep rows or the transaction, nor call Write.
func (d *DB) ReadSnapshot(ctx context.Context, fn func(tx *sql.Tx) error) error {
	var after uint64
	if d.tracker != nil {
		after = d.tracker.commits.Load()
	}
	tx, err := d.reader.BeginTx(ctx, &sql.TxOptions{Isolation: d.dialect.snapshot, ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it only ends the snapshot
	if d.tracker != nil {
		defer d.tracker.snapshot(tx, after)()
	}
	return fn(tx)
}

// beginSnapshot begins a transaction of SQLite that only reads, with statements that stay prepared. SQLite itself would begin the snapshot with the first query, and copies
// may be used before that.
func (c *cachingConn) beginSnapshot(ctx context.Context) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tx := snapshotTx{c}
	if err := tx.run("BEGIN"); err != nil {
		return nil, err
	}
	if err := tx.run("SELECT 1 FROM sqlite_schema LIMIT 1"); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// snapshotTx is a transaction of SQLite that only reads.
type snapshotTx struct{ conn *cachingConn }

// Commit and Rollback end the snapshot.
func (t snapshotTx) Commit() error   { return t.run("COMMIT") }
func (t snapshotTx) Rollback() error { return t.run("ROLLBACK") }

func (t snapshotTx) run(statement string) error {
	ctx, cache := context.Background(), t.conn.cacheOf(0)
	s, err := t.conn.acquire(ctx, cache, statement)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, nil)
	return release(cache, statement, s, err)
}
