package officialaccount

import (
	"context"
	"database/sql"
	"time"
)

const (
	purgeInterval = time.Hour
	// keepDeliveries is how long the deliveries of a broadcast are kept after its last step. Until then edits and recalls find its copies; the
	// broadcast and its figures stay.
	keepDeliveries = 90 * 24 * time.Hour
	// purgedAtOnce is how many deliveries are deleted in a transaction, so that other writers do not wait long.
	purgedAtOnce = 500
)

// Purge deletes the deliveries of broadcasts that were over long ago.
func (s *Service) Purge(ctx context.Context) error {
	before := s.nowMs() - keepDeliveries.Milliseconds()
	for {
		list, err := s.queryBroadcasts(ctx, `SELECT `+broadcastColumns+` FROM official_broadcasts WHERE NOT pending AND state IN ($1, $2, $3) AND work_ms < $4
			AND EXISTS (SELECT 1 FROM official_deliveries d WHERE d.broadcast = official_broadcasts.id) ORDER BY id LIMIT $5`, done, cancelled, recalled, before, broadcastsPerStep)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, b := range list {
			if err := s.purgeDeliveries(ctx, b, before); err != nil {
				return err
			}
		}
	}
}

// purgeDeliveries deletes the deliveries of a broadcast, unless an operator changes it meanwhile.
func (s *Service) purgeDeliveries(ctx context.Context, b *broadcast, beforeMs int64) error {
	return s.deps.DB.WriteInBatches(ctx, purgedAtOnce, func(tx *sql.Tx) (int64, error) {
		deleted, err := tx.ExecContext(ctx, `DELETE FROM official_deliveries WHERE broadcast = $1 AND recipient IN (SELECT recipient FROM official_deliveries WHERE broadcast = $1 ORDER BY recipient LIMIT $2)
			AND EXISTS (SELECT 1 FROM official_broadcasts WHERE id = $1 AND NOT pending AND work_ms < $3)`, int64(b.id), purgedAtOnce, beforeMs)
		if err != nil {
			return 0, err
		}
		return deleted.RowsAffected()
	})
}
