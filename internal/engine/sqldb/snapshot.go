package sqldb

import (
	"context"
	"database/sql"
)

// ReadSnapshot runs fn in a transaction that only reads. All its queries see the database as of the first one: all that Write had returned for
// before that, and of each later transaction nothing. fn must not keep rows or the transaction, nor call Write.
func (d *DB) ReadSnapshot(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := d.reader.BeginTx(ctx, &sql.TxOptions{Isolation: d.dialect.snapshot, ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it only ends the snapshot
	return fn(tx)
}
