package chatroom

import (
	"context"
	"database/sql"
	"time"
)

// purgedAtOnce is how many rooms are deleted in a transaction.
const purgedAtOnce = 20

// purgeClosed deletes the rows of rooms that were closed long ago, now and then, until ctx ends.
func (s *Service) purgeClosed(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for first := true; ; first = false { // at its start a node does not know yet whether it is the coordinator
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if first || s.deps.IsCoordinator == nil || s.deps.IsCoordinator() {
			if err := s.purge(ctx); err != nil && ctx.Err() == nil {
				s.deps.Logger.Error("the rows of closed rooms were not deleted", "error", err)
			}
		}
		timer.Reset(purgeInterval)
	}
}

// purge deletes the rows of rooms that were closed longer ago than keepClosed. Nothing adds rows to a closed room.
func (s *Service) purge(ctx context.Context) error {
	before := s.nowMs() - keepClosed.Milliseconds()
	for {
		var n int64
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			for _, statement := range []string{
				`DELETE FROM room_moderators WHERE room IN (SELECT id FROM rooms WHERE closed AND closed_ms < $1 ORDER BY closed_ms, id LIMIT $2)`,
				`DELETE FROM room_restrictions WHERE room IN (SELECT id FROM rooms WHERE closed AND closed_ms < $1 ORDER BY closed_ms, id LIMIT $2)`,
				`DELETE FROM rooms WHERE id IN (SELECT id FROM rooms WHERE closed AND closed_ms < $1 ORDER BY closed_ms, id LIMIT $2)`,
			} {
				done, err := tx.ExecContext(ctx, statement, before, purgedAtOnce)
				if err != nil {
					return err
				}
				if n, err = done.RowsAffected(); err != nil { // in the end, of rooms
					return err
				}
			}
			return nil
		})
		if err != nil || n < purgedAtOnce {
			return err
		}
	}
}
