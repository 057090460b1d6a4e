// Package sqldb opens the relational database: a file of SQLite, in WAL mode with synchronous=FULL, or PostgreSQL. Each package has its own
// tables, and its SQL in its own store file, in the dialect that both databases share. No other package names its tables.
//
// The shared dialect: $1 placeholders; BIGINT, TEXT and BOOLEAN columns, and in migrations {bytes} and {number} (see Migrate);
// ON CONFLICT and RETURNING; conditions are booleans, never numbers; no empty IN (); LIKE only between texts of one case, since
// PostgreSQL distinguishes upper and lower case; texts are valid UTF-8 without U+0000; ORDER BY only numbers or ASCII texts.
//
// ReadSnapshot reads as of one moment. Snapshot caches keep what many readers read of an embedded database, exactly as of each snapshot.
//
// Write returns after the transaction is durable. Concurrent writers share one transaction and one sync (group commit), each in its own
// savepoint, so that the failure of one does not affect the others. Transactions are serializable: what a transaction has read still holds
// when it commits. All methods are safe for concurrent use.
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
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"go.opentelemetry.io/otel/trace"
)

// DB is an open database.
type DB struct {
	writer, reader *sql.DB
	dedicated      *sql.DB       // of WriteDedicated; nil if that is Write
	dedicatedSlot  chan struct{} // held by the one writer that uses dedicated
	dialect        dialect
	commitTimeout  time.Duration
	closers        []func() error // called by Close
	replicas       replicas

	store   store          // for SQLite
	tracker *commitTracker // nil for PostgreSQL
	salts   atomic.Uint64  // how many snapshot caches there are
	// cacheReads is that of the options.
	cacheReads func(name string) func(hits, misses int)

	jobs        chan *job
	stop        chan struct{}
	writerEnded chan struct{} // runWriter has returned
	once        sync.Once
}

// dialect is what differs between the two databases.
type dialect struct {
	// typeNames replaces the neutral names in migrations.
	typeNames *strings.Replacer
	// squash returns statements that leave in an empty database what a package's steps would, or false if the steps have to run; nil where they always do.
	squash func(ctx context.Context, steps []string) ([]string, bool)
	// beginShared begins a transaction that may run concurrently with those of other nodes; beginExclusive begins one that may not. Empty
	// for SQLite, which one node uses.
	beginShared, beginExclusive string
	// snapshot is the isolation of ReadSnapshot. The default is one in SQLite.
	snapshot sql.IsolationLevel
	// txLimit is the longest duration of a transaction; 0 is none.
	txLimit time.Duration
	// linkOf returns the link of a connection; nil for SQLite.
	linkOf func(*sql.Conn) (*pglink.Link, error)
}

type job struct {
	ctx         context.Context
	exclusive   bool // no other node may write at the same time
	mayUseSpare bool // may use the spare space of a full disk
	run         func(tx *sql.Tx) error
	err         error
	done        chan struct{}
}

// maxQueued bounds the writers in the queue. Further ones block until there is room or their context ends.
const maxQueued = 1024

// Options of a DB. The zero value of each is the documented default. All but Store and Logger are for PostgreSQL.
type Options struct {
	// Store has the options of a file of SQLite.
	Store StoreOptions
	// CommitTimeout bounds the wait of a commit for its standby; 0 is 10 seconds. Afterwards its writers get an error that says that the
	// outcome is unknown, and further writers are refused until the commit is complete.
	CommitTimeout time.Duration
	// PrimaryCheckInterval is how often the servers of an address with several hosts are queried for the primary; 0 is 2 seconds.
	PrimaryCheckInterval time.Duration
	// Replicas are URLs of servers that follow the primary, one for each server. ReadYourWrites reads from them.
	Replicas []string
	// ReplicaRetry is how long a replica that does not answer, or is behind, is not used; 0 is a second.
	ReplicaRetry time.Duration
	// ReplicaWait is how long a read waits for a replica to catch up before it goes to the primary; 0 is 50 milliseconds.
	ReplicaWait time.Duration
	// Logger for what an operator should know about the servers; nil discards.
	Logger *slog.Logger
	// CacheReads returns, for the name of a snapshot cache, what is called with how many keys had entries and how many had none. It may be nil. PostgreSQL has no such caches.
	CacheReads func(name string) (count func(hits, misses int))
}

