package sqldb

import (
	"context"
	"database/sql"
)

// EachRow calls each for the rows of a query, and closes them. It returns the query's error, that of the rows, or the first one of each,
// after which it does not continue.
func EachRow(rows *sql.Rows, err error, each func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// WriteInBatches calls change in transactions, one after another, until one changes fewer rows than batch. So other writers do not wait long.
// change returns how many rows it changed, and may run again after a failed commit, as in Write.
func (d *DB) WriteInBatches(ctx context.Context, batch int64, change func(tx *sql.Tx) (rows int64, err error)) error {
	for rows := batch; rows >= batch; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.Write(ctx, func(tx *sql.Tx) (err error) {
			rows, err = change(tx)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
