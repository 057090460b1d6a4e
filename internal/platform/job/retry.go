package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// StateError is the error of a job whose state does not allow what was to be done.
type StateError struct {
	ID    int64
	State State
	text  string // what is possible
}

func (e *StateError) Error() string { return fmt.Sprintf("job %d is %s; %s", e.ID, e.State, e.text) }

// Audit is called in the transaction of a change by an operator, with the job before and after it; after is zero if it was deleted. If it fails, nothing is
// changed. It may be called again if the transaction is repeated. Nil: the change is not recorded.
type Audit func(ctx context.Context, tx *sql.Tx, before, after Info) error

// changed calls an audit with a job as it was, and as it is now.
func changed(ctx context.Context, tx *sql.Tx, audit Audit, before Info) error {
	if audit == nil {
		return nil
	}
	after, err := infoOf(ctx, tx, before.ID)
	if err != nil {
		return err
	}
	return audit(ctx, tx, before, after)
}

// Retry makes a dead letter, or a cancelled job, available again. Its failures are forgotten. It fails with ErrNoJob, or with a StateError.
func (s *Service) Retry(ctx context.Context, id int64, audit Audit) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		before, err := infoOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if before.State != Discarded && before.State != Cancelled {
			return &StateError{id, before.State, "only a discarded or a cancelled one can be retried"}
		}
		if err := s.retry(ctx, tx, id); err != nil {
			return err
		}
		return changed(ctx, tx, audit, before)
	})
	if err == nil {
		s.Wake()
	}
	return err
}

// Drop deletes a dead letter. It fails with ErrNoJob, or with a StateError.
func (s *Service) Drop(ctx context.Context, id int64, audit Audit) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		before, err := infoOf(ctx, tx, id)
		if err != nil {
			return err
		}
		if before.State != Discarded {
			return &StateError{id, before.State, "only a discarded one can be dropped"}
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM jobs WHERE n = $1 AND state = 'discarded'`, id); err != nil || audit == nil {
			return err
		}
		return audit(ctx, tx, before, Info{})
	})
}

func (s *Service) retry(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET state = 'available', due_ms = $2, failures = 0, finished_ms = 0 WHERE n = $1 AND state IN ('discarded', 'cancelled')`, id, s.nowMs())
	return err
}

// BatchAudit is Audit for dead letters that one transaction makes available again: those with the ids, of which there is at least one.
type BatchAudit func(ctx context.Context, tx *sql.Tx, ids []int64) error

// RetryDiscarded makes all dead letters available again, those of a kind if it is not empty, in batches. It returns how many.
func (s *Service) RetryDiscarded(ctx context.Context, kind string, audit BatchAudit) (total int, err error) {
	end := s.nowMs() // what fails meanwhile is not retried
	var after discardedAt
	for more := true; more; {
		var ids []int64
		var last discardedAt
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			if ids, last, more, err = s.retryBatch(ctx, tx, kind, after, end); err != nil || len(ids) == 0 || audit == nil {
				return err
			}
			return audit(ctx, tx, ids)
		})
		if err != nil {
			return total, err
		}
		after = last
		total += len(ids)
	}
	s.Wake()
	return total, nil
}

// discardedAt is the place of a dead letter in the order in which they ended.
type discardedAt struct{ ms, id int64 }

// retryBatch looks at the dead letters that follow a place and ended by a time, at most batch, and makes those of a kind available again. It returns their ids, the place of
// the last that it looked at, and whether there may be more.
func (s *Service) retryBatch(ctx context.Context, tx *sql.Tx, kind string, after discardedAt, end int64) (ids []int64, last discardedAt, more bool, err error) {
	last = after
	for range batch {
		var of string
		err := tx.QueryRowContext(ctx, `SELECT n, finished_ms, kind FROM jobs WHERE state = 'discarded' AND finished_ms > 0 AND finished_ms <= $1 AND (finished_ms, n) > ($2, $3) ORDER BY finished_ms, n LIMIT 1`,
			end, last.ms, last.id).Scan(&last.id, &last.ms, &of)
		if errors.Is(err, sql.ErrNoRows) {
			return ids, last, false, nil
		}
		if err != nil {
			return nil, after, false, err
		}
		if kind != "" && kind != of {
			continue
		}
		if err := s.retry(ctx, tx, last.id); err != nil {
			return nil, after, false, err
		}
		ids = append(ids, last.id)
	}
	return ids, last, true, nil
}
