// Package job runs durable background work. So far: the outbox, by which a change of records and the events that it causes in
// users' streams are committed together. Events are handed over at least once, those of one node in the order of its commits.
// Where several write, those on the same rows as well: change the rows first, then Put. One node at a time hands them over (Turn).
package job

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// Event for one user's stream: Body is one field of rialto.chat.v1.Event (message.AppendBody). Turn, which RunInTurn sets, names the
// step of a node's turn in which the event is handed over: it is to be stored only while Lasts says so.
type Event struct {
	User id.User
	Body []byte
	Turn string
}

// Outbox keeps events until they are handed over.
type Outbox struct {
	db     *sqldb.DB
	logger *slog.Logger
	wake   chan struct{}
}

const (
	page       = 500
	pageBytes  = 1 << 20 // of events, after which a page ends
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Second
	look       = 2 * time.Second // also without a wake-up, for events whose writer died before it called Wake
)

// NewOutbox makes its table where it is missing.
func NewOutbox(ctx context.Context, db *sqldb.DB, logger *slog.Logger) (*Outbox, error) {
	o := &Outbox{db: db, logger: logger, wake: make(chan struct{}, 1)}
	return o, db.Migrate(ctx, "job", []string{
		`CREATE TABLE outbox (n {number}, owner BIGINT NOT NULL, body {bytes} NOT NULL)`,
		`CREATE TABLE outbox_turn (one BIGINT PRIMARY KEY, node TEXT NOT NULL, token TEXT NOT NULL)`,
		`ALTER TABLE outbox_turn ADD COLUMN term BIGINT NOT NULL DEFAULT 0`,
	})
}

// Put adds events in the caller's transaction. Call Wake after its commit.
func (o *Outbox) Put(ctx context.Context, tx *sql.Tx, events ...Event) error {
	for _, e := range events {
		if _, err := tx.ExecContext(ctx, `INSERT INTO outbox (owner, body) VALUES ($1, $2)`, int64(e.User), e.Body); err != nil {
			return err
		}
	}
	return nil
}

// Wake has Run look at once.
func (o *Outbox) Wake() { poke(o.wake) }

// Run hands events to carry, in order, until ctx ends. carry is called again with the same events after an error.
func (o *Outbox) Run(ctx context.Context, carry func(context.Context, []Event) error) error {
	wait := retryFirst
	for ctx.Err() == nil {
		n, err := o.step(ctx, carry, nil)
		switch {
		case err != nil && ctx.Err() == nil:
			o.logger.Warn("events wait in the outbox", "error", err)
			sleep(ctx, nil, wait)
			wait = min(2*wait, retryMost)
		case n == 0:
			wait = retryFirst
			sleep(ctx, o.wake, look)
		}
	}
	return nil
}

func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}

// step hands a page of events over and forgets them: if end, where it is given, allows that in the same transaction.
func (o *Outbox) step(ctx context.Context, carry func(context.Context, []Event) error, end func(context.Context, *sql.Tx) error) (int, error) {
	events, numbers, err := o.read(ctx)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	if err := carry(ctx, events); err != nil {
		return 0, err
	}
	// What was carried is forgotten also when ctx ends meanwhile.
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

// span of numbers without a hole: a row whose number was drawn early, on another node, may be seen late.
type span struct{ first, last int64 }

// read gives the first page of events, and their numbers.
func (o *Outbox) read(ctx context.Context) (events []Event, numbers []span, err error) {
	rows, err := o.db.Read().QueryContext(ctx, `SELECT n, owner, body FROM outbox ORDER BY n LIMIT $1`, page)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close() // before the events are carried, which may take long
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
