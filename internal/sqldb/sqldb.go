// Package sqldb opens the records' database: a file of SQLite, in WAL mode with synchronous=FULL, or PostgreSQL. Rooms write
// their own SQL in their own store file, in the dialect that both share; no other package names their tables.
//
// The shared dialect: $1 placeholders; BIGINT, TEXT and BOOLEAN columns, and in migrations {bytes} and {number} (see Migrate);
// ON CONFLICT and RETURNING; conditions are booleans, never numbers; no IN (); LIKE only between texts of one case, since
// PostgreSQL tells cases apart; texts are valid UTF-8 without U+0000; no order but by numbers or by texts of ASCII.
//
// Write returns after the transaction is durable. Writers that meet share one transaction and one sync, each in a savepoint
// of its own, so that one's failure does not touch another. Transactions are serializable: what is read in one still holds when
// it commits. All methods may be called from many goroutines.
package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
)

// DB is an open database.
type DB struct {
	writer, reader *sql.DB
	apart          *sql.DB       // of WriteApart; nil where it is Write
	turn           chan struct{} // has room for the one that uses apart
	dialect        dialect
	patience       time.Duration  // with a commit
	closers        []func() error // of what else there is
	replicas       replicas

	jobs  chan *job
	stop  chan struct{}
	ended chan struct{} // the writing goroutine is gone
	once  sync.Once
}

// dialect is in what the two databases differ.
type dialect struct {
	// words that stand for the neutral ones of migrations.
	words *strings.Replacer
	// beside and alone begin a transaction that runs beside other nodes', or while no other does. Empty where there is one node.
	beside, alone string
	// limit of a transaction's time, 0 for none.
	limit time.Duration
	// hold gives what is known of a connection; nil where there is nothing to know.
	hold func(*sql.Conn) (*pglink.Link, error)
}

type job struct {
	ctx   context.Context
	alone bool // no other node writes meanwhile
	run   func(tx *sql.Tx) error
	err   error
	done  chan struct{}
}

// Writers that wait beyond this are held until there is room, or their context ends.
const queue = 1024

// Options of a DB; the zero value is the documented default. They are for PostgreSQL.
type Options struct {
	// Patience with a commit that waits for its standby; 0 is 10 seconds. After it the writers are told that nobody knows whether it
	// is stored, and those who come then are refused until it is.
	Patience time.Duration
	// Every is how often the servers of an address that names several are asked which is the primary; 0 is 2 seconds.
	Every time.Duration
	// Replicas are URLs of servers that follow the primary, one each, for Follow and Lagging.
	Replicas []string
	// Lag is how much a replica may be behind for a read that allows it; 0 is a second. One that is away or behind is tried again after
	// as long.
	Lag time.Duration
	// Wait is how long a read waits for a replica to come so far before it goes to the primary; 0 is 50 milliseconds.
	Wait time.Duration
	// Logger for what an operator should know of the servers; nil discards.
	Logger *slog.Logger
}

// Open is OpenWith the defaults.
func Open(ctx context.Context, where string) (*DB, error) { return OpenWith(ctx, where, Options{}) }

// OpenWith opens, or creates, the database file at a path; or opens a database of PostgreSQL, given by a URL as
// postgres://user@host/name. Its schema is the first of the URL's search_path. A URL that names several hosts leads to whichever of them
// is the primary, also when that changes.
func OpenWith(ctx context.Context, where string, o Options) (d *DB, err error) {
	o.Lag, o.Wait = cmp.Or(o.Lag, time.Second), cmp.Or(o.Wait, 50*time.Millisecond)
	o.Patience, o.Every = cmp.Or(o.Patience, 10*time.Second), cmp.Or(o.Every, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if isPostgres(where) {
		d, err = openPostgres(ctx, where, o)
	} else {
		d, err = openSQLite(ctx, where)
	}
	if err != nil {
		return nil, err
	}
	d.jobs, d.stop, d.ended = make(chan *job, queue), make(chan struct{}), make(chan struct{})
	go d.run()
	return d, nil
}

const migrations = `CREATE TABLE IF NOT EXISTS migrations (room TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (room, step))`

// Read is the pool for reading, of the primary. What Write returned is seen.
func (d *DB) Read() *sql.DB { return d.reader }

// Write runs fn in a transaction and returns when that is durable, or fn's error when it is rolled back. fn may run again
// after a failed commit, and must not call Write.
func (d *DB) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return d.write(&job{ctx: ctx, run: fn, done: make(chan struct{})})
}

func (d *DB) write(j *job) error {
	select {
	case d.jobs <- j:
	case <-j.ctx.Done():
		return j.ctx.Err()
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
	d.once.Do(func() {
		close(d.stop)
		if d.apart != nil {
			d.turn <- struct{}{} // for good
		}
	})
	<-d.ended
	err := errors.Join(d.reader.Close(), d.writer.Close())
	if d.apart != nil {
		err = errors.Join(err, d.apart.Close())
	}
	for _, close := range d.closers {
		err = errors.Join(err, close())
	}
	return err
}

// Migrate brings a room's tables up to date: steps run once each, in order, and are never changed afterwards. Those that are missing
// run in one transaction. In a step, {bytes} is the type of columns that hold bytes, and {number} that of a primary key that the
// database numbers, rising.
func (d *DB) Migrate(ctx context.Context, room string, steps []string) error {
	var at int
	err := d.write(&job{ctx: ctx, alone: true, done: make(chan struct{}), run: func(tx *sql.Tx) error {
		for i, step := range steps {
			at = i
			var done int
			if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM migrations WHERE room = $1 AND step = $2`, room, i).Scan(&done); err != nil {
				return err
			}
			if done > 0 {
				continue
			}
			if _, err := tx.ExecContext(ctx, d.dialect.words.Replace(step)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO migrations (room, step) VALUES ($1, $2)`, room, i); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("migration %d of %s: %w", at, room, err)
	}
	return nil
}
