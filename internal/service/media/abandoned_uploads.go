package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// sweepFailed is what the log says of a sweep that fails.
const sweepFailed = "unfinished uploads could not be dropped"

// Run drops uploads that were never completed, pictures of previews that were never sent, and what was released, until ctx ends. Every node
// drops what was released when it is woken: the bytes count for the quota until then.
func (s *Service) Run(ctx context.Context) error {
	dropReleased := func() {
		if err := s.dropReleased(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn(sweepFailed, "error", err)
		}
	}
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: time.Hour, Wake: s.released, AtStart: true, Round: s.sweep, NotCoordinator: dropReleased, Failed: sweepFailed, Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// WakeSweep drops soon what was released in transactions that are committed.
func (s *Service) WakeSweep() {
	select {
	case s.released <- struct{}{}:
	default: // the next round has not begun, and drops it
	}
}

// sweep drops uploads that were not completed, or not sent, in time, page by page. If one fails, the sweep continues with the others, and the next sweep
// retries it.
func (s *Service) sweep(ctx context.Context) error {
	for c, retention := range map[id.Conversation]time.Duration{unsent: unsentRetention, scheduled: scheduledRetention} {
		if err := s.Expired(ctx, c, s.deps.Clock.Now().Add(-retention).UnixMilli()); err != nil {
			return err
		}
	}
	return errors.Join(s.dropReleased(ctx), s.dropAll(ctx, s.listAbandoned))
}

// dropReleased drops uploads that nothing needs any more.
func (s *Service) dropReleased(ctx context.Context) error { return s.dropAll(ctx, s.listReleased) }

// dropAll drops the uploads that list returns, page by page.
func (s *Service) dropAll(ctx context.Context, list func(ctx context.Context, after id.Upload) ([]abandoned, error)) error {
	failed, first := 0, error(nil)
	for after := id.Upload(0); ; {
		old, err := list(ctx, after)
		if err != nil {
			return err
		}
		if len(old) == 0 {
			break
		}
		for _, d := range old {
			after = d.id
			if err := s.drop(ctx, d); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				if failed++; first == nil {
					first = fmt.Errorf("upload %d: %w", d.id, err)
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d uploads could not be dropped; the first: %w", failed, first)
	}
	return nil
}

// abandoned is an upload to be dropped.
type abandoned struct {
	id       id.Upload
	owner    id.User
	attempts int64
}

func (s *Service) listAbandoned(ctx context.Context, after id.Upload) ([]abandoned, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, owner, attempts FROM uploads WHERE complete IN (0, -1) AND created_ms < $1 AND id > $2 ORDER BY id LIMIT 100`, s.unfinishedBefore(), int64(after))
	return scanAbandoned(rows, err)
}

func (s *Service) listReleased(ctx context.Context, after id.Upload) ([]abandoned, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, owner, attempts FROM uploads WHERE complete = -2 AND id > $1 ORDER BY id LIMIT 100`, int64(after))
	return scanAbandoned(rows, err)
}

func scanAbandoned(rows *sql.Rows, err error) (list []abandoned, _ error) {
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var a abandoned
		err := rows.Scan(&a.id, &a.owner, &a.attempts)
		list = append(list, a)
		return err
	})
	return list, err
}

// unfinishedBefore is the time of creation before which incomplete uploads are dropped.
func (s *Service) unfinishedBefore() int64 {
	return s.deps.Clock.Now().Add(-unfinishedRetention).UnixMilli()
}

func (s *Service) drop(ctx context.Context, a abandoned) error {
	// From here on the upload cannot be completed. The row is deleted last, so that no bytes remain without a row.
	if _, err := s.update(ctx, func(tx *sql.Tx) error { return addToTotal(ctx, tx, a.owner, 0, -1) }, `UPDATE uploads SET complete = -2 WHERE id = $1 AND complete = 0`, int64(a.id)); err != nil {
		return err
	}
	if _, err := s.get(ctx, a.id); !errors.Is(err, errNoUpload) {
		return err // nil: it has just been completed
	}
	failpoint.Hit("media/released")
	if s.deps.Dropped != nil {
		if err := s.deps.Dropped(ctx, a.id); err != nil {
			return err
		}
	}
	for attempt := range max(a.attempts, 1) {
		if err := s.deps.Store.Delete(ctx, blobKey(a.id, attempt+1)); err != nil {
			return err
		}
	}
	if err := s.abortParts(ctx, a.id); err != nil {
		return err
	}
	failpoint.Hit("media/bytes-deleted")
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.forgetDropped(ctx, tx, a.id) })
}

// forgetDropped ends the use of the quota by an upload whose bytes are deleted, and deletes its rows. Those of a partial upload are kept as long
// as a client may repeat its concatenation.
func (s *Service) forgetDropped(ctx context.Context, tx *sql.Tx, n id.Upload) error {
	var owner id.User
	var declared int64
	err := tx.QueryRowContext(ctx, `UPDATE uploads SET complete = -1 WHERE id = $1 AND complete = -2 RETURNING owner, declared`, int64(n)).Scan(&owner, &declared)
	if err == nil {
		err = addToTotal(ctx, tx, owner, -declared, 0)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) { // without a row it was counted before
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM upload_parts WHERE upload = $1`, int64(n)); err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, `DELETE FROM uploads WHERE id = $1 AND complete = -1 AND (created_ms < $2 OR NOT EXISTS (SELECT 1 FROM upload_multiparts WHERE upload = $1 AND final > 0))`, int64(n), s.unfinishedBefore())
	if err != nil {
		return err
	}
	if k, err := done.RowsAffected(); err != nil || k == 0 {
		return err
	}
	return deleteLedger(ctx, tx, n)
}
