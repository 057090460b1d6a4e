package chatroom

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// purgedAtOnce is how many rooms are deleted in a transaction.
const purgedAtOnce = 20

// purgeClosed deletes the rows of rooms that were closed long ago, now and then, until ctx ends.
func (s *Service) purgeClosed(ctx context.Context) {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: purgeInterval, AtStart: true, Round: s.purge, Failed: "the rows of closed rooms are deleted later", Logger: s.deps.Logger}).Run(ctx)
}

// purge deletes the rows of rooms that were closed longer ago than keepClosed. Nothing adds rows to a closed room.
func (s *Service) purge(ctx context.Context) error {
	before := s.nowMs() - keepClosed.Milliseconds()
	for {
		rooms, err := s.longClosed(ctx, before)
		if err != nil || len(rooms) == 0 {
			return err
		}
		marks, args := sqldb.Placeholders(1, rooms, func(room int64) int64 { return room })
		if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			for _, statement := range []string{ // of the same rooms, even if another node deletes some of them meanwhile
				`DELETE FROM room_moderators WHERE room IN (` + marks + `)`,
				`DELETE FROM room_restrictions WHERE room IN (` + marks + `)`,
				`DELETE FROM rooms WHERE id IN (` + marks + `)`,
			} {
				if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
}

// longClosed returns some rooms that were closed before a time. They stay closed.
func (s *Service) longClosed(ctx context.Context, beforeMs int64) ([]int64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM rooms WHERE closed AND closed_ms < $1 ORDER BY closed_ms, id LIMIT $2`, beforeMs, purgedAtOnce)
	return sqldb.Column[int64](rows, err)
}
