// Package pglog keeps timelines in PostgreSQL, for any number of nodes at once. No node owns a conversation: all nodes append, and the
// database decides.
//
// Four committers, chosen by partition, group the appends of a node (timeline.GroupCommit). A committer sends a commit batch as one
// transaction in one round trip. The transaction locks the tails of the batch's partitions in order, looks up tokens, compares access
// versions, assigns numbers, and writes entries, tokens, authors, tails and fan-out records. The lock of a partition's tail excludes
// other writers of its conversations until the commit. So nothing that was read changes meanwhile, records commit in order, and all
// transactions lock in the same order. PostgreSQL shows a commit only when it is durable.
//
// If a connection ends during a commit, it is unknown whether the commit took place. Each committer therefore has a row that its
// transactions lock first and store their results in. On a new connection the committer ends the row. That waits for a running
// transaction, prevents one that has not started, and returns the saved results of one that committed.
//
// Only the log that acquired a partition in the latest term writes its inboxes and its checkpoint: each write is conditional on the
// partition's term, which Acquire sets to that of the owner's grant.
//
// docs/formats/postgres.md describes the tables. All methods are safe for concurrent use.
package pglog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"golang.org/x/time/rate"
)

// Options of a Log; the zero value is the documented default.
type Options struct {
	// Listener receives the commits of this log. It may be nil.
	Listener timeline.Listener
	// Logger receives warnings about retries. nil discards them.
	Logger *slog.Logger
	// Queue bounds the pending appends of a committer. 0 is 65,536. Beyond it appends fail with timeline.ErrBusy.
	Queue int
	// QueueBytes bounds the payloads of pending appends. 0 is 32 MiB.
	QueueBytes int
	// Timeout bounds the wait for a database that does not answer. 0 is 10 seconds. After it appends fail. A connection that is
	// silent for half of it is closed.
	Timeout time.Duration
	// PrimaryCheckInterval is the interval at which the servers of an address with several hosts are queried for the primary. 0 is 2
	// seconds.
	PrimaryCheckInterval time.Duration
	// Readers bounds the connections for reads, 0 is 8. Writers bounds those for inboxes, 0 is 4. Appends have four more.
	Readers, Writers int
}

const committers = 4

// readTimeouts is the multiple of Options.Timeout that reads and the removal of expired entries may take.
const readTimeouts = 6

// Log is a timeline.Log in PostgreSQL.
type Log struct {
	reader
	options  Options
	config   *pgx.ConnConfig // of connections that write
	fence    *pglink.Fence
	epoch    uint32
	restored uint32
	holder   int64                             // distinguishes this log from others as the holder of a term
	terms    [timeline.Partitions]atomic.Int64 // of the partitions that this log acquired; 0: none

	committers [committers]*committer
	// Connection pools. reader uses read.
	read, write *pgxpool.Pool
	wait        sync.WaitGroup
	stop        context.CancelFunc // stops watching the servers
	moving      rate.Sometimes     // limits the log
}

var _ timeline.Log = (*Log)(nil)

// Open opens or creates the log in the database at a URL, as postgres://user@host/name. Its tables are in the first schema of the URL's
// search_path. If the URL names several hosts, the log uses whichever of them is the primary, also when that changes.
func Open(ctx context.Context, url string, options Options) (*Log, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Queue == 0 {
		options.Queue = 1 << 16
	}
	if options.QueueBytes == 0 {
		options.QueueBytes = 32 << 20
	}
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second
	}
	if options.Readers == 0 {
		options.Readers = 8
	}
	if options.Writers == 0 {
		options.Writers = 4
	}
	if options.PrimaryCheckInterval == 0 {
		options.PrimaryCheckInterval = 2 * time.Second
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL: %w", err) // it leaves the password out
	}
	l := &Log{options: options, holder: rand.Int64(), config: writerConfig(config.ConnConfig, options), fence: pglink.New(&config.ConnConfig.Config), moving: rate.Sometimes{First: 1, Interval: time.Minute}}
	if err := l.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL at %s: %w", config.ConnConfig.Host, err)
	}
	watching, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.wait.Go(func() {
		l.fence.Watch(watching, &config.ConnConfig.Config, options.PrimaryCheckInterval, options.Logger)
	})
	for i := range l.committers {
		c := newCommitter(l, i)
		l.committers[i] = c
		l.wait.Go(c.run)
		l.wait.Go(c.completeDuplicates)
	}
	return l, nil
}

// writerConfig returns the configuration of connections that write. A statement_timeout would also end a commit's wait for a standby, and
// the commit would count as done.
func writerConfig(c *pgx.ConnConfig, o Options) *pgx.ConnConfig {
	c = c.Copy()
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	for name, value := range map[string]string{
		"default_transaction_isolation":       "read committed",
		"default_transaction_read_only":       "off",
		"statement_timeout":                   "0",
		"lock_timeout":                        milliseconds(o.Timeout / 4), // before the connection is given up
		"idle_in_transaction_session_timeout": milliseconds(o.Timeout),     // it does not count while statements are still to come
		"jit":                                 "off",
		// All statements look up rows by key. A plan that was made when a table was small would stay when it grows.
		"plan_cache_mode":  "force_generic_plan",
		"enable_seqscan":   "off",
		"enable_mergejoin": "off",
	} {
		c.RuntimeParams[name] = value
	}
	return c
}

