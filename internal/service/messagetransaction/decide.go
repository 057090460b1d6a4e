package messagetransaction

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

var (
	errRolledBack = errs.New(errs.Conflict, "rolled_back", "this transaction was rolled back, and its messages are never sent; prepare another one")
	errCommitted  = errs.New(errs.Conflict, "committed", "this transaction was committed, and its messages are sent")
)

// CommitMessages commits a transaction, and sends its messages.
func (s *Service) CommitMessages(ctx context.Context, by id.Caller, r *transactionv1.CommitMessagesRequest) (*transactionv1.MessageTransaction, error) {
	if _, err := getOf(ctx, s.deps.DB.Read(), by.Key, r.Id); err != nil {
		return nil, err
	}
	if err := s.commit(ctx, r.Id); err != nil {
		return nil, err
	}
	if err := s.send(ctx, r.Id); err != nil {
		if !isLeftToJob(ctx, err) {
			return nil, err
		}
		s.deps.Logger.Warn("messages of a committed transaction are sent later", "transaction", r.Id, "error", err)
	}
	return s.answerFor(ctx, r.Id)
}

// isLeftToJob reports whether a failed send leaves the rest to the job of the commit: the decision is stored, so the call has an answer.
func isLeftToJob(ctx context.Context, err error) bool { return ctx.Err() == nil && isTemporary(err) }

// commit stores the decision, once, and the job that sends what the caller does not.
func (s *Service) commit(ctx context.Context, transaction uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		t, err := get(ctx, tx, transaction)
		switch {
		case err != nil:
			return err
		case t.state == rolledBack:
			return errRolledBack
		case t.state != prepared:
			return nil
		}
		inserted, err := s.deps.Jobs.InsertTx(ctx, tx, sendArgs{t.id}, job.Options{Queue: Queue, At: s.deps.Clock.Now().Add(sendDelay)})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE message_transactions SET state = $2, job = $3 WHERE id = $1 AND state = $4`, int64(t.id), int64(committed), inserted.ID, int64(prepared))
		return err
	})
	if err != nil {
		return err
	}
	return s.reached("committed")
}

// RollBackMessages rolls a transaction back.
func (s *Service) RollBackMessages(ctx context.Context, by id.Caller, r *transactionv1.RollBackMessagesRequest) (*transactionv1.MessageTransaction, error) {
	if _, err := getOf(ctx, s.deps.DB.Read(), by.Key, r.Id); err != nil {
		return nil, err
	}
	if err := s.rollBack(ctx, r.Id, transactionv1.RollBackCause_ROLL_BACK_CAUSE_SERVER, ""); err != nil {
		return nil, err
	}
	return s.answerFor(ctx, r.Id)
}

// rollBack stores the decision, once.
func (s *Service) rollBack(ctx context.Context, transaction uint64, cause transactionv1.RollBackCause, why string) error {
	ended := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		ended = false
		t, err := get(ctx, tx, transaction)
		switch {
		case err != nil:
			return err
		case t.state == rolledBack:
			return nil
		case t.state != prepared:
			return errCommitted
		}
		ended, err = changed(ctx, tx, `UPDATE message_transactions SET state = $2, ended_ms = $3, cause = $4, last_error = CASE WHEN CAST($5 AS TEXT) = '' THEN last_error ELSE $5 END WHERE id = $1 AND state = $6`,
			int64(t.id), int64(rolledBack), s.nowMs(), int64(cause), why, int64(prepared))
		if err == nil && ended {
			err = addKept(ctx, tx, t.key, tally{1, t.bytes})
		}
		return err
	})
	if err != nil {
		return err
	}
	if ended && cause == transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED {
		s.results[ResultUnanswered].Add(1)
		s.deps.Logger.Error("a message transaction was rolled back, because its business server did not say whether to commit it; see rialto admin transactions", "transaction", transaction, "error", why)
	} else if ended {
		s.results[ResultRolledBack].Add(1)
	}
	return s.reached("rolled-back")
}

func (s *Service) answer(ctx context.Context, t *transaction) (*transactionv1.MessageTransaction, error) {
	v, _, err := view(ctx, s.deps.DB.Read(), t)
	return v, err
}

func (s *Service) answerFor(ctx context.Context, transaction uint64) (*transactionv1.MessageTransaction, error) {
	t, err := get(ctx, s.deps.DB.Read(), transaction)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, t)
}

// CleanUp deletes transactions that ended long ago, and rolls back those without a decision that no job asks about.
func (s *Service) CleanUp(ctx context.Context) error {
	now := s.deps.Clock.Now()
	if err := s.rollBackOld(ctx, now.Add(-maxOpenAge)); err != nil {
		return err
	}
	if err := s.trimKept(ctx); err != nil {
		return err
	}
	return s.deps.DB.WriteInBatches(ctx, batch, func(tx *sql.Tx) (int64, error) {
		ids, err := sqldb.Column[int64](tx.QueryContext(ctx, `SELECT id FROM message_transactions WHERE ended_ms > 0 AND ended_ms < $1 ORDER BY ended_ms LIMIT $2`, now.Add(-keepEnded).UnixMilli(), batch))
		if err != nil {
			return 0, err
		}
		return int64(len(ids)), remove(ctx, tx, ids)
	})
}

func (s *Service) rollBackOld(ctx context.Context, before time.Time) error {
	ids, err := sqldb.Column[int64](s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM message_transactions WHERE state = $1 AND ended_ms = 0 AND prepared_ms < $2 ORDER BY id LIMIT $3`, int64(prepared), before.UnixMilli(), batch))
	if err != nil {
		return err
	}
	for _, n := range ids {
		err := s.rollBack(ctx, uint64(n), transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED, "no node has asked for a day; see rialto admin jobs")
		if err != nil && !errs.Is(err, errs.Conflict) && !errs.Is(err, errs.NotFound) { // somebody decided meanwhile
			return err
		}
	}
	return nil
}
