package idgen

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// A lease is a row with a worker id of a pool and a mark, in milliseconds since 1970. Each write of the row is a compare-and-set that
// grants its writer the times from the old mark to the new one. Ids with this worker id contain only such times. Two holders therefore
// never share a worker id and a time, even if a process is paused, cloned or late. Safety does not depend on the expiry of leases; a node
// only waits for it before it takes over another node's worker id.
const (
	// Every renewEvery, a mark is set to markAhead after the clock; after a failure, every retryEvery.
	markAhead  = 3 * time.Second
	renewEvery = time.Second
	retryEvery = 250 * time.Millisecond
	// minMarkRaise is the least by which a mark is raised if the ids are ahead of the clock.
	minMarkRaise = 100 * time.Millisecond
	// abandonedAfter its mark passed, another node may take over a row of a shared database.
	abandonedAfter = 30 * time.Second
	// forgottenAfter its mark passed, a row of another machine in an exclusive database is reused, if no other is free.
	forgottenAfter = 30 * 24 * time.Hour
	// warnBeforeEnd is how long before the end of the ids' time a warning is logged.
	warnBeforeEnd = 5 * 365 * 24 * time.Hour
	// storeTimeout applies if the caller sets no deadline.
	storeTimeout = 10 * time.Second
)

// LeaseDeps are the dependencies of Leases.
type LeaseDeps struct {
	DB     *sqldb.DB
	Clock  clock.Clock
	Logger *slog.Logger
}

// LeaseConfig identifies the process.
type LeaseConfig struct {
	// Machine is a fingerprint of this machine and of its copy of the database. A process may continue the leases of its machine at once.
	Machine string
	// Exclusive: only this process uses the database, which it has locked. Leases of other machines then belong to copies of
	// the database that may be in use, and are left alone. Otherwise several nodes share the database.
	Exclusive bool
}

// Leases are the worker ids that this process holds. All methods are safe for concurrent use.
type Leases struct {
	store       leaseStore
	clock       clock.Clock
	logger      *slog.Logger
	config      LeaseConfig
	token       func() string
	fixedWorker *uint64 // the fixed worker id; see Fixed

	mu       sync.Mutex // guards the fields below
	held     []*leasedWorker
	claimed  map[claim]bool // worker ids that this process holds or is claiming
	released bool
}

// claim identifies a worker id in a pool.
type claim struct {
	pool string
	slot uint64
}

