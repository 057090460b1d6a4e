package messagetransaction

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Queue of the jobs of transactions, and how many of them a node runs at the same time.
const (
	Queue       = "transaction"
	Concurrency = 16
)

// checkTimeout bounds an attempt of a check, with the sends that may follow.
const checkTimeout = 2 * time.Minute

// checkArgs name a transaction that was prepared.
type checkArgs struct {
	Transaction uint64 `json:"transaction,string"`
}

// Kind implements job.Args.
func (checkArgs) Kind() string { return "transaction_check" }

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, s.check)
	job.Add(w, s.sendLater)
}

var (
	errUnanswered = errors.New("the transaction was rolled back, because its business server did not say whether to commit it")
	errNoWebhook  = errors.New("its API key has no webhook that could be asked: SetTransactionWebhook sets one")
	errUnknown    = errors.New("the webhook answered that it does not know yet")
)

// check is the worker that asks about a transaction without a decision.
func (s *Service) check(ctx context.Context, j job.Job[checkArgs]) error {
	n := j.Args.Transaction
	t, err := get(ctx, s.deps.DB.Read(), n)
	switch {
	case errs.Is(err, errs.NotFound):
		return job.Cancel(err)
	case err != nil:
		return err
	case t.state == rolledBack && t.cause == transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED: // the node died before the job became a dead letter
		return job.Discard(fmt.Errorf("%w: %s", errUnanswered, t.lastError))
	case t.state != prepared:
		return nil
	}
	if !s.checks.TryAcquire(t.key) {
		return job.Snooze(backoff.Spread(time.Second, 2*time.Second))
	}
	began := time.Now()
	decision, attempt, why := s.ask(ctx, t)
	s.checks.Release(t.key, time.Since(began) >= slowCheck)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := s.reached("checked"); err != nil {
		return err
	}
	var refused *outgoing.Refused
	switch {
	case decision == "commit":
		return s.commitChecked(ctx, n)
	case decision == "roll_back":
		return ignoreDecided(s.rollBack(ctx, n, transactionv1.RollBackCause_ROLL_BACK_CAUSE_SERVER, ""))
	case errors.As(why, &refused): // nobody was asked
		if err := s.uncountCheck(ctx, n); err != nil {
			return err
		}
		return job.Snooze(refused.Delay(time.Duration(s.nowMs()-t.preparedMs) * time.Millisecond))
	case attempt > 0 && attempt < s.config.Checks && !errors.Is(why, errNoWebhook):
		if err := s.noteFailure(ctx, n, why); err != nil {
			return err
		}
		return job.Snooze(backoff.After(attempt, checkFirst, checkLongest))
	case attempt == 0: // the attempt could not be counted
		return why
	}
	if err := s.rollBack(ctx, n, transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED, webhook.ErrorText(why)); err != nil {
		return ignoreDecided(err)
	}
	return job.Discard(fmt.Errorf("%w: %w", errUnanswered, why))
}

// ignoreDecided drops the error that the business server has decided otherwise meanwhile: the first decision counts.
func ignoreDecided(err error) error {
	if errs.Is(err, errs.Conflict) || errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

// commitChecked commits a transaction of which the webhook said so. What cannot be sent now is left to the job of the commit.
func (s *Service) commitChecked(ctx context.Context, transaction uint64) error {
	if err := s.commit(ctx, transaction); err != nil {
		return ignoreDecided(err)
	}
	err := s.send(ctx, transaction)
	if err != nil && isLeftToJob(ctx, err) {
		s.deps.Logger.Warn("messages of a committed transaction are sent later", "transaction", transaction, "error", err)
		return nil
	}
	return err
}

// ask counts an attempt, and asks the webhook. The decision is commit, roll_back, or "" with a reason. The attempt is 0 if it could not be counted.
func (s *Service) ask(ctx context.Context, t *transaction) (decision string, attempt int, err error) {
	var address, secret string
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT url, secret FROM transaction_webhooks WHERE key_name = $1`, t.key).Scan(&address, &secret)
	none := errors.Is(err, sql.ErrNoRows)
	if err != nil && !none {
		return "", 0, err
	}
	if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `UPDATE message_transactions SET checks = checks + 1 WHERE id = $1 RETURNING checks`, int64(t.id)).Scan(&attempt)
	}); err != nil {
		return "", 0, err
	}
	if none {
		return "", attempt, errNoWebhook
	}
	h, err := webhook.New(webhook.Config{URL: address, Secret: secret, Timeout: s.config.Timeout, AllowPrivate: s.config.AllowPrivate},
		webhook.Kind{Kind: outgoing.TransactionWebhook, Calls: s.deps.Calls}, s.deps.Clock)
	if err != nil {
		return "", attempt, err
	}
	defer h.Close()
	body, err := protojson.Marshal(&transactionv1.TransactionCheck{Id: t.id, Reference: t.reference, PreparedMs: t.preparedMs, Attempt: uint32(attempt)})
	if err != nil {
		return "", attempt, err
	}
	var answer struct {
		Decision string `json:"decision"`
	}
	if err := h.Call(ctx, json.RawMessage(body), &answer); err != nil {
		return "", attempt, err
	}
	switch answer.Decision {
	case "commit", "roll_back":
		return answer.Decision, attempt, nil
	case "unknown":
		return "", attempt, errUnknown
	}
	return "", attempt, errors.New(`webhook: the answer's decision is not "commit", "roll_back" or "unknown"`)
}

// uncountCheck reverts the count of a check for which nobody was asked.
func (s *Service) uncountCheck(ctx context.Context, transaction uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE message_transactions SET checks = checks - 1 WHERE id = $1`, int64(transaction))
		return err
	})
}

// noteFailure stores why there is no decision.
func (s *Service) noteFailure(ctx context.Context, transaction uint64, why error) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE message_transactions SET last_error = $2 WHERE id = $1`, int64(transaction), webhook.ErrorText(why))
		return err
	})
}

// SetWebhook sets the webhook of an API key.
func (s *Service) SetWebhook(ctx context.Context, by id.Caller, r *transactionv1.SetTransactionWebhookRequest) error {
	if r.Url == "" {
		return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM transaction_webhooks WHERE key_name = $1`, by.Key)
			return err
		})
	}
	if err := webhook.CheckEndpoint(r.Url, r.Secret, s.config.AllowPrivate, "transactions.allow_private"); err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if r.Secret != "" {
			_, err := tx.ExecContext(ctx, `INSERT INTO transaction_webhooks (key_name, url, secret) VALUES ($1, $2, $3) ON CONFLICT (key_name) DO UPDATE SET url = excluded.url, secret = excluded.secret`, by.Key, r.Url, r.Secret)
			return err
		}
		kept, err := changed(ctx, tx, `UPDATE transaction_webhooks SET url = $2 WHERE key_name = $1`, by.Key, r.Url)
		if err == nil && !kept {
			err = webhook.ErrSecret
		}
		return err
	})
}