// Open is OpenWith with the default options.
func Open(ctx context.Context, where string) (*DB, error) { return OpenWith(ctx, where, Options{}) }

// OpenWith opens or creates the database file at a path, or opens a database of PostgreSQL, given by a URL such as
// postgres://user@host/name. The schema is the first of the URL's search_path. If the URL names several hosts, connections lead to the one
// that is the primary, also after a failover.
func OpenWith(ctx context.Context, where string, o Options) (d *DB, err error) {
	o.ReplicaRetry, o.ReplicaWait = cmp.Or(o.ReplicaRetry, time.Second), cmp.Or(o.ReplicaWait, 50*time.Millisecond)
	o.CommitTimeout, o.PrimaryCheckInterval = cmp.Or(o.CommitTimeout, 10*time.Second), cmp.Or(o.PrimaryCheckInterval, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if isPostgres(where) {
		d, err = openPostgres(ctx, where, o)
	} else {
		d, err = openSQLite(ctx, where, o.Store)
	}
	if err != nil {
		return nil, err
	}
	d.cacheReads = o.CacheReads
	d.jobs, d.stop, d.writerEnded = make(chan *job, maxQueued), make(chan struct{}), make(chan struct{})
	go d.runWriter()
	return d, nil
}

const createMigrations = `CREATE TABLE IF NOT EXISTS migrations (component TEXT NOT NULL, step BIGINT NOT NULL, PRIMARY KEY (component, step))`

// HasSnapshotCaches reports whether only this process writes the database, so that a SnapshotCache keeps what is read.
func (d *DB) HasSnapshotCaches() bool { return d.tracker != nil }

// Read returns the pool for reads from the primary. They see all that Write has returned for.
func (d *DB) Read() *sql.DB { return d.reader }

// Write runs fn in a transaction. It returns when the transaction is durable, or with fn's error after it was rolled back. fn may run again
// after a failed commit. It must not call Write.
func (d *DB) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return d.write(&job{ctx: ctx, run: fn, done: make(chan struct{})})
}

// WriteOnFullDisk is Write that may use the disk space that is kept in reserve, for what must work on a full disk, such as login and logout.
func (d *DB) WriteOnFullDisk(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return d.write(&job{ctx: ctx, mayUseSpare: true, run: fn, done: make(chan struct{})})
}

func (d *DB) write(j *job) error {
	_, span := tracing.Start(j.ctx, "sql.transaction", trace.SpanKindClient)
	err := d.commitJob(j)
	span.End(err)
	return err
}

// commitJob queues a job, and returns when its transaction has ended.
func (d *DB) commitJob(j *job) error {
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
	case <-d.writerEnded:
	}
	select {
	case <-j.done: // it was in the last batch
		return j.err
	default:
		return errClosed
	}
}

var errClosed = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: 1e9}

// Close rejects the writers that wait and closes the database.
func (d *DB) Close() error {
	d.once.Do(func() {
		close(d.stop)
		if d.dedicated != nil {
			d.dedicatedSlot <- struct{}{} // never released
		}
	})
	<-d.writerEnded
	err := errors.Join(d.reader.Close(), d.writer.Close())
	if d.dedicated != nil {
		err = errors.Join(err, d.dedicated.Close())
	}
	for _, close := range d.closers {
		err = errors.Join(err, close())
	}
	return err
}

// Migrate brings a package's tables up to date. Each step runs once, in order, and is never changed after its release. Missing steps run in
// one transaction. In a step, {bytes} stands for the type of binary columns, and {number} for that of a primary key that the database
// assigns, increasing. It assigns no number again that a committed row had, even if that row is deleted.
func (d *DB) Migrate(ctx context.Context, component string, steps []string) error {
	var done int
	err := d.write(&job{ctx: ctx, exclusive: true, done: make(chan struct{}), run: func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM migrations WHERE component = $1`, component).Scan(&done); err != nil {
			return err
		}
		squashed, err := d.squash(ctx, tx, done, steps)
		if err != nil {
			return err
		}
		for ; done < len(steps); done++ {
			if !squashed {
				if _, err := tx.ExecContext(ctx, d.dialect.typeNames.Replace(steps[done])); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO migrations (component, step) VALUES ($1, $2)`, component, done); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("migration %d of %s: %w", done, component, err)
	}
	return nil
}