// NewLeases creates the table if it is missing. Without Run, ids wait for the store every few seconds.
func NewLeases(ctx context.Context, d LeaseDeps, c LeaseConfig) (*Leases, error) {
	if c.Machine == "" {
		return nil, errors.New("a lease needs the machine's fingerprint")
	}
	s, err := newLeaseStore(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	return newLeases(s, d.Clock, d.Logger, c), nil
}

func newLeases(s leaseStore, c clock.Clock, logger *slog.Logger, config LeaseConfig) *Leases {
	return &Leases{store: s, clock: c, logger: logger, config: config, token: rand.Text, claimed: map[claim]bool{}}
}

// Fixed gives every generator the same worker id without a lease. The caller ensures that nobody else uses it. It is for tests, and for
// tools whose ids are not shared.
func Fixed(c clock.Clock, worker uint64) *Leases { return &Leases{clock: c, fixedWorker: &worker} }

// leasedWorker holds one worker id of a pool at a time. If it loses the id, it acquires another.
type leasedWorker struct {
	*ids.Lease
	leases *Leases
	pool   string
	size   uint64
	first  int64 // earliest time that ids may have, in milliseconds since 1970
	end    int64 // first time for which the layout has no more bits, likewise

	stalledSince atomic.Int64 // when the store failed to answer in time, by the clock; 0 if it answers

	mutex          chan struct{} // holds a token while no store call is in progress; guards the fields below
	row            workerLease   // as last written by this process
	uncertainToken string        // the token of a write whose outcome is unknown
	minTime        int64         // ids before this were issued from here
	superseded     bool          // another process has written our row: do not reuse our earlier worker ids
	released       bool
}

// extendFunc extends the grant so that it covers a time, in milliseconds since 1970.
type extendFunc func(l *leasedWorker, ctx context.Context, need int64) error

// newLease leases a worker id of a pool, whose size is the layout's number of worker ids. extend is called if an id needs a time that the
// grant does not cover.
func (l *Leases) newLease(ctx context.Context, pool string, layout ids.Layout, extend extendFunc) (*leasedWorker, error) {
	le := &leasedWorker{leases: l, pool: pool, size: 1 << layout.WorkerBits, mutex: make(chan struct{}, 1)}
	le.mutex <- struct{}{}
	le.first, le.end = layout.Epoch.Add(layout.Unit).UnixMilli(), layout.End().UnixMilli()
	var err error
	if le.Lease, err = ids.NewLease(layout, func(ctx context.Context, until time.Time) error { return extend(le, ctx, until.UnixMilli()) }); err != nil {
		return nil, err
	}
	now := l.clock.Now()
	if err := layout.CheckClock(now); errors.Is(err, ids.ErrEnded) {
		return nil, errTimeExhausted(le.end)
	} else if err != nil {
		return nil, err
	}
	if layout.End().Sub(now) < warnBeforeEnd && l.logger != nil {
		l.logger.Warn("the time of these ids ends in a few years; plan another layout", "pool", pool, "end", layout.End().UTC())
	}
	if l.fixedWorker != nil {
		return le, le.Grant(*l.fixedWorker, time.UnixMilli(le.first), now, layout.End())
	}
	if err := l.store.Pool(ctx, pool, le.size); err != nil {
		return nil, err
	}
	if err := le.extend(ctx, 0); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return nil, errors.Join(errClosing, le.release(ctx))
	}
	l.held = append(l.held, le)
	return le, nil
}

// endGrant ends the grant: after it returns, no more ids are issued under it. The caller holds the mutex.
func (l *leasedWorker) endGrant() {
	if next, ok := l.End(); ok {
		l.minTime = max(l.minTime, next.UnixMilli())
	}
}

// extend ensures that ids up to a time are granted. It returns at once if they are.
func (l *leasedWorker) extend(ctx context.Context, need int64) error {
	select {
	case <-l.mutex:
	case <-ctx.Done():
		return errLeaseUnavailable(ctx.Err())
	}
	defer func() { l.mutex <- struct{}{} }()
	until, granted := l.Until()
	switch {
	case l.released:
		return errClosing
	case need >= l.end:
		return errTimeExhausted(l.end)
	case granted && until.UnixMilli() > need:
		return nil
	}
	return l.renew(ctx, need)
}

// renew raises the mark, or acquires a worker id if there is none. The caller holds mutex.
func (l *leasedWorker) renew(ctx context.Context, need int64) error {
	if _, granted := l.Until(); granted {
		now := l.leases.clock.Now().UnixMilli()
		mark := min(max(now+markAhead.Milliseconds(), need+minMarkRaise.Milliseconds(), l.row.Mark), l.end)
		next := workerLease{Slot: l.row.Slot, Token: l.leases.token(), Machine: l.leases.config.Machine, Term: l.row.Term + 1, Mark: mark}
		mine, err := l.write(ctx, next)
		if err != nil {
			return err
		}
		if mine {
			l.Raise(time.UnixMilli(l.row.Mark))
			return nil
		}
		l.leases.logger.Warn("another process uses this worker id; this process acquires another one", "pool", l.pool, "worker", l.row.Slot)
		l.endGrant()
		l.leases.unclaim(l.pool, l.row.Slot)
		l.superseded = true
	}
	return l.acquire(ctx)
}

