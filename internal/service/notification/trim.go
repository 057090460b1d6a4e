package notification

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// trimBatch is how many notifications one transaction deletes: each may have maxCauses causes.
const trimBatch = 20

// ref names a notification.
type ref struct {
	owner id.User
	id    uint64
}

// Trim deletes notifications that are too old, and those of users who have too many.
func (s *Service) Trim(ctx context.Context) error {
	oldest := s.nowMs() - maxAge.Milliseconds()
	old := s.deps.DB.WriteInBatches(ctx, trimBatch, func(tx *sql.Tx) (int64, error) {
		rows, err := tx.QueryContext(ctx, `SELECT owner, id FROM notifications WHERE moved_ms < $1 ORDER BY moved_ms LIMIT $2`, oldest, trimBatch)
		return s.drop(ctx, tx, rows, err)
	})
	for last := id.User(0); ; {
		var u id.User
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT owner FROM notification_owners WHERE kept > 500 AND owner > $1 ORDER BY owner LIMIT 1`, int64(last)).Scan(&u)
		if errors.Is(err, sql.ErrNoRows) {
			return old
		}
		if err != nil {
			return errors.Join(old, err)
		}
		if err := s.trimOwner(ctx, u); err != nil {
			return errors.Join(old, err)
		}
		last = u
	}
}

// trimOwner deletes the oldest notifications of a user who has too many.
func (s *Service) trimOwner(ctx context.Context, u id.User) error {
	return s.deps.DB.WriteInBatches(ctx, trimBatch, func(tx *sql.Tx) (int64, error) {
		o, err := getOwner(ctx, tx, u)
		if err != nil || o.kept <= maxKept {
			return 0, err
		}
		rows, err := tx.QueryContext(ctx, `SELECT owner, id FROM notifications WHERE owner = $1 ORDER BY pos LIMIT $2`, int64(u), min(trimBatch, o.kept-maxKept))
		return s.drop(ctx, tx, rows, err)
	})
}

// drop deletes the notifications that a query has found, with their causes, and returns how many.
func (s *Service) drop(ctx context.Context, tx *sql.Tx, rows *sql.Rows, err error) (int64, error) {
	var list []ref
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var r ref
		err := rows.Scan(&r.owner, &r.id)
		list = append(list, r)
		return err
	})
	for _, r := range list {
		if err != nil {
			return 0, err
		}
		_, causes := tx.ExecContext(ctx, `DELETE FROM notification_causes WHERE owner = $1 AND notification = $2`, int64(r.owner), int64(r.id))
		_, itself := tx.ExecContext(ctx, `DELETE FROM notifications WHERE owner = $1 AND id = $2`, int64(r.owner), int64(r.id))
		_, kept := tx.ExecContext(ctx, `UPDATE notification_owners SET kept = kept - 1 WHERE owner = $1`, int64(r.owner))
		err = errors.Join(causes, itself, kept)
	}
	return int64(len(list)), err
}
