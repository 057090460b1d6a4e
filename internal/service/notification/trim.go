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
		return drop(ctx, tx, rows, err)
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

// trimOwner deletes notifications of a user who has too many: first those that show nothing, so that what somebody wrote and deleted pushes nothing out, then
// those of actors who caused very many, so that nobody pushes out what others did, and then the oldest ones.
func (s *Service) trimOwner(ctx context.Context, u id.User) error {
	if err := s.trimUnseen(ctx, u); err != nil {
		return err
	}
	if err := s.trimFlood(ctx, u); err != nil {
		return err
	}
	return s.deps.DB.WriteInBatches(ctx, trimBatch, func(tx *sql.Tx) (int64, error) {
		o, err := getOwner(ctx, tx, u)
		if err != nil || o.kept <= maxKept {
			return 0, err
		}
		rows, err := tx.QueryContext(ctx, `SELECT owner, id FROM notifications WHERE owner = $1 ORDER BY pos LIMIT $2`, int64(u), min(trimBatch, o.kept-maxKept))
		return drop(ctx, tx, rows, err)
	})
}

// trimUnseen deletes the newest notifications that show nothing of a user who has too many.
func (s *Service) trimUnseen(ctx context.Context, u id.User) error {
	seen := 0
	for below := startOf(0); below > 0 && seen < maxKept; {
		var next uint64
		var found int
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			next, found = 0, 0
			o, err := getOwner(ctx, tx, u)
			if err != nil || o.kept <= maxKept {
				return err
			}
			rows, err := readRows(ctx, tx, u, below, 0, s.sizes.rows)
			if err != nil {
				return err
			}
			shown, _, err := s.areShown(ctx, tx, o, rows)
			if err != nil {
				return err
			}
			var unseen []ref
			for i, r := range rows {
				if shown[i] {
					found++
				} else if int64(len(unseen)) < o.kept-maxKept {
					unseen = append(unseen, ref{u, r.id})
				}
			}
			if len(rows) == s.sizes.rows {
				next = rows[len(rows)-1].pos
			}
			return dropAll(ctx, tx, unseen)
		})
		if err != nil {
			return err
		}
		below, seen = next, seen+found
	}
	return nil
}

// trimFlood deletes the oldest notifications of the actor who alone caused the most, while these are more than maxOfActor and the user has too many.
func (s *Service) trimFlood(ctx context.Context, u id.User) error {
	return s.deps.DB.WriteInBatches(ctx, 1, func(tx *sql.Tx) (int64, error) { // until there is nothing to delete: another actor may have caused the most then
		o, err := getOwner(ctx, tx, u)
		if err != nil || o.kept <= maxKept {
			return 0, err
		}
		var actor id.User
		var caused int64
		err = tx.QueryRowContext(ctx, `SELECT actor, count(*) FROM (SELECT min(actor) AS actor FROM notification_causes WHERE owner = $1 GROUP BY notification HAVING min(actor) = max(actor)) AS single
			GROUP BY actor ORDER BY count(*) DESC, actor LIMIT 1`, int64(u)).Scan(&actor, &caused)
		if errors.Is(err, sql.ErrNoRows) || err == nil && caused <= maxOfActor {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		rows, err := tx.QueryContext(ctx, `SELECT owner, notification FROM notification_causes WHERE owner = $1 GROUP BY owner, notification HAVING min(actor) = $2 AND max(actor) = $2 ORDER BY notification LIMIT $3`,
			int64(u), int64(actor), min(trimBatch, o.kept-maxKept, caused-maxOfActor))
		return drop(ctx, tx, rows, err)
	})
}

// drop deletes the notifications that a query has found, and returns how many.
func drop(ctx context.Context, tx *sql.Tx, rows *sql.Rows, err error) (int64, error) {
	var list []ref
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var r ref
		err := rows.Scan(&r.owner, &r.id)
		list = append(list, r)
		return err
	})
	if err != nil {
		return 0, err
	}
	return int64(len(list)), dropAll(ctx, tx, list)
}

// dropAll deletes notifications with their causes.
func dropAll(ctx context.Context, tx *sql.Tx, list []ref) error {
	for _, r := range list {
		_, causes := tx.ExecContext(ctx, `DELETE FROM notification_causes WHERE owner = $1 AND notification = $2`, int64(r.owner), int64(r.id))
		_, itself := tx.ExecContext(ctx, `DELETE FROM notifications WHERE owner = $1 AND id = $2`, int64(r.owner), int64(r.id))
		_, kept := tx.ExecContext(ctx, `UPDATE notification_owners SET kept = kept - 1 WHERE owner = $1`, int64(r.owner))
		if err := errors.Join(causes, itself, kept); err != nil {
			return err
		}
	}
	return nil
}
