package idgen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// A lease is a row: a worker number of a pool, and a mark, in milliseconds since 1970. Each write of a row is a compare-and-set
// that gives its writer, and nobody else, the times from the old mark up to the new one. Ids with that number have such times
// only. So no two holders ever share a number and a time, whoever is paused, cloned, or late: nothing here waits for a lease
// to run out in order to be right, only in order to be polite.
const (
	// ahead of the clock is where a mark is put, renewEvery how often, and retryEvery where that failed.
	ahead      = 3 * time.Second
	renewEvery = time.Second
	retryEvery = 250 * time.Millisecond
	// margin is what a mark is raised by at least, where the ids are ahead of the clock.
	margin = 100 * time.Millisecond
	// maxLead by which the ids of a process may be ahead of its clock because those of the one before it were.
	maxLead = 5 * time.Second
	// abandoned is what a shared database's row is whose mark passed that long ago: another may take it.
	abandoned = 30 * time.Second
	// forgotten is what an own database's row of another machine is after that long, where nothing else is left.
	forgotten = 30 * 24 * time.Hour
	// soon is when the end of an id's bits is worth a warning.
	soon = 5 * 365 * 24 * time.Hour
	// storeTime that a wait for the store has where its asker sets none.
	storeTime = 10 * time.Second
)

// LeaseDeps of leases.
type LeaseDeps struct {
	DB     *sqldb.DB
	Clock  clock.Clock
	Logger *slog.Logger
}

// LeaseConfig says whose the database is.
type LeaseConfig struct {
	// Machine is a fingerprint of this machine and of its copy of the database. What it held it may go on with at once.
	Machine string
	// Own: the database belongs to this process alone, which has locked it. Then numbers of other machines are those of the
	// database's other copies, which may be in use: they are left alone. Else the database is shared by nodes.
	Own bool
}

// Leases are the worker numbers that this process holds. All methods may be called from many goroutines.
type Leases struct {
	store  workers
	clock  clock.Clock
	logger *slog.Logger
	config LeaseConfig
	token  func() string
	fixed  *uint64 // the number of those that nobody leases

	mu      sync.Mutex // guards what is below
	held    []*lease
	claimed map[claim]bool // numbers that are held here, or about to be
	over    bool
}

// claim is a number of a pool.
type claim struct {
	pool string
	slot uint64
}

