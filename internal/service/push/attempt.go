package push

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

const (
	maxDetail       = 200 // bytes
	attemptsPerPage = 50
	maxAttemptsPage = 100
	// pruneEvery is after how many attempts of a subscription those beyond keptAttempts are deleted.
	pruneEvery = 50
)

// errRetry makes the job try again.
type errRetry struct{ detail string }

func (e errRetry) Error() string { return e.detail }

// finish stores what became of an attempt to push the message at seq, and returns what becomes of the job.
func (s *Service) finish(ctx context.Context, p *subscription, d delivery, row push, seq uint64, r *result) error {
	r.detail = shorten(r.detail)
	newer := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		newer = false
		if err := s.storeAttempt(ctx, tx, p, d, seq, r); err != nil {
			return err
		}
		switch r.kind {
		case gone:
			return remove(ctx, tx, p.id, p.owner)
		case retry:
			return nil
		}
		now, found, err := pushOf(ctx, tx, d)
		if err != nil || !found {
			return err
		}
		if newer = now.seq > row.seq; !newer {
			now.queuedMs = 0
		}
		if r.kind != failed { // one that failed may be tried again by an operator
			now.sent = max(now.sent, row.seq)
		}
		_, err = tx.ExecContext(ctx, `UPDATE pushes SET sent_seq = $3, queued_ms = $4 WHERE subscription = $1 AND conversation = $2`, d.Subscription, int64(d.Conversation), int64(now.sent), now.queuedMs)
		return err
	})
	if err == nil {
		s.counts[r.kind].Add(1)
		s.record(p, d, seq)
	}
	switch {
	case err != nil:
		return err
	case r.kind == retry && r.wait > 0:
		return job.Snooze(r.wait)
	case r.kind == retry:
		return errRetry{r.detail}
	case newer:
		return job.Snooze(0)
	case r.kind == failed:
		s.deps.Logger.Warn("a push notification is given up", "user", p.owner, "subscription", p.id, "provider", p.provider.String(), "status", r.status, "detail", r.detail)
		return job.Discard(errRetry{r.detail})
	}
	return nil
}

// storeAttempt stores the trace of an attempt, and counts it.
func (s *Service) storeAttempt(ctx context.Context, tx *sql.Tx, p *subscription, d delivery, seq uint64, r *result) error {
	now := s.nowMs()
	if _, err := tx.ExecContext(ctx, `INSERT INTO push_attempts (owner, subscription, provider, conversation, seq, at_ms, result, status, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		int64(p.owner), p.id, int64(p.provider), int64(d.Conversation), int64(seq), now, int64(r.kind), r.status, r.detail); err != nil {
		return err
	}
	if err := p.scan(tx.QueryRowContext(ctx, `SELECT `+subscriptionColumns+` FROM push_subscriptions WHERE n = $1`, p.id)); err != nil { // others have counted meanwhile
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if r.wait > 0 {
		p.waitUntilMs = now + min(r.wait, maxRetryAfter).Milliseconds()
	}
	if now >= p.windowMs+window.Milliseconds() {
		p.windowMs, p.windowPushes = now, 0
	}
	if r.kind != dropped {
		p.windowPushes++
	}
	var attempts int64
	err := tx.QueryRowContext(ctx, `UPDATE push_subscriptions SET wait_until_ms = $2, window_ms = $3, window_pushes = $4, attempts = attempts + 1 WHERE n = $1 RETURNING attempts`, p.id, p.waitUntilMs, p.windowMs, p.windowPushes).Scan(&attempts)
	if err != nil || attempts%pruneEvery != 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM push_attempts WHERE subscription = $1 AND n <= (SELECT max(n) FROM (SELECT n FROM push_attempts WHERE subscription = $1 ORDER BY n DESC LIMIT 1 OFFSET $2) AS old)`, p.id, keptAttempts)
	return err
}

func shorten(detail string) string {
	detail = strings.ToValidUTF8(strings.Join(strings.Fields(detail), " "), "")
	return strings.ReplaceAll(excerpt.Bytes(detail, maxDetail), "\x00", "")
}

// ListAttempts returns the results of the latest pushes to a user, the newest first.
func (s *Service) ListAttempts(ctx context.Context, r *pushv1.ListPushAttemptsRequest) (*pushv1.ListPushAttemptsResponse, error) {
	limit := int(r.Limit)
	if limit == 0 {
		limit = attemptsPerPage
	}
	if limit > maxAttemptsPage {
		return nil, errs.New(errs.Invalid, "bad_limit", "a page has at most 100 attempts")
	}
	before := int64(min(r.Before, 1<<63-1))
	if before == 0 {
		before = 1<<63 - 1
	}
	out := &pushv1.ListPushAttemptsResponse{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT n, subscription, provider, conversation, seq, at_ms, result, status, detail FROM push_attempts WHERE owner = $1 AND n < $2 ORDER BY n DESC LIMIT $3`,
		int64(id.User(r.User)), before, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		a := &pushv1.PushAttempt{}
		out.Attempts = append(out.Attempts, a)
		return rows.Scan(&a.Id, &a.Subscription, &a.Provider, &a.Conversation, &a.Seq, &a.TimeMs, &a.Result, &a.Status, &a.Detail)
	})
	if len(out.Attempts) == limit {
		out.Next = out.Attempts[limit-1].Id
	}
	return out, err
}

// Trim deletes old attempts and rows, and the subscriptions of sessions that have ended.
func (s *Service) Trim(ctx context.Context) error {
	before := s.deps.Clock.Now().Add(-keepAttempts).UnixMilli()
	return errors.Join(s.removeEnded(ctx),
		s.deleteOld(ctx, `DELETE FROM push_attempts WHERE n IN (SELECT n FROM push_attempts WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)`, before),
		s.deleteOld(ctx, `DELETE FROM pushes WHERE (subscription, conversation) IN (SELECT subscription, conversation FROM pushes WHERE changed_ms < $1 ORDER BY changed_ms LIMIT $2)`, before))
}

func (s *Service) deleteOld(ctx context.Context, statement string, beforeMs int64) error {
	return s.deps.DB.WriteInBatches(ctx, trimBatch, func(tx *sql.Tx) (int64, error) {
		done, err := tx.ExecContext(ctx, statement, beforeMs, trimBatch)
		if err != nil {
			return 0, err
		}
		return done.RowsAffected()
	})
}

// retryAfter is how long to wait if a provider asks for a pause.
func retryAfter(asked time.Duration) time.Duration {
	if asked <= 0 {
		return time.Minute
	}
	return min(asked, maxRetryAfter)
}
