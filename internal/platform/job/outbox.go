// Package job runs durable background work: jobs, and the outbox of users' streams.
//
// A job (Service) is a row that is committed with the change that causes it. It runs at least once: it runs again after an error or a crash, and
// may run on two nodes at the same time if one of them was declared dead but was only paused. So workers are idempotent. Each attempt has a number, and only
// the latest attempt can end its job. A job that fails too often becomes a dead letter, which operators may retry. Jobs have no order, except by priority. A
// periodic job (Every) is inserted once in each period. All methods of a Service may be called from many goroutines; Run is called once. No
// other package names the tables.
//
// The outbox commits a change of the database together with the events that it causes in users'
// streams. Events are dispatched at least once, those of one node in the order of its commits. Events of several nodes that change the
// same rows are in order as well, if each node changes the rows first and then calls Put. One node at a time dispatches (OutboxLease). The
// quarantine stores the positions of corrupt entries.
package job

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Event is for one user's stream. Body is one field of rialto.chat.v1.Event (message.AppendBody). Fence, which RunLeased sets, is the
// fencing token of the lease: the event is stored only while IsCurrent confirms it.
type Event struct {
	User  id.User
	Body  []byte
	Fence string
}

// Outbox stores events until they are dispatched.
type Outbox struct {
	db     *sqldb.DB
	logger *slog.Logger
	wake   chan struct{}
}

const (
	pageEvents   = 500
	pageBytes    = 1 << 20 // a page ends when its events exceed this
	retryFirst   = 50 * time.Millisecond
	retryMax     = 5 * time.Second
	pollInterval = 2 * time.Second // finds events whose writer died before calling Wake
)

// NewOutbox creates its tables if they are missing.
func NewOutbox(ctx context.Context, db *sqldb.DB, logger *slog.Logger) (*Outbox, error) {
	o := &Outbox{db: db, logger: logger, wake: make(chan struct{}, 1)}
	return o, db.Migrate(ctx, "job", []string{
		`CREATE TABLE outbox (n {number}, owner BIGINT NOT NULL, body {bytes} NOT NULL)`,
		leases.Create(),
	})
}

// Put adds events in the caller's transaction. Call Wake after the commit.
func (o *Outbox) Put(ctx context.Context, tx *sql.Tx, events ...Event) error {
	for _, e := range events {
		if _, err := tx.ExecContext(ctx, `INSERT INTO outbox (owner, body) VALUES ($1, $2)`, int64(e.User), e.Body); err != nil {
			return err
		}
	}
	return nil
}

// Wake makes Run read events at once.
func (o *Outbox) Wake() { wakeup.Signal(o.wake) }

// Run passes events to dispatch, in order, until ctx ends. After an error it passes the same events again.
func (o *Outbox) Run(ctx context.Context, dispatch func(context.Context, []Event) error) error {
	retry := backoff.New(retryFirst, retryMax)
	for ctx.Err() == nil {
		n, err := o.step(ctx, dispatch, nil)
		switch {
		case err != nil && ctx.Err() == nil:
			o.logger.Warn("dispatching outbox events failed; it is tried again", "error", err)
			_ = retry.Wait(ctx) // the loop sees its end
		case n == 0:
			retry.Reset()
			_ = backoff.SleepOrWake(ctx, pollInterval, o.wake)
		}
	}
	return nil
}

// step dispatches a page of events and deletes them. If end is not nil, it runs in the same transaction and may reject it.
func (o *Outbox) step(ctx context.Context, dispatch func(context.Context, []Event) error, end func(context.Context, *sql.Tx) error) (int, error) {
	events, numbers, err := o.read(ctx)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	if err := dispatch(ctx, events); err != nil {
		return 0, err
	}
	// Events that were dispatched are deleted even if ctx ends meanwhile.
	ctx = context.WithoutCancel(ctx)
	return len(events), o.db.Write(ctx, func(tx *sql.Tx) error {
		if end != nil {
			if err := end(ctx, tx); err != nil {
				return err
			}
		}
		for _, s := range numbers {
			if _, err := tx.ExecContext(ctx, `DELETE FROM outbox WHERE n >= $1 AND n <= $2`, s.first, s.last); err != nil {
				return err
			}
		}
		return nil
	})
}

// span is a run of consecutive numbers. A row whose number was drawn early on another node may become visible late.
type span struct{ first, last int64 }

// read returns the first page of events, and their numbers.
func (o *Outbox) read(ctx context.Context) (events []Event, numbers []span, err error) {
	rows, err := o.db.Read().QueryContext(ctx, `SELECT n, owner, body FROM outbox ORDER BY n LIMIT $1`, pageEvents)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close() // before the events are dispatched, which may take long
	size := 0
	for size < pageBytes && rows.Next() {
		var e Event
		var n int64
		if err := rows.Scan(&n, &e.User, &e.Body); err != nil {
			return nil, nil, err
		}
		events = append(events, e)
		size += len(e.Body)
		if k := len(numbers); k > 0 && numbers[k-1].last == n-1 {
			numbers[k-1].last = n
		} else {
			numbers = append(numbers, span{n, n})
		}
	}
	return events, numbers, rows.Err()
}
