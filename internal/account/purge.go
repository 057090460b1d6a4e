package account

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

const (
	purgeEvery = time.Hour
	purgeBatch = 500 // rows of one transaction: others write between two

	// endedFor so long an ended session is kept, and its device after the last of its sessions.
	endedFor = 90 * 24 * time.Hour
	// spentFor so long a spent refresh token is known: that a device which was away for as long shows it ends the session, since
	// somebody else has gone on with it. Later it is only refused.
	spentFor = 30 * 24 * time.Hour
)

// Run drops what is dead, until ctx ends: sessions that ended long ago with their devices, and refresh tokens spent long ago.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	for first := true; ; first = false { // at its start a node does not know yet what is its own
		if first || s.deps.Mine == nil || s.deps.Mine() {
			if err := s.purge(ctx); err != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("dead sessions could not be dropped", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Service) purge(ctx context.Context) error {
	for _, some := range []func(context.Context, *sql.Tx, int64) (int, error){dropSessions, dropSpent, dropTaken} {
		for n := purgeBatch; n == purgeBatch; {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
				n, err = some(ctx, tx, s.nowMs())
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropSessions drops a batch of ended sessions, and devices without any. Those that foreign tokens began stay, one for each user
// and device, so that what was logged out does not come back with its old token.
func dropSessions(ctx context.Context, tx *sql.Tx, nowMs int64) (int, error) {
	rows, err := tx.QueryContext(ctx, `DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s WHERE s.ended_ms > 0 AND s.ended_ms < $1
		AND NOT EXISTS (SELECT 1 FROM foreign_sessions f WHERE f.session = s.id) ORDER BY s.ended_ms LIMIT $2) RETURNING device`, nowMs-endedFor.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var devices []id.Device
	for rows.Next() {
		var d id.Device
		if err := rows.Scan(&d); err != nil {
			return 0, err
		}
		devices = append(devices, d)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, d := range devices {
		if _, err := tx.ExecContext(ctx, `DELETE FROM devices WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE device = $1)`, int64(d)); err != nil {
			return 0, err
		}
	}
	return len(devices), nil
}

func dropSpent(ctx context.Context, tx *sql.Tx, nowMs int64) (int, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM refreshed WHERE sum IN (SELECT sum FROM refreshed WHERE spent_ms < $1 ORDER BY spent_ms LIMIT $2)`, nowMs-spentFor.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}
