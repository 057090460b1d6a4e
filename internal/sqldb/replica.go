package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb/pglink"
)

// Reader is what lists are read from: the primary, or a replica.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Follow gives a reader for a big read that shows all that was acknowledged before, by whichever node: of a replica that has come so far,
// else of the primary. It is for what others may also see: never for permissions, blocks, memberships, sessions, or what a write
// follows from.
func (d *DB) Follow(ctx context.Context) Reader { return d.from(ctx, 0) }

// Lagging gives a reader for one that may lack what was acknowledged in the last moments: at most Options.Lag of them.
func (d *DB) Lagging(ctx context.Context) Reader { return d.from(ctx, d.replicas.lag) }

func (d *DB) from(ctx context.Context, lag time.Duration) Reader {
	if len(d.replicas.all) == 0 {
		return d.reader
	}
	ctx, cancel := context.WithTimeout(ctx, d.replicas.wait)
	defer cancel()
	since, err := d.replicas.primary.get(ctx, lag)
	if err != nil {
		return d.reader
	}
	all := d.replicas.all
	first := d.replicas.turn.Add(1)
	for i := range uint64(len(all)) {
		if r := all[(first+i)%uint64(len(all))]; r.reaches(ctx, since) {
			return &following{r, d.reader}
		}
	}
	return d.reader
}

// replicas of a database, and what is known of them.
type replicas struct {
	all       []*replica
	primary   *question
	turn      atomic.Uint64
	lag, wait time.Duration
	asking    sync.WaitGroup
}

// replica is a server that follows the primary. Its position may go back when it starts again, so connections to it are taken only from
// where it was seen.
type replica struct {
	where string // for the log
	fence *pglink.Fence
	db    *sql.DB
	at    *question
	seen  atomic.Pointer[mark]
	pause time.Duration             // between two tries of one that is away, or behind
	rest  atomic.Pointer[time.Time] // until when it is not asked, by the monotonic clock; nil: never
}

// mark is where a replica was, while the primary was of a timeline: positions of two timelines cannot be compared.
type mark struct{ timeline, at uint64 }

// known is the last that is known of where it is; 0: nothing.
func (r *replica) known() uint64 {
	if m := r.seen.Load(); m != nil && m.timeline == r.fence.Timeline() {
		return m.at
	}
	return 0
}

// follows asks a replica how far it is, and of which timeline. What it receives is told to who may ask (pg_monitor) alone.
const follows = `SELECT pg_is_in_recovery(), (coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::BIGINT,
	greatest((SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()), (SELECT received_tli FROM pg_stat_wal_receiver)),
	(SELECT system_identifier::TEXT FROM pg_control_system())`

