package comment

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Interrupt makes a function run between two steps of an operation, which ends there if the function returns an error.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// The statements that pages are read with.
const (
	NewestFirstQuery = newestFirstQuery
	OldestFirstQuery = oldestFirstQuery
)

// WrongCounts returns how counts differ from the rows.
func WrongCounts(ctx context.Context, db *sqldb.DB) (wrong []string, err error) {
	for _, query := range []string{
		`SELECT subject, CAST(SUM(n) AS BIGINT), CAST(SUM(stored) AS BIGINT) FROM (SELECT subject, n, 0 AS stored FROM comment_counts UNION ALL SELECT subject, 0, 1 FROM comments WHERE NOT deleted) AS counts
			GROUP BY subject HAVING SUM(n) <> SUM(stored)`,
		`SELECT top, CAST(SUM(n) AS BIGINT), CAST(SUM(stored) AS BIGINT) FROM (SELECT top, n, 0 AS stored FROM comment_reply_counts UNION ALL SELECT top, 0, 1 FROM comments WHERE top > 0 AND NOT deleted) AS counts
			GROUP BY top HAVING SUM(n) <> SUM(stored)`,
	} {
		rows, err := db.Read().QueryContext(ctx, query)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var of uint64
			var counted, is int64
			err := rows.Scan(&of, &counted, &is)
			wrong = append(wrong, fmt.Sprintf("%d: counted %d of %d", of, counted, is))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return wrong, nil
}
