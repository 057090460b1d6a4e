// Package pglog keeps timelines in PostgreSQL, for any number of nodes at once. No node owns a conversation: all append, and the
// database decides.
//
// Appends of a node meet in four committers, by partition. A committer takes what is pending and sends it as one transaction
// in one round trip: it locks the tails of the batch's partitions, in order, then looks for tokens, compares access versions,
// gives numbers and writes entries, tokens, authors, tails and fan-out records. Whoever holds a partition's tail is alone with
// all its conversations until the commit, so nothing that was looked at changes meanwhile, records commit in their order, and
// locks are taken in one order by all. PostgreSQL shows a commit when it is durable, and not before.
//
// A connection that ends in a commit leaves open whether that took place. Each committer has a row that its transactions lock
// first and leave their results in. With a new connection it ends the row: that waits for the transaction, if it is under way,
// keeps it from ever running, if it is not, and tells what it did.
//
// Inboxes and checkpoints of a partition are written by the log that took it last: each write is conditional on the partition's
// term, which taking it raises.
//
// The tables are drawn in docs/formats/postgres.md. All methods may be called from many goroutines.
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
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Options of a Log; the zero value is the documented default.
type Options struct {
	// Listener is told of each batch of this log; may be nil.
	Listener timeline.Listener
	// Logger for what is tried again; nil discards.
	Logger *slog.Logger
	// Queue bounds the appends that wait in a committer; 0 is 65,536. Over it, timeline.ErrBusy.
	Queue int
	// QueueBytes bounds their payloads; 0 is 32 MiB.
	QueueBytes int
	// Patience with a database that does not answer; 0 is 10 seconds. After it appends are
	// refused; a connection that is silent for half of it is given up.
	Patience time.Duration
	// Every is how often the servers of an address that names several are asked which is the primary; 0 is 2 seconds.
	Every time.Duration
	// Readers bounds the connections for reading; 0 is 8. Writers bounds those for inboxes; 0 is 4. Appends have four more.
	Readers, Writers int
}

const committers = 4

// Reading, and dropping what has expired, may take as much longer than our patience with other statements.
const readPatience = 6

// Log is a timeline.Log in PostgreSQL.
type Log struct {
	reader
	options Options
	config  *pgx.ConnConfig // of connections that write
	fence   *pglink.Fence
	epoch   uint32
	terms   [timeline.Partitions]atomic.Int64 // of those that this log took; 0: none

	committers [committers]*committer
	// pools of connections: read has those of reader.
	read, write *pgxpool.Pool
	wait        sync.WaitGroup
	stop        context.CancelFunc // of watching the servers
}

var _ timeline.Log = (*Log)(nil)

// Open opens, or creates, the log in the database at a URL, as postgres://user@host/name. Its tables are in the first schema of
// the URL's search_path. A URL that names several hosts leads to whichever of them is the primary, also when that changes.
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
	if options.Patience == 0 {
		options.Patience = 10 * time.Second
	}
	if options.Readers == 0 {
		options.Readers = 8
	}
	if options.Writers == 0 {
		options.Writers = 4
	}
	if options.Every == 0 {
		options.Every = 2 * time.Second
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL: %w", err) // it leaves the password out
	}
	l := &Log{options: options, config: writing(config.ConnConfig, options), fence: pglink.New(&config.ConnConfig.Config)}
	if err := l.begin(ctx, config); err != nil {
		return nil, fmt.Errorf("timelines in PostgreSQL at %s: %w", config.ConnConfig.Host, err)
	}
	watching, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.wait.Go(func() { l.fence.Watch(watching, &config.ConnConfig.Config, options.Every, options.Logger) })
	for i := range l.committers {
		c := newCommitter(l, i)
		l.committers[i] = c
		l.wait.Go(c.commitLoop)
		l.wait.Go(c.completeLoop)
		l.wait.Go(c.retryLoop)
	}
	return l, nil
}

// writing is how connections are that write. A statement_timeout would also end the wait of a commit for a standby, and that
// commit would count as done.
func writing(c *pgx.ConnConfig, o Options) *pgx.ConnConfig {
	c = c.Copy()
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	for name, value := range map[string]string{
		"default_transaction_isolation":       "read committed",
		"default_transaction_read_only":       "off",
		"statement_timeout":                   "0",
		"lock_timeout":                        milliseconds(o.Patience / 4), // before the connection is given up
		"idle_in_transaction_session_timeout": milliseconds(o.Patience),     // it does not count while statements are still to come
		"jit":                                 "off",
		// Statements are few, and each looks up rows by key: tables that were small when a plan was made grow.
		"plan_cache_mode":  "force_generic_plan",
		"enable_seqscan":   "off",
		"enable_mergejoin": "off",
	} {
		c.RuntimeParams[name] = value
	}
	return c
}

