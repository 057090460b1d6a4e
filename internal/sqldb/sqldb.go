// Package sqldb opens the records' database: SQLite in WAL mode with synchronous=FULL, one writer and several readers. Rooms
// write their own SQL, in the dialect that SQLite and PostgreSQL share ($1 placeholders, BIGINT ids, ON CONFLICT), in their
// own store file; no other package names their tables.
//
// Write returns after the transaction is durable. Writers that meet share one transaction and one sync, each in a savepoint
// of its own, so that one's failure does not touch another. All methods may be called from many goroutines.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/rialto-im/rialto/internal/errs"
	"modernc.org/sqlite" // the driver's name is "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// DB is an open database.
type DB struct {
	writer, reader *sql.DB

	jobs  chan *job
	stop  chan struct{}
	ended chan struct{} // the writing goroutine is gone
	once  sync.Once
}

type job struct {
	ctx  context.Context
	run  func(tx *sql.Tx) error
	err  error
	done chan struct{}
}

// Writers that wait beyond this are held until there is room, or their context ends.
const queue = 1024

// together bounds the writers that share a transaction.
const together = 128

// Open opens, or creates, the database file at path.
func Open(ctx context.Context, path string) (*DB, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "busy_timeout(5000)", "cache_size(-4000)"}, "_txlock": {"immediate"}}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas.Encode()
	writer, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if _, err := writer.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (room TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (room, step))`); err != nil {
		return nil, errors.Join(fmt.Errorf("records in %s: %w", path, err), writer.Close())
	}
	reader, err := sql.Open("sqlite", dsn+"&_pragma=query_only(ON)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(8)
	reader.SetMaxIdleConns(4)
	d := &DB{writer: writer, reader: reader, jobs: make(chan *job, queue), stop: make(chan struct{}), ended: make(chan struct{})}
	go d.run()
	return d, nil
}

// Read is the pool for reading. What Write returned is seen.
func (d *DB) Read() *sql.DB { return d.reader }

// Write runs fn in a transaction and returns when that is durable, or fn's error when it is rolled back. fn may run again
// after a failed commit, and must not call Write.
func (d *DB) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	j := &job{ctx: ctx, run: fn, done: make(chan struct{})}
	select {
	case d.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return errClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-d.ended:
	}
	select {
	case <-j.done: // it was among the last
		return j.err
	default:
		return errClosed
	}
}

var errClosed = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: 1e9}

// Close ends the writers that wait, and closes the database.
func (d *DB) Close() error {
	d.once.Do(func() { close(d.stop) })
	<-d.ended
	return errors.Join(d.reader.Close(), d.writer.Close())
}

func (d *DB) run() {
	defer close(d.ended)
	for {
		var jobs []*job
		select {
		case j := <-d.jobs:
			jobs = append(jobs, j)
		case <-d.stop:
			for {
				select {
				case j := <-d.jobs:
					j.err = errClosed
					close(j.done)
				default:
					return
				}
			}
		}
	more:
		for len(jobs) < together {
			select {
			case j := <-d.jobs:
				jobs = append(jobs, j)
			default:
				break more
			}
		}
		d.commit(jobs)
		for _, j := range jobs {
			close(j.done)
		}
	}
}

func (d *DB) commit(jobs []*job) {
	for len(jobs) > 0 {
		broke, err := d.transact(jobs)
		if err == nil {
			return
		}
		if failure := classify(err); broke == nil || errs.Is(failure, errs.Unavailable) {
			for _, j := range jobs {
				if j.err == nil {
					j.err = failure
				}
			}
			return
		}
		// After some failures (a statement that is cancelled is one) SQLite undoes the whole transaction: the others go again.
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool { return j == broke })
	}
}

// transact runs jobs in one transaction, and sets the error of each. It names the one whose failure ended the transaction.
func (d *DB) transact(jobs []*job) (broke *job, err error) {
	ctx := context.Background()
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	for _, j := range jobs {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if _, err := tx.ExecContext(ctx, "SAVEPOINT writer"); err != nil {
			return nil, err
		}
		failure := j.run(tx)
		end := "RELEASE writer"
		if failure != nil {
			end = "ROLLBACK TO writer; RELEASE writer"
		}
		_, err := tx.ExecContext(ctx, end)
		if j.err = classify(failure); err == nil {
			continue
		}
		if failure == nil {
			failure, j.err = err, classify(err)
		}
		return j, failure
	}
	return nil, tx.Commit()
}

func classify(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return &errs.Error{Kind: errs.Unavailable, Reason: "storage_full", Message: "the server's disk is full; nothing was stored; the operator must free space", Retry: 30e9, Cause: err}
		case sqlite3.SQLITE_IOERR:
			return errs.Wrap(errs.Unavailable, "storage", "the server could not store; try again", err)
		}
	}
	return err
}

// IsUnique tells whether err says that a row with such a key exists.
func IsUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Migrate brings a room's tables up to date: steps run once each, in order, and are never changed afterwards.
func (d *DB) Migrate(ctx context.Context, room string, steps []string) error {
	for i, step := range steps {
		err := d.Write(ctx, func(tx *sql.Tx) error {
			var done int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM migrations WHERE room = $1 AND step = $2`, room, i).Scan(&done); err != nil || done > 0 {
				return err
			}
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO migrations (room, step) VALUES ($1, $2)`, room, i)
			return err
		})
		if err != nil {
			return fmt.Errorf("migration %d of %s: %w", i, room, err)
		}
	}
	return nil
}
