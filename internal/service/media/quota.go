package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The quota used by a user's files is stored as a total, and changed in the transaction that changes a file: a new upload costs the
// same whatever their number. The total is recounted at the user's first upload of a day, in case a node of an earlier
// release, which stores no total, changed a file.

const recountInterval = 24 * time.Hour

// reserveQuota enforces the quota, and counts a new upload of size bytes. An incomplete upload counts with its declared size.
// refused is the reason of a rejection; the recounted total is stored even then.
func (s *Service) reserveQuota(ctx context.Context, tx *sql.Tx, u id.User, size uint64) (refused, err error) {
	var used, unfinished, counted int64
	now := s.deps.Clock.Now().UnixMilli()
	err = tx.QueryRowContext(ctx, `SELECT used, unfinished, counted_ms FROM upload_sums WHERE owner = $1`, int64(u)).Scan(&used, &unfinished, &counted)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (now-counted >= recountInterval.Milliseconds() || counted > now) {
		if used, unfinished, err = totalUploads(ctx, tx, u); err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO upload_sums (owner, used, unfinished, counted_ms) VALUES ($1, $2, $3, $4)
				ON CONFLICT (owner) DO UPDATE SET used = $2, unfinished = $3, counted_ms = $4`, int64(u), used, unfinished, now)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case size > s.config.Quota || uint64(used) > s.config.Quota-size:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("your files have %d bytes; the limit for all together is %d", used, s.config.Quota)), nil
	case unfinished >= maxUnfinished:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("%d uploads are not complete; complete them, or wait a day", maxUnfinished)), nil
	}
	return nil, addToTotal(ctx, tx, u, int64(size), 1)
}

// totalUploads sums the sizes of a user's uploads and counts those that are not complete.
func totalUploads(ctx context.Context, tx *sql.Tx, u id.User) (used, unfinished int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(declared), 0) AS BIGINT), coalesce(sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END), 0) FROM uploads WHERE owner = $1 AND complete >= 0`, int64(u)).Scan(&used, &unfinished)
	return used, unfinished, err
}

// addToTotal changes a user's stored totals, if there are any.
func addToTotal(ctx context.Context, tx *sql.Tx, u id.User, used, unfinished int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE upload_sums SET used = used + $1, unfinished = unfinished + $2 WHERE owner = $3`, used, unfinished, int64(u))
	return err
}