func (l *Log) begin(ctx context.Context, config *pgxpool.Config) error {
	l.fence.Survey(ctx, &config.ConnConfig.Config)
	first := l.config.Copy()
	l.fence.Ready(&first.Config, false)
	c, err := pgx.ConnectConfig(ctx, first)
	if err != nil {
		return err
	}
	if l.fence.Several() && pglink.Of(c.PgConn()).Alone() {
		l.options.Logger.Warn("commits wait for no standby (synchronous_standby_names is empty): when the primary is lost, so may be what was acknowledged last")
	}
	l.epoch, err = migrate(ctx, c)
	if err == nil && pglink.Of(c.PgConn()).Unconfirmed() {
		err = errUnconfirmed
	}
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return err
	}
	l.read, err = l.pool(ctx, config, reading(config.ConnConfig), l.options.Readers, true)
	if err == nil {
		l.write, err = l.pool(ctx, bounding(config, l.options.Writers), l.config, l.options.Writers, false)
	}
	l.reader = reader{l.read}
	return err
}

// pool of connections to the primary. Those to a server that another has followed are used no more, and what is under way on them ends.
func (l *Log) pool(ctx context.Context, config *pgxpool.Config, conn *pgx.ConnConfig, most int, mayCancel bool) (*pgxpool.Pool, error) {
	p := config.Copy()
	p.ConnConfig, p.MaxConns = conn, int32(most)
	p.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		l.fence.Ready(&c.Config, mayCancel)
		return nil
	}
	p.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		link := pglink.Of(c.PgConn())
		link.Deadline(readPatience * l.options.Patience)
		return !link.Stale(), nil
	}
	p.AfterRelease = func(c *pgx.Conn) bool {
		link := pglink.Of(c.PgConn())
		link.Deadline(0)
		return !link.Unconfirmed()
	}
	return pgxpool.NewWithConfig(ctx, p)
}

// bounding has each connection for inboxes hold one of a few places at the server, and refuses one more. A connection that is given up in a
// commit that waits for its standby stays at the server, and its place with it, for as long as the standby is away: else each write that is
// tried meanwhile would be one more there, until the server takes no connections. There are twice as many places as connections: all may be
// given up once, as in a network that loses all, and new ones take their places at once.
func bounding(config *pgxpool.Config, most int) *pgxpool.Config {
	config = config.Copy()
	first := rand.Int64N(1 << 62) // of this log alone
	take := fmt.Sprintf(`SELECT FROM generate_series(%d, %d) place WHERE pg_try_advisory_lock(place) LIMIT 1`, first, first+int64(2*most)-1)
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		pglink.Of(c.PgConn()).Deadline(connectTime)
		tag, err := c.Exec(ctx, take)
		if err == nil && tag.RowsAffected() == 0 {
			err = errWaiting
		}
		return err
	}
	return config
}

var errWaiting = errors.New("as many writes as may be wait for the standby, each at a connection that was given up")

var errUnconfirmed = errors.New("the wait of a commit for the standby was cancelled")

// writes runs what writes outside of the committers, for as long as the patience lasts. It fails also where the server says that the commit
// did not wait for its standby.
func (l *Log) writes(ctx context.Context, patience time.Duration, do func(c *pgx.Conn) error) error {
	c, err := l.write.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	link := pglink.Of(c.Conn().PgConn())
	link.Deadline(patience)
	if err := do(c.Conn()); err != nil {
		return err
	}
	if link.Unconfirmed() {
		return errUnconfirmed
	}
	return nil
}

// reading is how connections are that read.
func reading(c *pgx.ConnConfig) *pgx.ConnConfig {
	c = c.Copy()
	for name, value := range map[string]string{"default_transaction_read_only": "on", "default_transaction_isolation": "read committed", "enable_seqscan": "off", "jit": "off"} {
		c.RuntimeParams[name] = value
	}
	return c
}

// Epoch of the derived timelines: as many as the database has lost commits.
func (l *Log) Epoch() uint32 { return l.epoch }

// Close stops taking appends, waits for those taken over, and ends the connections.
func (l *Log) Close() error {
	for _, c := range l.committers {
		c.close()
	}
	l.stop()
	l.wait.Wait()
	l.read.Close()
	l.write.Close()
	return nil
}
