package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Retry makes a dead letter, or a cancelled job, available again. Its failures are forgotten.
func (s *Service) Retry(ctx context.Context, id int64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var state State
		if err := tx.QueryRowContext(ctx, `SELECT state FROM jobs WHERE n = $1`, id).Scan(&state); err != nil {
			return noJob(err)
		}
		if state != Discarded && state != Cancelled {
			return fmt.Errorf("job %d is %s; only a discarded or a cancelled one can be retried", id, state)
		}
		return s.retry(ctx, tx, id)
	})
	if err == nil {
		s.Wake()
	}
	return err
}

func (s *Service) retry(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET state = 'available', due_ms = $2, failures = 0, finished_ms = 0 WHERE n = $1 AND state IN ('discarded', 'cancelled')`, id, s.nowMs())
	return err
}

// RetryDiscarded makes all dead letters available again, those of a kind if it is not empty, in batches. It returns how many.
func (s *Service) RetryDiscarded(ctx context.Context, kind string) (total int, err error) {
	end := s.nowMs() // what fails meanwhile is not retried
	var afterMs, afterID int64
	for more := true; more; {
		n := 0
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			n, more = 0, false
			at, id := afterMs, afterID
			for range batch {
				var of string
				err := tx.QueryRowContext(ctx, `SELECT n, finished_ms, kind FROM jobs WHERE state = 'discarded' AND finished_ms > 0 AND finished_ms <= $1 AND (finished_ms, n) > ($2, $3) ORDER BY finished_ms, n LIMIT 1`,
					end, at, id).Scan(&id, &at, &of)
				if errors.Is(err, sql.ErrNoRows) {
					return nil
				}
				if err != nil {
					return err
				}
				if kind == "" || kind == of {
					if err := s.retry(ctx, tx, id); err != nil {
						return err
					}
					n++
				}
			}
			more, afterMs, afterID = true, at, id
			return nil
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	s.Wake()
	return total, nil
}
