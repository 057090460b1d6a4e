package chatroom

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// claim writes the term of a grant into a room's row. From then on no decision of an owner with an earlier term is committed. It fails if the
// row has a later term.
func claim(ctx context.Context, db *sqldb.DB, room id.Room, g cluster.Grant) error {
	var term uint64
	err := db.Read().QueryRowContext(ctx, `SELECT term FROM rooms WHERE id = $1`, int64(room)).Scan(&term)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errNoRoom
	case err != nil:
		return err
	case term == g.Term:
		return nil
	case term > g.Term:
		g.Superseded(term)
		return errMoving
	}
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE rooms SET term = $2 WHERE id = $1 AND term < $2`, int64(room), int64(g.Term))
		return err
	})
}

// commit executes a decision about the room in a transaction, if no later owner has claimed the room.
func (h *hosted) commit(ctx context.Context, s *Service, decide func(tx *sql.Tx) error) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE rooms SET revision = revision + 1 WHERE id = $1 AND term = $2 AND NOT closed`, int64(h.room()), int64(h.grant.Term))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return errMoving
		}
		return decide(tx)
	})
}
