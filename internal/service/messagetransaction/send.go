package messagetransaction

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// sendArgs name a transaction that was committed.
type sendArgs struct {
	Transaction uint64 `json:"transaction,string"`
}

// Kind implements job.Args.
func (sendArgs) Kind() string { return "transaction_send" }

// isTemporary reports whether a message that was refused may be stored later, or is stored already.
func isTemporary(err error) bool {
	e := errs.Of(err)
	return e.Retry > 0 || e.Kind == errs.Unavailable || e.Kind == errs.Internal
}

// send sends the messages of a committed transaction, in their order, and stores what became of them. If one cannot be stored for now, it fails, and those
// after it wait.
func (s *Service) send(ctx context.Context, transaction uint64) error {
	t, err := get(ctx, s.deps.DB.Read(), transaction)
	if err != nil || t.state != committed {
		return err
	}
	list, err := messagesOf(ctx, s.deps.DB.Read(), transaction)
	if err != nil {
		return err
	}
	var ended []*preparedMessage
	for _, m := range list {
		if m.seq > 0 || m.reason != "" {
			continue
		}
		if err = s.sendOne(ctx, t.id, m); err != nil {
			break
		}
		ended = append(ended, m)
	}
	if died := s.reached("sent"); died != nil {
		return died
	}
	return errors.Join(err, s.storeSent(ctx, t.id, ended), s.reached("stored"))
}

// sendOne sends a message, and notes where it is stored or why it was refused for good.
func (s *Service) sendOne(ctx context.Context, transaction uint64, m *preparedMessage) error {
	if err := s.reached("before-send"); err != nil {
		return err
	}
	d := m.draft(transaction)
	err := s.deps.Chat.Send(ctx, d)
	switch {
	case err == nil:
		m.seq, m.message = d.Seq, d.ID.String()
	case ctx.Err() != nil: // the outcome is unknown
		return ctx.Err()
	case isTemporary(err):
		return err
	case errs.Of(err).Reason == "expired" && d.Seq > 0: // it was stored before, and has disappeared
		m.seq = d.Seq
	default:
		m.reason = errs.Of(err).Reason
	}
	return nil
}

// storeSent stores what became of messages, and ends the transaction if it was the last ones.
func (s *Service) storeSent(ctx context.Context, transaction uint64, ended []*preparedMessage) error {
	var state State
	why := ""
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		state = 0
		for _, m := range ended {
			if _, err := changed(ctx, tx, `UPDATE prepared_messages SET seq = $3, message = $4, reason = $5, content = CASE WHEN CAST($3 AS BIGINT) > 0 THEN $6 ELSE content END
				WHERE owner = $1 AND n = $2 AND seq = 0`, int64(transaction), m.n, int64(m.seq), m.message, m.reason, []byte{}); err != nil {
				return err
			}
		}
		var open, refused, used int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(CASE WHEN seq = 0 AND reason = '' THEN 1 END), COUNT(CASE WHEN reason <> '' THEN 1 END), CAST(COALESCE(SUM(LENGTH(content)), 0) AS BIGINT), MAX(reason)
			FROM prepared_messages WHERE owner = $1`, int64(transaction)).Scan(&open, &refused, &used, &why); err != nil {
			return err
		}
		if open > 0 {
			return nil
		}
		to := sent
		if refused > 0 {
			to = failed
		}
		var key string
		err := tx.QueryRowContext(ctx, `UPDATE message_transactions SET state = $2, ended_ms = $3, bytes = $4 WHERE id = $1 AND state = $5 RETURNING key_name`,
			int64(transaction), int64(to), s.nowMs(), used, int64(committed)).Scan(&key)
		switch {
		case errors.Is(err, sql.ErrNoRows): // it has ended already
			return nil
		case err == nil && to == failed && used > 0:
			err = addKept(ctx, tx, key, tally{1, used})
		}
		state = to
		return err
	})
	if err != nil {
		return err
	}
	switch state {
	case sent:
		s.results[ResultSent].Add(1)
	case failed:
		s.results[ResultFailed].Add(1)
		s.deps.Logger.Error("messages of a committed transaction were refused; see rialto admin transactions", "transaction", transaction, "reason", why)
	}
	return nil
}

// sendLater is the worker of the job of a commit. That of a failed transaction becomes a dead letter; when an operator retries it, the messages are tried again.
func (s *Service) sendLater(ctx context.Context, j job.Job[sendArgs]) error {
	n := j.Args.Transaction
	if j.Attempt > 1 {
		if err := s.reopen(ctx, n); err != nil {
			return err
		}
	}
	if err := s.send(ctx, n); err != nil {
		if errs.Is(err, errs.NotFound) { // it ended long ago
			return job.Cancel(err)
		}
		return err
	}
	t, err := get(ctx, s.deps.DB.Read(), n)
	switch {
	case errs.Is(err, errs.NotFound):
		return job.Cancel(err)
	case err != nil:
		return err
	case t.trimmed():
		return job.Discard(ErrTrimmed)
	case t.state == failed:
		return job.Discard(fmt.Errorf("messages of the transaction %d were refused: rialto admin transactions show --id %d", n, n))
	}
	return nil
}

// reopen makes the messages of a failed transaction that were refused be sent again, if it still has their contents.
func (s *Service) reopen(ctx context.Context, transaction uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return reopen(ctx, tx, transaction)
	})
}

func reopen(ctx context.Context, tx *sql.Tx, transaction uint64) error {
	var key string
	var used int64
	err := tx.QueryRowContext(ctx, `UPDATE message_transactions SET state = $2, ended_ms = 0 WHERE id = $1 AND state = $3 AND bytes > 0 RETURNING key_name, bytes`,
		int64(transaction), int64(committed), int64(failed)).Scan(&key, &used)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, `UPDATE prepared_messages SET reason = '' WHERE owner = $1 AND seq = 0`, int64(transaction)); err != nil {
		return err
	}
	return addKept(ctx, tx, key, tally{-1, -used})
}
