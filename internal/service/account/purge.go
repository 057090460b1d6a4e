package account

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

const (
	purgeEvery = time.Hour
	purgeBatch = 500 // rows of one transaction, so that other writers do not wait long

	// endedSessionRetention is how long an ended session is kept, and a device after its last session.
	endedSessionRetention = 90 * 24 * time.Hour
	// usedRefreshTokenRetention is how long a used refresh token is remembered. Until then, presenting it again ends the session, because
	// another client has a copy. Later it is only rejected.
	usedRefreshTokenRetention = 30 * 24 * time.Hour
)

// Run purges old ended sessions, their devices, old used refresh tokens and tickets, expired challenges and codes, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: purgeEvery, AtStart: true, Round: s.purge, Failed: "old sessions could not be purged", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

func (s *Service) purge(ctx context.Context) error {
	for _, purge := range []func(context.Context, *sql.Tx, int64) (int64, error){purgeSessions, purgeRefreshTokens, purgeUsedTickets, purgeChallenges, purgeOneTimeCodes} {
		if err := s.deps.DB.WriteInBatches(ctx, purgeBatch, func(tx *sql.Tx) (int64, error) { return purge(ctx, tx, s.nowMs()) }); err != nil {
			return err
		}
	}
	return nil
}

// purgeSessions deletes a batch of ended sessions, and devices without a session. It keeps the sessions that an external token
// started, one for each user and device, so that a session that was logged out does not start again with its old token.
func purgeSessions(ctx context.Context, tx *sql.Tx, nowMs int64) (int64, error) {
	rows, err := tx.QueryContext(ctx, `DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s WHERE s.ended_ms > 0 AND s.ended_ms < $1
		AND NOT EXISTS (SELECT 1 FROM foreign_sessions f WHERE f.session = s.id) ORDER BY s.ended_ms LIMIT $2) RETURNING device`, nowMs-endedSessionRetention.Milliseconds(), purgeBatch)
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
	return int64(len(devices)), nil
}

func purgeRefreshTokens(ctx context.Context, tx *sql.Tx, nowMs int64) (int64, error) {
	done, err := tx.ExecContext(ctx, `DELETE FROM refreshed WHERE sum IN (SELECT sum FROM refreshed WHERE spent_ms < $1 ORDER BY spent_ms LIMIT $2)`, nowMs-usedRefreshTokenRetention.Milliseconds(), purgeBatch)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
