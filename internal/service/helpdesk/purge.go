package helpdesk

import (
	"context"
	"database/sql"
	"time"
)

const (
	purgeInterval = time.Hour
	// keepResolved is how long a ticket is kept after its end. Its conversation stays.
	keepResolved = 2 * 365 * 24 * time.Hour
	// purgedAtOnce is how many tickets are deleted in a transaction, so that other writers do not wait long.
	purgedAtOnce = 100
)

// Purge deletes tickets that were resolved long ago. Nobody can reopen them any more.
func (s *Service) Purge(ctx context.Context) error {
	return s.deps.DB.WriteInBatches(ctx, purgedAtOnce, func(tx *sql.Tx) (int64, error) {
		deleted, err := tx.ExecContext(ctx, `DELETE FROM tickets WHERE id IN (SELECT id FROM tickets WHERE status = 3 AND resolved_ms < $1 AND synced >= version AND NOT unconfirmed ORDER BY resolved_ms, id LIMIT $2)`,
			s.nowMs()-keepResolved.Milliseconds(), purgedAtOnce)
		if err != nil {
			return 0, err
		}
		return deleted.RowsAffected()
	})
}
