package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// canaryTries bounds how often a node claims a number that another one has claimed at the same moment.
const canaryTries = 8

// OpenCanary opens a session of the delivery canary of a node, and ends its earlier ones. A canary has sessions and a device, as any user has, but neither a
// handle, a password nor a profile, so that nobody finds it, writes to it or logs in as it. Its number belongs to the node's name; when all numbers are
// in use, the one that has not been opened for longest goes to the node.
func (s *Service) OpenCanary(ctx context.Context, node string) (c id.Caller, err error) {
	session, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return c, err
	}
	var ended []Ended
	for range canaryTries {
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			number, err := claimCanary(ctx, tx, node, s.nowMs())
			if err != nil {
				return err
			}
			u := id.CanaryUser(number)
			c = id.Caller{User: u, Device: id.Device(u), Session: id.Session(session)}
			ended, err = s.insertCanarySession(ctx, tx, c)
			return err
		})
		if !sqldb.IsUnique(err) {
			break
		}
	}
	if err != nil {
		return id.Caller{}, err
	}
	s.announceEnded(ended)
	return c, nil
}

// claimCanary returns the number of a node's canary.
func claimCanary(ctx context.Context, tx *sql.Tx, node string, nowMs int64) (number int, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE canaries SET used_ms = $2 WHERE node = $1 RETURNING number`, node, nowMs).Scan(&number)
	if !errors.Is(err, sql.ErrNoRows) {
		return number, err
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM canaries`).Scan(&number); err != nil {
		return 0, err
	}
	if number < id.MaxCanaries {
		number++ // no row is ever deleted
		_, err := tx.ExecContext(ctx, `INSERT INTO canaries (number, node, used_ms) VALUES ($1, $2, $3)`, number, node, nowMs)
		return number, err
	}
	err = tx.QueryRowContext(ctx, `UPDATE canaries SET node = $1, used_ms = $2 WHERE number = (SELECT number FROM canaries ORDER BY used_ms, number LIMIT 1) RETURNING number`, node, nowMs).Scan(&number)
	return number, err
}

// insertCanarySession stores a session of a canary, and returns those that it ends.
func (s *Service) insertCanarySession(ctx context.Context, tx *sql.Tx, c id.Caller) ([]Ended, error) {
	now := s.nowMs()
	ended, err := s.endSessions(ctx, tx, "replaced", `true`, int64(c.User), now)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO devices (id, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(c.Device), int64(c.User)); err != nil {
		return nil, err
	}
	// Nobody gets the refresh token.
	_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, owner, device, name, type, refresh, rotated_ms, created_ms, used_ms) VALUES ($1, $2, $3, 'canary', 'server', $4, $5, $5, $5)`,
		int64(c.Session), int64(c.User), int64(c.Device), auth.Sum(auth.NewSecret("rr_")), now)
	return ended, err
}

// CanaryToken returns an access token of a canary's session, for a connection that is opened now.
func (s *Service) CanaryToken(c id.Caller) (string, error) {
	token, _, err := s.tokens.Sign(c)
	return token, err
}
