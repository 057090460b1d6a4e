package job

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// outcome of an attempt.
type outcome struct {
	state    State
	dueMs    int64 // of the next attempt, if the state is Available
	failures int64
	text     string // of the error
	result   string // label of the metrics
}

const finishTimeout = 5 * time.Second // how long storing an outcome is retried after the attempt's context has ended

// finish stores the outcome of an attempt. It tries again until that succeeds, but only for finishTimeout once the context of the attempt has
// ended: then the job runs again.
func (s *Service) finish(a *attempt, o outcome, took time.Duration) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	defer cancel()
	defer context.AfterFunc(a.ctx, func() { time.AfterFunc(finishTimeout, cancel) })()
	retry := backoff.New(retryFirst, retryMax)
	for {
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			o, err = s.store(ctx, tx, a.id, a.attempt, o)
			return err
		})
		switch {
		case err == nil:
			s.metrics.done(a.queue, o.result, took)
			s.report(a.claimed, o)
			return
		case errors.Is(err, errSuperseded):
			s.metrics.done(a.queue, resultSuperseded, took)
			s.deps.Logger.Warn("an attempt of a job ended after another one had begun; its outcome is dropped", "kind", a.kind, "job", a.id, "attempt", a.attempt)
			return
		case ctx.Err() != nil:
			s.deps.Logger.Warn("the outcome of a job could not be stored; it runs again", "kind", a.kind, "job", a.id, "error", err)
			return
		}
		s.deps.Logger.Warn("the outcome of a job could not be stored; it is tried again", "kind", a.kind, "job", a.id, "error", err)
		_ = retry.Wait(ctx) // Write returns the context's end
	}
}

// report logs attempts that failed.
func (s *Service) report(c *claimed, o outcome) {
	switch o.result {
	case resultDiscarded:
		s.deps.Logger.Error("a job failed for good; see rialto admin jobs", "kind", c.kind, "job", c.id, "failures", o.failures, "error", o.text)
	case resultFailed:
		s.deps.Logger.Warn("an attempt of a job failed; it is tried again", "kind", c.kind, "job", c.id, "failures", o.failures, "error", o.text)
	}
}

var errSuperseded = errors.New("another attempt owns the job, or it has ended")

// store stores the outcome of an attempt, if that still owns its job. A job that is to be cancelled is, unless it is complete.
func (s *Service) store(ctx context.Context, tx *sql.Tx, id, number int64, o outcome) (outcome, error) {
	now := s.nowMs()
	finished := now
	if o.state == Available {
		finished = 0
	}
	if o.state != Completed {
		var cancelling bool
		err := tx.QueryRowContext(ctx, `SELECT cancelling FROM jobs WHERE n = $1`, id).Scan(&cancelling)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return o, err
		}
		if cancelling {
			o.state, o.text, o.result, finished = Cancelled, errCancelled.Error(), resultCancelled, now
		}
	}
	done, err := tx.ExecContext(ctx, `UPDATE jobs SET state = $3, due_ms = $4, failures = $5, finished_ms = $6, error = $7, cancelling = FALSE
		WHERE n = $1 AND attempt = $2 AND state = 'running'`, id, number, string(o.state), o.dueMs, o.failures, finished, storable(o.text))
	if err != nil {
		return o, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		if err == nil {
			err = errSuperseded
		}
		return o, err
	}
	if o.state == Cancelled { // the same work may be inserted again
		_, err = tx.ExecContext(ctx, `UPDATE jobs SET unique_key = NULL WHERE n = $1`, id)
	}
	return o, err
}

// storable returns the beginning of an error's text, in a form that both databases store.
func storable(text string) string {
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
