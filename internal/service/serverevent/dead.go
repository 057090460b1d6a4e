package serverevent

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// deadLetter is a row: the events of a stream after first and up to last.
type deadLetter struct {
	id          uint64
	consumer    string
	stream      timeline.Key
	first, last uint64
	events      int
	why         string
	attempts    int
	createdMs   int64
	retrying    bool
}

const (
	// maxDead bounds the dead letters of a consumer. Beyond it, the oldest are deleted.
	maxDead         = 10_000
	defaultDeadPage = 50
	maxDeadPage     = 200
)

// bury stores a dead letter, and moves the consumer past its events.
func (s *Service) bury(ctx context.Context, c *consumer, d *deadLetter) (err error) {
	if d.id, err = s.deps.IDs.Next(ctx); err != nil {
		return err
	}
	err = s.confirm(ctx, c.name, c.generation, map[timeline.Key]uint64{d.stream: d.last}, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO event_dead (id, consumer, stream, first, last, events, error, attempts, created_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			int64(d.id), d.consumer, int64(d.stream.ID), int64(d.first), int64(d.last), d.events, d.why, d.attempts, s.nowMs()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM event_dead WHERE consumer = $1 AND id <= (SELECT id FROM event_dead WHERE consumer = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`, d.consumer, maxDead)
		return err
	})
	if err == nil {
		s.dead.Add(1)
	}
	return err
}

// deadLetters returns dead letters of a consumer above an id: all, or those that are to be delivered again.
func (s *Service) deadLetters(ctx context.Context, consumer string, after uint64, limit int) ([]*deadLetter, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, consumer, stream, first, last, events, error, attempts, created_ms, retrying FROM event_dead
		WHERE consumer = $1 AND id > $2 ORDER BY id LIMIT $3`, consumer, int64(after), limit)
	return scanDead(rows, err)
}

func (s *Service) retryingOf(ctx context.Context, consumer string, stream timeline.Key) ([]*deadLetter, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, consumer, stream, first, last, events, error, attempts, created_ms, retrying FROM event_dead
		WHERE consumer = $1 AND stream = $2 AND retrying ORDER BY id LIMIT 16`, consumer, int64(stream.ID))
	return scanDead(rows, err)
}

func scanDead(rows *sql.Rows, err error) (list []*deadLetter, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		d := &deadLetter{stream: timeline.Key{Kind: timeline.Inbox}}
		if err := rows.Scan(&d.id, &d.consumer, &d.stream.ID, &d.first, &d.last, &d.events, &d.why, &d.attempts, &d.createdMs, &d.retrying); err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

// retryingStreams returns the streams of a consumer with dead letters that are to be delivered again.
func (s *Service) retryingStreams(ctx context.Context, consumer string) (map[timeline.Key]bool, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT DISTINCT stream FROM event_dead WHERE consumer = $1 AND retrying`, consumer)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	streams := map[timeline.Key]bool{}
	for rows.Next() {
		k := timeline.Key{Kind: timeline.Inbox}
		if err := rows.Scan(&k.ID); err != nil {
			return nil, err
		}
		streams[k] = true
	}
	return streams, rows.Err()
}

func (s *Service) countDead(ctx context.Context, consumer string) (n uint32, err error) {
	return n, s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM event_dead WHERE consumer = $1`, consumer).Scan(&n)
}

// retryDead delivers the dead letters of a stream that an operator wants to be retried, once each. While the webhook is not called, its error is an *outgoing.Refused.
func (s *Service) retryDead(ctx context.Context, c *consumer, h *delivery, k timeline.Key) error {
	list, err := s.retryingOf(ctx, c.name, k)
	if err != nil {
		return err
	}
	for _, d := range list {
		b, err := s.eventsOf(ctx, c, d)
		if err != nil {
			return err
		}
		failure := error(nil)
		if len(b.events) > 0 {
			failure = s.post(ctx, c, h, b, true)
		}
		if ctx.Err() != nil {
			return nil
		}
		if outgoing.IsRefused(failure) { // no attempt: it stays to be retried
			return failure
		}
		if err := s.settleRetry(ctx, d, failure); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) settleRetry(ctx context.Context, d *deadLetter, failure error) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if failure == nil {
			_, err := tx.ExecContext(ctx, `DELETE FROM event_dead WHERE id = $1`, int64(d.id))
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE event_dead SET retrying = FALSE, error = $2, attempts = attempts + 1 WHERE id = $1`, int64(d.id), webhook.ErrorText(failure))
		return err
	})
}

// eventsOf reads the events of a dead letter that are still kept.
func (s *Service) eventsOf(ctx context.Context, c *consumer, d *deadLetter) (*batch, error) {
	b, err := s.readStream(ctx, c, d.stream, d.first, bounds{events: d.events, bytes: pullBytes, scan: pullScan, last: d.last})
	if b != nil {
		b.gap = false
	}
	return b, err
}

func (d *deadLetter) describe() *eventv1.DeadEvents {
	return &eventv1.DeadEvents{Id: d.id, Events: uint32(d.events), Error: d.why, Attempts: uint32(d.attempts), TimeMs: d.createdMs, Retrying: d.retrying}
}

// ListDead returns a page of a consumer's dead letters.
func (s *Service) ListDead(ctx context.Context, by id.Caller, r *eventv1.ListDeadEventsRequest) (*eventv1.ListDeadEventsResponse, error) {
	if r.Limit > maxDeadPage {
		return nil, errs.New(errs.Invalid, "bad_limit", "limit is at most 200")
	}
	if _, err := s.consumerOf(ctx, by, r.Consumer); err != nil {
		return nil, err
	}
	list, err := s.deadLetters(ctx, r.Consumer, r.After, int(cmp.Or(r.Limit, defaultDeadPage)))
	res := &eventv1.ListDeadEventsResponse{}
	for _, d := range list {
		res.Dead = append(res.Dead, d.describe())
	}
	return res, err
}

// GetDead returns a dead letter with its events.
func (s *Service) GetDead(ctx context.Context, by id.Caller, r *eventv1.GetDeadEventsRequest) (*eventv1.GetDeadEventsResponse, error) {
	c, err := s.consumerOf(ctx, by, r.Consumer)
	if err != nil {
		return nil, err
	}
	if r.Id == 0 {
		return nil, errGone
	}
	list, err := s.deadLetters(ctx, r.Consumer, r.Id-1, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || list[0].id != r.Id {
		return nil, errGone
	}
	b, err := s.eventsOf(ctx, c, list[0])
	if err != nil {
		return nil, err
	}
	return &eventv1.GetDeadEventsResponse{Dead: list[0].describe(), Events: b.events}, nil
}

// RetryDead has dead letters delivered again.
func (s *Service) RetryDead(ctx context.Context, by id.Caller, r *eventv1.RetryDeadEventsRequest) (*eventv1.RetryDeadEventsResponse, error) {
	if _, err := s.consumerOf(ctx, by, r.Consumer); err != nil {
		return nil, err
	}
	res := &eventv1.RetryDeadEventsResponse{}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE event_dead SET retrying = TRUE WHERE consumer = $1 AND (CAST($2 AS BIGINT) = 0 OR id = $2)`, r.Consumer, int64(r.Id))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		res.Retried = uint32(n)
		return err
	})
	if err == nil && r.Id != 0 && res.Retried == 0 {
		err = errGone
	}
	s.deliverer.reload()
	return res, err
}
