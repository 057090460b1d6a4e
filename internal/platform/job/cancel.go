package job

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Cancel ends a job: at once if it waits. If an attempt is in progress, its context ends within a second or two, and no further attempt
// follows; it may still complete. A job that has ended stays as it is. Cancel returns the state of the job.
func (s *Service) Cancel(ctx context.Context, id int64) (State, error) {
	return s.end(ctx, id, Cancelled, errCancelled.Error(), nil)
}

// Discard is Cancel for operators. A job that waits becomes a dead letter; a running one is cancelled. A job that has ended is not recorded.
func (s *Service) Discard(ctx context.Context, id int64, audit Audit) (State, error) {
	return s.end(ctx, id, Discarded, "discarded by an operator", audit)
}

func (s *Service) end(ctx context.Context, id int64, to State, text string, audit Audit) (state State, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		before, err := infoOf(ctx, tx, id)
		if err != nil {
			return err
		}
		switch state = before.State; state {
		case Running:
			_, err = tx.ExecContext(ctx, `UPDATE jobs SET cancelling = TRUE WHERE n = $1 AND state = 'running'`, id)
		case Available:
			state = to
			_, err = tx.ExecContext(ctx, `UPDATE jobs SET state = $2, finished_ms = $3, error = $4, unique_key = CASE WHEN $5 THEN NULL ELSE unique_key END WHERE n = $1 AND state = 'available'`,
				id, string(to), s.nowMs(), text, to == Cancelled)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		return changed(ctx, tx, audit, before)
	})
	if err == nil && state == Running {
		s.Wake()
	}
	return state, err
}

// ErrNoJob is returned for an id that no stored job has.
var ErrNoJob = errors.New("there is no such job; finished ones are deleted after some time")

func noJob(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoJob
	}
	return err
}

// checkAttempts compares the attempts of this process with their rows. It ends the contexts of those whose jobs are to be cancelled. A row
// without an attempt is available again: the answer to its claim was lost, or its outcome could not be stored. The context of an attempt without
// a row ends: this node was declared dead, and another attempt has the job. Only the dispatcher calls this, so that no claim is in progress.
func (s *Service) checkAttempts(ctx context.Context) error {
	var lost []claimed
	owned := map[int64]bool{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, selectOwn, s.deps.Node, s.process)
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var c claimed
		var cancelling bool
		if err := rows.Scan(&c.id, &c.attempt, &c.failures, &cancelling); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		a := s.running[c.id]
		owned[c.id] = true
		switch {
		case a == nil || a.claimed.attempt != c.attempt:
			lost = append(lost, c)
		case cancelling:
			a.cancel(errCancelled)
		}
		return nil
	}); err != nil {
		return err
	}
	s.cancelExcept(owned)
	if len(lost) == 0 {
		return nil
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range lost[:min(len(lost), batch)] {
			if _, err := s.store(ctx, tx, c.id, c.attempt, outcome{state: Available, dueMs: s.nowMs(), failures: c.failures}); err != nil && !errors.Is(err, errSuperseded) {
				return err
			}
		}
		return nil
	})
}

// cancelExcept ends the contexts of attempts whose jobs are not in a set.
func (s *Service) cancelExcept(owned map[int64]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.running {
		if !owned[id] { // or its outcome has just been stored
			a.cancel(errSuperseded)
		}
	}
}