func (l *Log) connect(ctx context.Context, config *pgxpool.Config) error {
	l.fence.ProbeAll(ctx, &config.ConnConfig.Config)
	first := l.config.Copy()
	l.fence.Prepare(&first.Config, false)
	c, err := pgx.ConnectConfig(ctx, first)
	if err != nil {
		return err
	}
	if l.fence.HasSeveralHosts() && pglink.LinkOf(c.PgConn()).NoStandby() {
		l.options.Logger.Warn("commits wait for no standby (synchronous_standby_names is empty): the last acknowledged writes may be lost with the primary")
	}
	l.epoch, l.restored, err = migrate(ctx, c)
	if err == nil && pglink.LinkOf(c.PgConn()).Unconfirmed() {
		err = errUnconfirmed
	}
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return err
	}
	l.read, err = l.pool(ctx, config, readerConfig(config.ConnConfig), l.options.Readers, true)
	if err == nil {
		l.write, err = l.pool(ctx, limitConnections(config, l.options.Writers), l.config, l.options.Writers, false)
	}
	l.reader = reader{l.read}
	return err
}

// pool opens connections to the primary. Connections to a former primary are closed, and their statements fail.
func (l *Log) pool(ctx context.Context, config *pgxpool.Config, conn *pgx.ConnConfig, most int, mayCancel bool) (*pgxpool.Pool, error) {
	p := config.Copy()
	p.ConnConfig, p.MaxConns = conn, int32(most)
	p.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		l.fence.Prepare(&c.Config, mayCancel)
		return nil
	}
	p.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		link := pglink.LinkOf(c.PgConn())
		link.Deadline(readTimeouts * l.options.Timeout)
		return !link.Stale(), nil
	}
	p.AfterRelease = func(c *pgx.Conn) bool {
		link := pglink.LinkOf(c.PgConn())
		link.Deadline(0)
		return !link.Unconfirmed()
	}
	return pgxpool.NewWithConfig(ctx, p)
}

// limitConnections bounds the connections for inboxes at the server: each holds one of a few advisory locks. A connection that is closed during a
// commit that waits for its standby stays at the server, with its lock, until the standby answers. Otherwise each retry would add one, until
// the server refuses connections. There are twice as many locks as connections: if a network failure closes all of them once, new ones
// get locks at once.
func limitConnections(config *pgxpool.Config, most int) *pgxpool.Config {
	config = config.Copy()
	first := rand.Int64N(1 << 62) // of this log alone
	take := fmt.Sprintf(`SELECT FROM generate_series(%d, %d) place WHERE pg_try_advisory_lock(place) LIMIT 1`, first, first+int64(2*most)-1)
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		pglink.LinkOf(c.PgConn()).Deadline(connectTime)
		tag, err := c.Exec(ctx, take)
		if err == nil && tag.RowsAffected() == 0 {
			err = errStandbyWaits
		}
		return err
	}
	return config
}

var errStandbyWaits = errors.New("the maximum number of writes waits for the standby on connections that were closed")

var errUnconfirmed = errors.New("the wait of a commit for the standby was cancelled")

// withWriter runs a write outside of the committers within a timeout. It also fails if the server reports that the commit did not wait for its
// standby.
func (l *Log) withWriter(ctx context.Context, patience time.Duration, do func(c *pgx.Conn) error) error {
	c, err := l.write.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	link := pglink.LinkOf(c.Conn().PgConn())
	link.Deadline(patience)
	if err := do(c.Conn()); err != nil {
		return err
	}
	if link.Unconfirmed() {
		return errUnconfirmed
	}
	return nil
}

// readerConfig returns the configuration of connections that read.
func readerConfig(c *pgx.ConnConfig) *pgx.ConnConfig {
	c = c.Copy()
	for name, value := range map[string]string{"default_transaction_read_only": "on", "default_transaction_isolation": "read committed", "enable_seqscan": "off", "jit": "off"} {
		c.RuntimeParams[name] = value
	}
	return c
}

// Epoch of the derived timelines. It increases when the database has lost commits.
func (l *Log) Epoch() uint32 { return l.epoch }

// RestoredEpoch of the derived timelines.
func (l *Log) RestoredEpoch() uint32 { return l.restored }

// Close refuses further appends, waits for the queued ones and closes the connections.
func (l *Log) Close() error {
	for _, c := range l.committers {
		c.appends.Close()
	}
	l.stop()
	l.wait.Wait()
	l.read.Close()
	l.write.Close()
	return nil
}
