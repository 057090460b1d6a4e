package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The quota used by a user's files is stored as a total, and changed in the transaction that changes a file. So a new upload costs the
// same whatever their number. A user without a total has no files: the migration counted those of earlier builds.

// reserveQuota enforces the quota, and counts a new upload of size bytes. An incomplete upload counts with its declared size.
// refused is the reason of a rejection.
func (s *Service) reserveQuota(ctx context.Context, tx *sql.Tx, u id.User, size uint64) (refused, err error) {
	var used, unfinished int64
	err = tx.QueryRowContext(ctx, `SELECT used, unfinished FROM upload_sums WHERE owner = $1`, int64(u)).Scan(&used, &unfinished)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return nil, err
	case size > s.config.Quota || uint64(used) > s.config.Quota-size:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("your files have %d bytes; the limit for all together is %d", used, s.config.Quota)), nil
	case unfinished >= maxUnfinished:
		return errs.New(errs.Exhausted, "quota", fmt.Sprintf("%d uploads are not complete; complete them, or wait a day", maxUnfinished)), nil
	}
	return nil, addToTotal(ctx, tx, u, int64(size), 1)
}

// addToTotal changes a user's stored total.
func addToTotal(ctx context.Context, tx *sql.Tx, u id.User, used, unfinished int64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO upload_sums (owner, used, unfinished, counted_ms) VALUES ($1, $2, $3, 0)
		ON CONFLICT (owner) DO UPDATE SET used = upload_sums.used + $2, unfinished = upload_sums.unfinished + $3`, int64(u), used, unfinished)
	return err
}
