package officialaccount

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"golang.org/x/sync/errgroup"
)

const (
	// maxDeferred bounds the deferred events of an account. While there are as many, an event that fails holds up those behind it.
	maxDeferred = 100
	// deferredPerRound bounds the deferred events that are tried in a round.
	deferredPerRound = 200
	// deferredInterval is the time between two rounds.
	deferredInterval = 5 * time.Second
)

// deferredEvent is a row of official_deferred: an event of an account's stream that could not be answered, and is tried again beside the stream.
type deferredEvent struct {
	account  id.User
	position message.Position // before the event
	tries    int
}

// deferEvent stores the event after an account's position, to be tried again later, and moves the position over it.
func (s *Service) deferEvent(ctx context.Context, o *official, cause error) error {
	next := o.position + 1 // of an event that cannot be read
	read, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if page, err := s.readStream(read, o.account, o.position, 1); err == nil {
		next = max(next, message.Position(page.GetNext().GetSeq()))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := movePosition(ctx, tx, o, next); err != nil {
			return err
		}
		var waiting int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM official_deferred WHERE account = $1`, int64(o.account)).Scan(&waiting); err != nil || waiting >= maxDeferred {
			return orElse(err, cause)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO official_deferred (account, position, tries, due_ms) VALUES ($1, $2, 1, $3) ON CONFLICT DO NOTHING`,
			int64(o.account), int64(o.position), s.nowMs()+retryDelay(1).Milliseconds())
		return err
	})
	if err != nil {
		return err
	}
	s.deps.Logger.Warn("an official account answers a message later", "account", o.account, "position", uint64(o.position), "error", cause)
	o.position = next
	return nil
}

// AnswerDeferred tries the deferred events again that are due.
func (s *Service) AnswerDeferred(ctx context.Context) error {
	due, err := s.dueDeferred(ctx)
	if err != nil {
		return err
	}
	tries := errgroup.Group{}
	tries.SetLimit(atOnce)
	for _, e := range due {
		tries.Go(func() error {
			if err := s.answerDeferred(ctx, e); err != nil && ctx.Err() == nil {
				return s.postponeDeferred(ctx, e, err)
			}
			return ctx.Err()
		})
	}
	return tries.Wait()
}

func (s *Service) dueDeferred(ctx context.Context) (list []deferredEvent, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT account, position, tries FROM official_deferred WHERE due_ms <= $1 ORDER BY due_ms, account, position LIMIT $2`, s.nowMs(), deferredPerRound)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var e deferredEvent
		var position int64
		err := rows.Scan(&e.account, &position, &e.tries)
		e.position = message.Position(position)
		list = append(list, e)
		return err
	})
	return list, err
}

// answerDeferred answers an event, unless the account does not answer any more.
func (s *Service) answerDeferred(ctx context.Context, e deferredEvent) error {
	o, err := read(ctx, s.deps.DB.Read(), e.account)
	if err != nil {
		return err
	}
	if o.disabled || !o.answers {
		return s.dropDeferred(ctx, e)
	}
	rules, err := o.matcherOf()
	if err != nil {
		return err
	}
	_, incoming, err := s.readPage(ctx, o, rules, e.position, 1)
	if err != nil {
		return err
	}
	stored := false
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		stored = false
		deleted, err := tx.ExecContext(ctx, `DELETE FROM official_deferred WHERE account = $1 AND position = $2`, int64(e.account), int64(e.position))
		if err != nil {
			return err
		}
		if n, err := deleted.RowsAffected(); err != nil || n == 0 { // another node has answered it
			return err
		}
		for _, m := range incoming {
			if stored, err = s.storeReply(ctx, tx, o, m, rules.replies.Fallback, true); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && stored {
		s.signal()
	}
	return err
}

// postponeDeferred stores when an event is tried again that failed. After the last attempt it is not answered.
func (s *Service) postponeDeferred(ctx context.Context, e deferredEvent, cause error) error {
	if e.tries++; e.tries >= attemptsOf(cause, maxAttempts) {
		if err := s.dropDeferred(ctx, e); err != nil {
			return err
		}
		s.abandoned.Messages.Add(1)
		s.deps.Logger.Error("answering a message failed too often; the official account does not answer it", "account", e.account, "position", uint64(e.position), "error", cause)
		return nil
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE official_deferred SET tries = $3, due_ms = $4 WHERE account = $1 AND position = $2`,
			int64(e.account), int64(e.position), e.tries, s.nowMs()+retryDelay(e.tries).Milliseconds())
		return err
	})
}

func (s *Service) dropDeferred(ctx context.Context, e deferredEvent) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM official_deferred WHERE account = $1 AND position = $2`, int64(e.account), int64(e.position))
		return err
	})
}
