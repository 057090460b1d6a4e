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
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
)

// Reader runs the queries of lists, on the primary or on a replica. Every Querier is one.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Querier runs queries: a transaction, or a pool, such as the one that Read returns.
type Querier interface {
	Reader
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ReadYourWrites returns a reader that shows all that was acknowledged before, on whichever node: a replica that has replayed it, or else
// the primary. It is for lists that are shown. Permissions, blocks and all that a write follows from are read by Read.
func (d *DB) ReadYourWrites(ctx context.Context) Reader {
	if len(d.replicas.all) == 0 {
		return d.reader
	}
	ctx, cancel := context.WithTimeout(ctx, d.replicas.wait)
	defer cancel()
	lsn, err := d.replicas.primaryLSN.get(ctx)
	if err != nil {
		return d.reader
	}
	all := d.replicas.all
	first := d.replicas.next.Add(1)
	for i := range uint64(len(all)) {
		if r := all[(first+i)%uint64(len(all))]; r.catchesUp(ctx, lsn) {
			return &replicaReader{r, d.reader}
		}
	}
	return d.reader
}

// replicas of a database.
type replicas struct {
	all        []*replica
	primaryLSN *sharedQuery
	next       atomic.Uint64
	wait       time.Duration // maximum wait for a replica to replay up to the primary's position
	background sync.WaitGroup
}

// replica is a server that replays the primary's log. Its position may go back when it restarts, so a connection is refused if the replica
// is behind its last known position.
type replica struct {
	address    string // for the log
	fence      *pglink.Fence
	db         *sql.DB
	lsn        *sharedQuery
	lastLSN    atomic.Pointer[timelinePosition]
	retryDelay time.Duration             // after it did not answer, or was behind
	retryAt    atomic.Pointer[time.Time] // it is not used before, by the monotonic clock; nil: it may be used
}

// timelinePosition is a position in the log of one timeline. Positions of different timelines cannot be compared.
type timelinePosition struct{ timeline, lsn uint64 }

// lastKnown returns the last known position; 0 if none is known in the current timeline.
func (r *replica) lastKnown() uint64 {
	if m := r.lastLSN.Load(); m != nil && m.timeline == r.fence.Timeline() {
		return m.lsn
	}
	return 0
}

// positionQuery asks a replica for its position and timeline. Only members of pg_monitor see the timeline that it receives.
const positionQuery = `SELECT pg_is_in_recovery(), (coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::BIGINT,
	greatest((SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()), (SELECT received_tli FROM pg_stat_wal_receiver)),
	(SELECT system_identifier::TEXT FROM pg_control_system())`

// openReplicas connects to the replicas of the fence's primary.
func (d *DB) openReplicas(fence *pglink.Fence, o Options) error {
	d.replicas.wait = o.ReplicaWait
	d.replicas.primaryLSN = &sharedQuery{background: &d.replicas.background, query: func(ctx context.Context) (lsn uint64, err error) {
		err = d.reader.QueryRowContext(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::BIGINT`).Scan(&lsn)
		return lsn, err
	}}
	running, stop := context.WithCancel(context.Background())
	d.closers = append(d.closers, func() error {
		stop()
		d.replicas.background.Wait()
		var err error
		for _, r := range d.replicas.all {
			err = errors.Join(err, r.db.Close())
		}
		return err
	})
	for _, address := range o.Replicas {
		r, err := openReplica(address, fence, o, &d.replicas.background)
		if err != nil {
			return err
		}
		d.replicas.all = append(d.replicas.all, r)
		d.replicas.background.Go(func() { r.warnIfUnusable(running, o.Logger) })
	}
	return nil
}

// warnIfUnusable logs at the start that a replica cannot be used. Otherwise nobody would notice that all reads go to the primary.
func (r *replica) warnIfUnusable(ctx context.Context, logger *slog.Logger) {
	c, err := r.db.Conn(ctx)
	if err == nil {
		err = c.Close()
	}
	if err != nil && ctx.Err() == nil {
		logger.Warn("cannot read from a replica; reads go to the primary until it answers", "replica", r.address, "error", err)
	}
}

func openReplica(address string, fence *pglink.Fence, o Options, background *sync.WaitGroup) (*replica, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("a replica of the database: %w", err) // the error has no password
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	config.RuntimeParams["statement_timeout"] = milliseconds(transactionLimit)
	config.RuntimeParams["random_page_cost"] = randomPageCost
	config.ConnectTimeout = o.ReplicaRetry + time.Second
	r := &replica{address: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), fence: fence, retryDelay: o.ReplicaRetry}
	// Each new connection queries the position: the server may have restarted, or be another one.
	config.ValidateConnect = nil
	pglink.EnableKeepalive(&config.Config)
	config.Tracer = statementTracer{}
	r.db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		lsn, err := queryPosition(ctx, c, fence)
		if known := r.lastKnown(); err == nil && lsn < known {
			err = fmt.Errorf("the replica went back from position %d to %d", known, lsn)
		}
		if err != nil {
			err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		}
		return err
	}))
	r.db.SetMaxOpenConns(16)
	r.db.SetMaxIdleConns(8)
	r.lsn = &sharedQuery{background: background, query: func(ctx context.Context) (lsn uint64, err error) {
		timeline := fence.Timeline()
		c, err := r.db.Conn(ctx)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		err = c.Raw(func(dc any) (err error) {
			lsn, err = queryPosition(ctx, dc.(*stdlib.Conn).Conn(), fence)
			return err
		})
		if err == nil {
			r.lastLSN.Store(&timelinePosition{timeline, lsn})
		}
		return lsn, err
	}}
	return r, nil
}

// queryPosition returns the position of a replica, if it follows the primary.
func queryPosition(ctx context.Context, c *pgx.Conn, fence *pglink.Fence) (lsn uint64, err error) {
	var standby bool
	var timeline uint64
	var system string
	if err := c.QueryRow(ctx, positionQuery).Scan(&standby, &lsn, &timeline, &system); err != nil {
		return 0, err
	}
	switch {
	case !standby:
		return 0, errs.New(errs.Unavailable, "storage", "the server is a primary, not a replica")
	case !fence.IsCurrent(system, timeline):
		return 0, errs.New(errs.Unavailable, "storage", "the replica follows a server that is not the primary")
	}
	return lsn, nil
}

// catchesUp waits until a replica has replayed up to a position, at most until the context ends. A replica that does not is suspended.
func (r *replica) catchesUp(ctx context.Context, target uint64) bool {
	now := time.Now()
	if retryAt := r.retryAt.Load(); retryAt != nil && now.Before(*retryAt) {
		return false
	}
	if r.lastKnown() >= target {
		return true
	}
	for retry := backoff.New(time.Millisecond, time.Second); ; {
		lsn, err := r.lsn.get(ctx)
		if err == nil && lsn >= target {
			return true
		}
		if err == nil && retry.Wait(ctx) == nil {
			continue
		}
		r.suspend(now)
		return false
	}
}

// suspend keeps a replica from being used for retryDelay.
func (r *replica) suspend(from time.Time) {
	retryAt := from.Add(r.retryDelay)
	r.retryAt.Store(&retryAt)
}

// replicaReader reads from a replica, or from the primary if the replica fails.
type replicaReader struct {
	replica *replica
	primary *sql.DB
}

func (f *replicaReader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := f.replica.db.QueryContext(ctx, query, args...)
	if err == nil || ctx.Err() != nil {
		return rows, err
	}
	f.replica.suspend(time.Now())
	return f.primary.QueryContext(ctx, query, args...)
}

// sharedQuery queries a position once for all callers that wait at the same time. A caller that comes while a query runs waits for the
// next one: the running query may not see what this caller must see.
type sharedQuery struct {
	query      func(context.Context) (uint64, error)
	background *sync.WaitGroup

	mu      sync.Mutex    // guards the fields below
	next    *sharedResult // of the next query; nil: nobody waits
	running bool
}

type sharedResult struct {
	done chan struct{}
	lsn  uint64
	err  error
}

const positionTimeout = 2 * time.Second

func (q *sharedQuery) get(ctx context.Context) (uint64, error) {
	q.mu.Lock()
	if q.next == nil {
		q.next = &sharedResult{done: make(chan struct{})}
	}
	result := q.next
	if !q.running {
		q.running = true
		q.background.Go(q.run)
	}
	q.mu.Unlock()
	select {
	case <-result.done:
		return result.lsn, result.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run queries until nobody waits.
func (q *sharedQuery) run() {
	for {
		q.mu.Lock()
		result := q.next
		if q.next = nil; result == nil {
			q.running = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), positionTimeout)
		result.lsn, result.err = q.query(ctx)
		cancel()
		close(result.done)
	}
}
