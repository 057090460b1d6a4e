package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// checkBan fails if a user, a device or the network of the request is banned, as of q.
func (s *Service) checkBan(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error {
	if s.deps.CheckBan == nil {
		return nil
	}
	return s.deps.CheckBan(ctx, q, u, device)
}

// explainEnded returns the ban of a caller whose session has ended, or else why.
func (s *Service) explainEnded(ctx context.Context, c id.Caller, why error) error {
	if !errs.Is(why, errs.Unauthenticated) {
		return why
	}
	if err := s.checkBan(ctx, s.deps.DB.Read(), c.User, c.Device); err != nil {
		return err
	}
	return why
}

// explainRefusal returns why a refresh token of no open session is refused: the ban of its user, or errRefresh.
func (s *Service) explainRefusal(ctx context.Context, tx *sql.Tx, sum []byte) (refused, err error) {
	if s.deps.CheckBan == nil {
		return errRefresh, nil
	}
	var c id.Caller
	err = tx.QueryRowContext(ctx, `SELECT owner, device FROM sessions WHERE refresh = $1 AND ended_ms > 0`, sum).Scan(&c.User, &c.Device)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errRefresh, nil
	case err != nil:
		return nil, err
	}
	err = s.checkBan(ctx, tx, c.User, c.Device)
	switch {
	case err == nil:
		return errRefresh, nil
	case errs.IsRefusal(err):
		return err, nil
	}
	return nil, err
}

// EndForBan ends the sessions of a user, or those on a device if that is not 0, in a transaction. It returns the user, 0 if there is no such user or device. The caller
// calls announce after the commit.
func (s *Service) EndForBan(ctx context.Context, tx *sql.Tx, u id.User, device id.Device) (owner id.User, announce func(), err error) {
	if device != 0 {
		err = tx.QueryRowContext(ctx, `SELECT owner FROM devices WHERE id = $1`, int64(device)).Scan(&owner)
	} else {
		err = tx.QueryRowContext(ctx, `SELECT id FROM users WHERE id = $1`, int64(u)).Scan(&owner)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, func() {}, nil
	}
	if err != nil {
		return 0, nil, err
	}
	where, args := `true`, []any{int64(owner), s.nowMs()}
	if device != 0 {
		where, args = `device = $3`, append(args, int64(device))
	}
	ended, err := s.endSessions(ctx, tx, "banned", where, args...)
	return owner, func() { s.announceEnded(ended) }, err
}
