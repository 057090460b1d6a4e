package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// Run drops uploads that were never completed, and pictures of previews that were never sent, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: time.Hour, AtStart: true, Round: s.sweep, Failed: "unfinished uploads could not be dropped", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// sweep drops uploads that were not completed, or not sent, in time, page by page. If one fails, the sweep continues with the others, and the next sweep
// retries it.
func (s *Service) sweep(ctx context.Context) error {
	if err := s.Expired(ctx, unsent, s.deps.Clock.Now().Add(-unsentRetention).UnixMilli()); err != nil {
		return err
	}
	failed, first := 0, error(nil)
	for after := id.Upload(0); ; {
		old, err := s.listAbandoned(ctx, after)
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
	id                 id.Upload
	owner              id.User
	attempts, declared int64
}

func (s *Service) listAbandoned(ctx context.Context, after id.Upload) (listAbandoned []abandoned, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, owner, attempts, declared FROM uploads WHERE complete <= 0 AND created_ms < $1 AND id > $2 ORDER BY id LIMIT 100`, s.deps.Clock.Now().Add(-unfinishedRetention).UnixMilli(), int64(after))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a abandoned
		if err := rows.Scan(&a.id, &a.owner, &a.attempts, &a.declared); err != nil {
			return nil, err
		}
		listAbandoned = append(listAbandoned, a)
	}
	return listAbandoned, rows.Err()
}

func (s *Service) drop(ctx context.Context, a abandoned) error {
	// From here on the upload cannot be completed. The row is deleted last, so that no bytes remain without a row.
	if _, err := s.update(ctx, func(tx *sql.Tx) error { return addToTotal(ctx, tx, a.owner, -a.declared, -1) }, `UPDATE uploads SET complete = -1 WHERE id = $1 AND complete = 0`, int64(a.id)); err != nil {
		return err
	}
	if _, err := s.get(ctx, a.id); !errors.Is(err, errNoUpload) {
		return err // nil: it has just been completed
	}
	for attempt := range max(a.attempts, 1) {
		if err := s.deps.Store.Delete(ctx, blobKey(a.id, attempt+1)); err != nil {
			return err
		}
	}
	if err := s.abortParts(ctx, a.id); err != nil {
		return err
	}
	_, err := s.update(ctx, func(tx *sql.Tx) error { return deleteLedger(ctx, tx, a.id) }, `DELETE FROM uploads WHERE id = $1 AND complete = -1`, int64(a.id))
	return err
}