// openReplicas of a primary's fence.
func (d *DB) openReplicas(fence *pglink.Fence, o Options) error {
	d.replicas.lag, d.replicas.wait = o.Lag, o.Wait
	d.replicas.primary = &question{asking: &d.replicas.asking, ask: func(ctx context.Context) (at uint64, err error) {
		err = d.reader.QueryRowContext(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::BIGINT`).Scan(&at)
		return at, err
	}}
	trying, stop := context.WithCancel(context.Background())
	d.closers = append(d.closers, func() error {
		stop()
		d.replicas.asking.Wait()
		var err error
		for _, r := range d.replicas.all {
			err = errors.Join(err, r.db.Close())
		}
		return err
	})
	for _, where := range o.Replicas {
		r, err := openReplica(where, fence, o, &d.replicas.asking)
		if err != nil {
			return err
		}
		d.replicas.all = append(d.replicas.all, r)
		d.replicas.asking.Go(func() { r.try(trying, o.Logger) })
	}
	return nil
}

// try tells the operator, once, of a replica that cannot be used when the node starts: reads go to the primary, and nobody would notice.
func (r *replica) try(ctx context.Context, logger *slog.Logger) {
	c, err := r.db.Conn(ctx)
	if err == nil {
		err = c.Close()
	}
	if err != nil && ctx.Err() == nil {
		logger.Warn("a replica cannot be read from; the primary is, until it can", "replica", r.where, "error", err)
	}
}

func openReplica(where string, fence *pglink.Fence, o Options, asking *sync.WaitGroup) (*replica, error) {
	config, err := pgx.ParseConfig(where)
	if err != nil {
		return nil, fmt.Errorf("a replica of the records: %w", err) // it leaves the password out
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.RuntimeParams["statement_timeout"] = fmt.Sprint(transactionLimit.Milliseconds())
	config.ConnectTimeout = o.Lag + time.Second
	r := &replica{where: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), fence: fence, pause: o.Lag}
	// The server that a connection leads to may be another than the one that was asked, or have started again: it is asked itself.
	config.ValidateConnect = nil
	pglink.Keep(&config.Config)
	r.db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		at, err := position(ctx, c, fence)
		if known := r.known(); err == nil && at < known {
			err = fmt.Errorf("the replica is at %d, and was at %d", at, known)
		}
		if err != nil {
			err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		}
		return err
	}))
	r.db.SetMaxOpenConns(16)
	r.db.SetMaxIdleConns(8)
	r.at = &question{asking: asking, ask: func(ctx context.Context) (at uint64, err error) {
		timeline := fence.Timeline()
		c, err := r.db.Conn(ctx)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		err = c.Raw(func(dc any) (err error) {
			at, err = position(ctx, dc.(*stdlib.Conn).Conn(), fence)
			return err
		})
		if err == nil {
			r.seen.Store(&mark{timeline, at})
		}
		return at, err
	}}
	return r, nil
}

// position of a replica, if it follows the primary.
func position(ctx context.Context, c *pgx.Conn, fence *pglink.Fence) (at uint64, err error) {
	var standby bool
	var timeline uint64
	var system string
	if err := c.QueryRow(ctx, follows).Scan(&standby, &at, &timeline, &system); err != nil {
		return 0, err
	}
	switch {
	case !standby:
		return 0, errs.New(errs.Unavailable, "storage", "the server takes writes, so it is no replica")
	case !fence.Follows(system, timeline):
		return 0, errs.New(errs.Unavailable, "storage", "the replica follows another server than the primary")
	}
	return at, nil
}

// reaches tells whether a replica has come to a position, and waits for it for as long as the context lasts. One that does not is left
// alone for a while.
func (r *replica) reaches(ctx context.Context, since uint64) bool {
	now := time.Now()
	if rest := r.rest.Load(); rest != nil && now.Before(*rest) {
		return false
	}
	if r.known() >= since {
		return true
	}
	for wait := time.Millisecond; ; wait *= 2 {
		at, err := r.at.get(ctx, 0)
		if err == nil && at >= since {
			return true
		}
		if err == nil {
			select {
			case <-time.After(wait):
				continue
			case <-ctx.Done():
			}
		}
		r.leaveAlone(now)
		return false
	}
}

// leaveAlone a replica for its pause.
func (r *replica) leaveAlone(from time.Time) {
	until := from.Add(r.pause)
	r.rest.Store(&until)
}

// following reads from a replica, and from the primary where that fails.
type following struct {
	replica *replica
	primary *sql.DB
}

func (f *following) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := f.replica.db.QueryContext(ctx, query, args...)
	if err == nil || ctx.Err() != nil {
		return rows, err
	}
	f.replica.leaveAlone(time.Now())
	return f.primary.QueryContext(ctx, query, args...)
}

// question about a position that many ask at once: those who come while it is asked share the next asking, since what is under way may have
// seen less than they did.
type question struct {
	ask    func(context.Context) (uint64, error)
	asking *sync.WaitGroup
	known  atomic.Uint64 // the last answer

	mu      sync.Mutex // guards what follows
	next    *answer    // nil: nobody waits
	busy    bool
	answers time.Time // when the asking of the last answer began
}

type answer struct {
	done chan struct{}
	at   uint64
	err  error
}

const askLimit = 2 * time.Second

// get asks, or gives an answer that is no older than that.
func (q *question) get(ctx context.Context, old time.Duration) (uint64, error) {
	q.mu.Lock()
	if old > 0 && time.Since(q.answers) < old {
		q.mu.Unlock()
		return q.known.Load(), nil
	}
	if q.next == nil {
		q.next = &answer{done: make(chan struct{})}
	}
	a := q.next
	if !q.busy {
		q.busy = true
		q.asking.Go(q.run)
	}
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.at, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run asks for as long as anybody waits.
func (q *question) run() {
	for {
		q.mu.Lock()
		a := q.next
		if q.next = nil; a == nil {
			q.busy = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), askLimit)
		a.at, a.err = q.ask(ctx)
		cancel()
		if a.err == nil {
			q.mu.Lock()
			q.answers = began
			q.known.Store(a.at)
			q.mu.Unlock()
		}
		close(a.done)
	}
}
