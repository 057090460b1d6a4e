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

// Collect returns the rows of a query as scan reads each, and closes them. The error is as that of EachRow; the list then has what was read.
func Collect[T any](rows *sql.Rows, err error, scan func(scan func(...any) error) (T, error)) (list []T, _ error) {
	err = EachRow(rows, err, func(rows *sql.Rows) error {
		v, err := scan(rows.Scan)
		list = append(list, v)
		return err
	})
	return list, err
}

// Column returns the rows of a query with one column, and closes them. The error is as that of EachRow; the list is nil then.
func Column[T any](rows *sql.Rows, err error) (list []T, _ error) {
	if err := EachRow(rows, err, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(&v)
		list = append(list, v)
		return err
	}); err != nil {
		return nil, err
	}
	return list, nil
}

// Pairs returns the rows of a query with two columns as a map from the first one to the second one, and closes them. The map is not nil. The error is as that of EachRow.
func Pairs[K comparable, V any](rows *sql.Rows, err error) (map[K]V, error) {
	pairs := map[K]V{}
	err = EachRow(rows, err, func(rows *sql.Rows) error {
		var k K
		var v V
		err := rows.Scan(&k, &v)
		pairs[k] = v
		return err
	})
	return pairs, err
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
