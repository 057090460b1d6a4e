package sqldb

import "database/sql"

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