// NewLeases makes the table where it is missing. Run must run, or ids wait for the store every few seconds.
func NewLeases(ctx context.Context, d LeaseDeps, c LeaseConfig) (*Leases, error) {
	if c.Machine == "" {
		return nil, errors.New("a lease needs the machine's fingerprint")
	}
	s, err := newStore(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	return newLeases(s, d.Clock, d.Logger, c), nil
}

func newLeases(s workers, c clock.Clock, logger *slog.Logger, config LeaseConfig) *Leases {
	return &Leases{store: s, clock: c, logger: logger, config: config, token: rand.Text, claimed: map[claim]bool{}}
}

// Fixed gives every generator the same number without a lease. That nobody else uses it is for the caller to see to: this is
// for tests and for tools whose ids stay with them.
func Fixed(c clock.Clock, worker uint64) *Leases { return &Leases{clock: c, fixed: &worker} }

// grant is a right to ids: those of one number whose times lie in [from, to).
type grant struct {
	slot  uint64
	from  int64 // milliseconds since 1970
	began int64 // what the clock said when it was taken
	// to only rises, and is 0 when the grant is over.
	to atomic.Int64
	// last is the generator's place: units since its epoch, shifted by its bits, with the sequence; spent when the grant is over.
	// It must be read before to.
	last atomic.Uint64
}

// spent is the place of a grant that is over, and all above it.
const spent = 1 << 63

// counting is what a generator's place counts.
type counting struct {
	epoch int64 // milliseconds since 1970
	unit  int64 // milliseconds
	bits  uint8 // of sequence
	time  uint8 // bits of time
}

// end of the times, in milliseconds since 1970.
func (c counting) end() int64 { return c.epoch + c.unit<<c.time }

// after a place: the first millisecond that it has not touched.
func (c counting) after(last uint64) int64 { return c.epoch + int64(last>>c.bits+1)*c.unit }

// lease is one number of a pool, and the next one when that is lost.
type lease struct {
	*counting
	leases *Leases
	pool   string
	size   uint64

	grant   atomic.Pointer[grant] // nil: none
	stalled atomic.Int64          // when the store did not answer in time, by the clock; 0: it does

	turn   chan struct{} // holds a token while nobody asks the store; guards what is below
	row    worker        // as this process wrote it last
	unsure string        // the token of a write of which we do not know whether it came through
	seen   int64         // ids before this were issued from here
	lost   bool          // another has written our row: we keep off numbers that were ours
	over   bool
}

// hold leases a number of a pool of size numbers.
func (l *Leases) hold(ctx context.Context, pool string, size uint64, c counting) (*lease, error) {
	le := &lease{counting: &c, leases: l, pool: pool, size: size, turn: make(chan struct{}, 1)}
	le.turn <- struct{}{}
	now := l.clock.Now().UnixMilli()
	if now < c.epoch+c.unit {
		return nil, fmt.Errorf("the clock says %v, before the epoch of these ids, %v; set the clock", time.UnixMilli(now).UTC(), time.UnixMilli(c.epoch).UTC())
	}
	if now >= c.end() {
		return nil, errEnded(c)
	}
	if left := time.Duration(c.end()-now) * time.Millisecond; left < soon && l.logger != nil {
		l.logger.Warn("ids end in a few years; plan another layout", "pool", pool, "end", time.UnixMilli(c.end()).UTC())
	}
	if l.fixed != nil {
		if *l.fixed >= size {
			return nil, fmt.Errorf("worker %d: the layout has numbers up to %d", *l.fixed, size-1)
		}
		le.begin(*l.fixed, c.epoch+c.unit, now, c.end())
		return le, nil
	}
	if err := l.store.Pool(ctx, pool, size); err != nil {
		return nil, err
	}
	if err := le.extend(ctx, 0); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, errors.Join(errOver, le.release(ctx))
	}
	l.held = append(l.held, le)
	return le, nil
}

// begin makes a grant. The caller has the turn.
func (l *lease) begin(slot uint64, from, now, to int64) {
	g := &grant{slot: slot, from: from, began: now}
	units := uint64((from - l.epoch + l.unit - 1) / l.unit)
	g.last.Store(units<<l.bits - 1)
	g.to.Store(to)
	l.grant.Store(g)
}

// end ends the grant: when it returns no id comes from it any more. The caller has the turn.
func (l *lease) finish() {
	g := l.grant.Swap(nil)
	if g == nil {
		return
	}
	g.to.Store(0)
	l.seen = max(l.seen, l.after(g.last.Swap(spent)))
}

// extend sees to it that ids up to a time are granted. It returns at once where they are.
func (l *lease) extend(ctx context.Context, need int64) error {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return errWait(ctx.Err())
	}
	defer func() { l.turn <- struct{}{} }()
	g := l.grant.Load()
	switch {
	case l.over:
		return errOver
	case need >= l.end():
		return errEnded(*l.counting)
	case g != nil && g.to.Load() > need:
		return nil
	}
	return l.renew(ctx, need)
}

// renew raises the mark, or takes a number where there is none. The caller has the turn.
func (l *lease) renew(ctx context.Context, need int64) error {
	g := l.grant.Load()
	if g != nil {
		now := l.leases.clock.Now().UnixMilli()
		mark := min(max(now+ahead.Milliseconds(), need+margin.Milliseconds(), l.row.Mark), l.end())
		next := worker{Slot: l.row.Slot, Token: l.leases.token(), Machine: l.leases.config.Machine, Term: l.row.Term + 1, Mark: mark}
		mine, err := l.write(ctx, next)
		if err != nil {
			return err
		}
		if mine {
			g.to.Store(l.row.Mark)
			return nil
		}
		l.leases.logger.Warn("a worker number is in use elsewhere; this process takes another", "pool", l.pool, "worker", l.row.Slot)
		l.finish()
		l.leases.unclaim(l.pool, l.row.Slot)
		l.lost = true
	}
	return l.take(ctx)
}