// write replaces our row, and reports whether it was still ours.
func (l *leasedWorker) write(ctx context.Context, next workerLease) (bool, error) {
	if l.uncertainToken != "" { // check whether the previous write was stored
		row, err := l.leases.store.Get(ctx, l.pool, l.row.Slot)
		if err != nil {
			return false, l.recordStall(err)
		}
		if row.Token == l.uncertainToken {
			l.row, next.Term = row, row.Term+1
			next.Mark = max(next.Mark, row.Mark)
		}
		l.uncertainToken = ""
	}
	ok, err := l.leases.store.Put(ctx, l.pool, l.row, next)
	if err != nil {
		l.uncertainToken = next.Token
		return false, l.recordStall(err)
	}
	if ok {
		l.row = next
		l.stalledSince.Store(0)
	}
	return ok, nil
}

func (l *leasedWorker) recordStall(err error) error {
	l.stalledSince.Store(l.leases.clock.Now().UnixMilli())
	return errLeaseUnavailable(err)
}

// Run renews the leases until ctx ends, and then releases them. A lease that could not be released looks like that of a killed process,
// which is safe.
func (l *Leases) Run(ctx context.Context) error {
	t := time.NewTimer(renewEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := l.Release(context.WithoutCancel(ctx)); err != nil {
				l.logger.Warn("worker ids could not be released", "error", err)
			}
			return nil
		case <-t.C:
		}
		if l.renew(ctx) {
			t.Reset(renewEvery)
		} else {
			t.Reset(retryEvery)
		}
	}
}

// renew renews all leases concurrently, so that they share one commit. It reports whether all succeeded.
func (l *Leases) renew(ctx context.Context) bool {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var wait sync.WaitGroup
	var failed atomic.Bool
	for _, le := range held {
		wait.Go(func() {
			if err := le.renewNow(ctx); err != nil && ctx.Err() == nil {
				failed.Store(true)
				l.logger.Warn("the lease of a worker id could not be renewed; ids will run out", "pool", le.pool, "error", err)
			}
		})
	}
	wait.Wait()
	return !failed.Load()
}

// renewNow renews the lease even if most of it remains.
func (l *leasedWorker) renewNow(ctx context.Context) error {
	select {
	case <-l.mutex:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.mutex <- struct{}{} }()
	if l.released {
		return nil
	}
	return l.renew(ctx, 0)
}

// Release ends all leases. No more ids are issued under them, and their marks are lowered to the last ids' times.
func (l *Leases) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	l.mu.Lock()
	l.released = true
	held := l.held
	l.held = nil
	l.mu.Unlock()
	var err error
	for _, le := range held {
		err = errors.Join(err, le.release(ctx))
	}
	return err
}

func (l *leasedWorker) release(ctx context.Context) error {
	select {
	case <-l.mutex:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.mutex <- struct{}{} }()
	_, granted := l.Until()
	l.released = true
	l.endGrant()
	if !granted {
		return nil
	}
	defer l.leases.unclaim(l.pool, l.row.Slot)
	if l.leases.fixedWorker != nil {
		return nil
	}
	next := l.row
	next.Token, next.Term, next.Mark = "", l.row.Term+1, min(l.minTime, l.row.Mark)
	_, err := l.leases.store.Put(ctx, l.pool, l.row, next) // a failed start has nothing to release
	return err
}

var errClosing = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: time.Second}

func errTimeExhausted(end int64) error {
	return errs.New(errs.Unavailable, "ids_ended", "these ids ended at "+time.UnixMilli(end).UTC().Format(time.DateTime)+" UTC: their time has no more bits; check the clock, or change the layout")
}

// errLeaseUnavailable is the error for a failure of the store. It keeps an error of kind Unavailable as it is.
func errLeaseUnavailable(err error) error {
	if e := (*errs.Error)(nil); errors.As(err, &e) && e.Kind == errs.Unavailable {
		return e
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_wait", Message: "the server could not lease ids in time; try again", Retry: 200 * time.Millisecond, Cause: err}
}
