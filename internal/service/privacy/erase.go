package privacy

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// attemptTime is how long an attempt does steps, before it lets another job of the queue run.
const attemptTime = time.Minute

// erase is the worker of an erasure.
func (s *Service) erase(ctx context.Context, j job.Job[eraseArgs]) error {
	u := id.User(j.Args.User)
	e, err := row(ctx, s.deps.DB.Read(), u)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && e.requestedMs != j.Args.RequestedMs && e.startedMs == 0:
		return nil // it was cancelled, or brought forward
	case err != nil:
		return err
	case e.doneMs > 0:
		return nil
	}
	if err := s.begin(ctx, u); err != nil {
		return err
	}
	if err := s.reached("begun"); err != nil {
		return err
	}
	if e, err = row(ctx, s.deps.DB.Read(), u); err != nil {
		return err
	}
	for began := time.Now(); e.participant < len(s.deps.Participants); {
		if err := s.step(ctx, e); err != nil {
			return err
		}
		if time.Since(began) > attemptTime {
			return job.Snooze(0)
		}
	}
	return s.end(ctx, e)
}

// begin makes the beginning of an erasure durable. From then on it cannot be cancelled.
func (s *Service) begin(ctx context.Context, u id.User) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE erasures SET started_ms = CASE WHEN started_ms = 0 THEN $2 ELSE started_ms END WHERE owner = $1`, int64(u), s.nowMs())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNoErasure)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.deps.Accounts.BeginErasure(ctx, u)
}

// step does a step of the next participant, and stores where the erasure is.
func (s *Service) step(ctx context.Context, e *erasure) error {
	p := s.deps.Participants[e.participant]
	done, err := p.EraseUser(ctx, e.owner, e.position)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name(), err)
	}
	if err := s.reached("step"); err != nil {
		return err
	}
	if e.position = done.Next; done.Done {
		e.participant, e.position = e.participant+1, ""
	}
	e.parts[p.Name()] += done.Erased
	parts, err := json.Marshal(e.parts)
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE erasures SET participant = $2, position = $3, parts = $4 WHERE owner = $1`, int64(e.owner), e.participant, e.position, string(parts))
		return err
	})
}

// end stores that nothing is left.
func (s *Service) end(ctx context.Context, e *erasure) error {
	if err := s.deps.Accounts.EndErasure(ctx, e.owner); err != nil {
		return err
	}
	if err := s.reached("ended"); err != nil {
		return err
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE erasures SET done_ms = $2 WHERE owner = $1 AND done_ms = 0`, int64(e.owner), s.nowMs())
		return err
	})
	if err == nil {
		s.deps.Logger.Info("a user was erased", "user", e.owner, "participants", len(s.deps.Participants))
	}
	return err
}