// write replaces our row, and tells whether it still was ours.
func (l *lease) write(ctx context.Context, next worker) (bool, error) {
	if l.unsure != "" { // did the write before this one come through?
		row, err := l.leases.store.Get(ctx, l.pool, l.row.Slot)
		if err != nil {
			return false, l.stall(err)
		}
		if row.Token == l.unsure {
			l.row, next.Term = row, row.Term+1
			next.Mark = max(next.Mark, row.Mark)
		}
		l.unsure = ""
	}
	ok, err := l.leases.store.Put(ctx, l.pool, l.row, next)
	if err != nil {
		l.unsure = next.Token
		return false, l.stall(err)
	}
	if ok {
		l.row = next
		l.stalled.Store(0)
	}
	return ok, nil
}

func (l *lease) stall(err error) error {
	l.stalled.Store(l.leases.clock.Now().UnixMilli())
	return errWait(err)
}

// Run renews the leases until ctx ends, and then gives them back. What could not be given back is taken for that of a killed
// process, which does no harm.
func (l *Leases) Run(ctx context.Context) error {
	t := time.NewTimer(renewEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := l.Release(context.WithoutCancel(ctx)); err != nil {
				l.logger.Warn("worker numbers could not be given back", "error", err)
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

// renew renews all, at once: they meet in one commit. It tells whether all were.
func (l *Leases) renew(ctx context.Context) bool {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var wait sync.WaitGroup
	var failed atomic.Bool
	for _, le := range held {
		wait.Go(func() {
			if err := le.refresh(ctx); err != nil && ctx.Err() == nil {
				failed.Store(true)
				l.logger.Warn("a worker number could not be renewed; ids run out", "pool", le.pool, "error", err)
			}
		})
	}
	wait.Wait()
	return !failed.Load()
}

// refresh renews, whatever is left.
func (l *lease) refresh(ctx context.Context) error {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	if l.over {
		return nil
	}
	return l.renew(ctx, 0)
}

// Release ends all leases: no id comes from them any more, and their marks are lowered to where the ids ended.
func (l *Leases) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	l.mu.Lock()
	l.over = true
	held := l.held
	l.held = nil
	l.mu.Unlock()
	var err error
	for _, le := range held {
		err = errors.Join(err, le.release(ctx))
	}
	return err
}

func (l *lease) release(ctx context.Context) error {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	g := l.grant.Load()
	l.over = true
	l.finish()
	if g == nil {
		return nil
	}
	defer l.leases.unclaim(l.pool, l.row.Slot)
	if l.leases.fixed != nil {
		return nil
	}
	next := l.row
	next.Token, next.Term, next.Mark = "", l.row.Term+1, min(l.seen, l.row.Mark)
	_, err := l.leases.store.Put(ctx, l.pool, l.row, next) // who is refused has nothing to give back
	return err
}

var errOver = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: time.Second}

func errEnded(c counting) error {
	return errs.New(errs.Unavailable, "ids_ended", "these ids ended at "+time.UnixMilli(c.end()).UTC().Format(time.DateTime)+" UTC: their time has no more bits; check the clock, or change the layout")
}

// errWait is a store's failure; what the store says of itself stays.
func errWait(err error) error {
	if e := (*errs.Error)(nil); errors.As(err, &e) && e.Kind == errs.Unavailable {
		return e
	}
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_wait", Message: "the server could not lease ids in time; try again", Retry: 200 * time.Millisecond, Cause: err}
}
