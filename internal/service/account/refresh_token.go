package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// refreshGrace is how long a rotated refresh token still works, so that two tabs may refresh at once. Both get the same new token.
const refreshGrace = 10 * time.Second

// nextRefreshToken derives the refresh token that replaces another one. Every caller with the same old token gets the same new one.
func (s *Service) nextRefreshToken(token string) string {
	m := hmac.New(sha256.New, s.refreshKey)
	m.Write([]byte(token))
	return "rr_" + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

var errRefresh = errs.New(errs.Unauthenticated, "bad_refresh_token", "the refresh token is not valid; log in again")

// Refresh rotates a refresh token and returns a new access token. Presenting a used refresh token after refreshGrace ends its session,
// because another client has a copy of it.
func (s *Service) Refresh(ctx context.Context, r *accountv1.RefreshRequest) (*accountv1.Session, error) {
	if len(r.RefreshToken) > 256 {
		return nil, errRefresh
	}
	sum, next, now := auth.Sum(r.RefreshToken), s.nextRefreshToken(r.RefreshToken), s.nowMs()
	var c id.Caller
	var ended []Ended
	var refused error
	err := s.deps.DB.WriteOnFullDisk(ctx, func(tx *sql.Tx) error {
		c, ended, refused = id.Caller{}, nil, nil
		err := tx.QueryRowContext(ctx, `UPDATE sessions SET previous = refresh, refresh = $1, rotated_ms = $2, used_ms = $2 WHERE refresh = $3 AND ended_ms = 0 RETURNING owner, device, id`,
			auth.Sum(next), now, sum).Scan(&c.User, &c.Device, &c.Session)
		if err == nil {
			err = s.checkBan(ctx, tx, c.User, c.Device)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO refreshed (sum, session, spent_ms) VALUES ($1, $2, $3)`, sum, int64(c.Session), now)
			return err
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		err = tx.QueryRowContext(ctx, `SELECT owner, device, id FROM sessions WHERE previous = $1 AND rotated_ms >= $2 AND ended_ms = 0`,
			sum, now-refreshGrace.Milliseconds()).Scan(&c.User, &c.Device, &c.Session)
		if !errors.Is(err, sql.ErrNoRows) {
			return err // nil: a second tab gets the same new token
		}
		if refused, err = s.explainRefusal(ctx, tx, sum); err != nil || !errors.Is(refused, errRefresh) {
			return err
		}
		var user, session int64
		err = tx.QueryRowContext(ctx, `SELECT s.owner, s.id FROM refreshed r JOIN sessions s ON s.id = r.session WHERE r.sum = $1`, sum).Scan(&user, &session)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			ended, err = s.endSessions(ctx, tx, "refresh_reused", `id = $3`, user, now, session)
		}
		return err
	})
	if err = errors.Join(err, refused); err != nil {
		s.announceEnded(ended)
		return nil, err
	}
	return s.session(c, next)
}
