package idgen

import (
	"context"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/sdk/go/ids"
)

// Worker is a row, and Workers a store of rows.
type (
	Worker  = workerLease
	Workers = leaseStore
)

// Durations of leases.
const (
	Ahead     = markAhead
	Abandoned = abandonedAfter
	Forgotten = forgottenAfter
	MaxLead   = ids.MaxLead
	Margin    = minMarkRaise
)

// Layout is the number of bits for each part of a test's snowflakes, and their unit of time.
type Layout struct {
	Time, Worker, Sequence uint8
	Unit                   time.Duration
}

func (l Layout) ids() ids.Layout {
	return ids.Layout{Epoch: time.UnixMilli(ids.Epoch), Unit: max(l.Unit, time.Millisecond), TimeBits: l.Time, WorkerBits: l.Worker, SequenceBits: l.Sequence}
}

// NewSnowflakeOf makes a generator of a layout.
func NewSnowflakeOf(ctx context.Context, leases *Leases, l Layout) (*Snowflake, error) {
	f, err := newFlake(ctx, leases, "snowflake", l.ids())
	return &Snowflake{f}, err
}

// Parse returns the beginning of an id's unit of time, its worker and its sequence.
func (l Layout) Parse(v uint64) (began time.Time, worker, sequence uint64) {
	p, err := l.ids().Parse(v)
	if err != nil {
		panic(err)
	}
	return p.Time, p.Worker, p.Sequence
}

// NewStore keeps rows in a database.
func NewStore(ctx context.Context, db *sqldb.DB) (Workers, error) { return newLeaseStore(ctx, db) }

// NewLeasesOn makes leases on any store.
func NewLeasesOn(w Workers, c clock.Clock, logger *slog.Logger, config LeaseConfig, token func() string) *Leases {
	l := newLeases(w, c, logger, config)
	l.token = token
	return l
}

// Renew is one round of Run.
func (l *Leases) Renew(ctx context.Context) {
	for _, le := range l.held {
		_ = le.renewNow(ctx) // callers get the error
	}
}

// TryNext is Next without waiting for the clock.
func (f *flake) TryNext(ctx context.Context) (uint64, bool, error) {
	v, ok, err := f.flakes.TryNext(ctx)
	return v, ok, idError(err)
}

// NewMessagesThatTry returns a generator that extends its lease at once or fails: it waits neither for the store nor for the clock.
func NewMessagesThatTry(ctx context.Context, leases *Leases, c MessagesConfig) (*Messages, error) {
	return newMessages(ctx, leases, c, (*leasedWorker).extend)
}

// Frozen is a copy of a running process's generators, as in a snapshot of its memory. Its message generator never waits, like those of
// NewMessagesThatTry.
func Frozen(l *Leases, f *Snowflake, m *Messages, c clock.Clock) (*Leases, *Snowflake, *Messages) {
	l2 := newLeases(l.store, c, l.logger, l.config)
	l2.token = l.token
	for k, v := range l.claimed {
		l2.claimed[k] = v
	}
	freeze := func(le *leasedWorker) *leasedWorker {
		c := &leasedWorker{leases: l2, pool: le.pool, size: le.size, first: le.first, end: le.end, mutex: make(chan struct{}, 1), row: le.row, uncertainToken: le.uncertainToken, minTime: le.minTime, superseded: le.superseded}
		c.Lease = le.Clone(func(ctx context.Context, until time.Time) error { return c.extend(ctx, until.UnixMilli()) })
		c.mutex <- struct{}{}
		l2.held = append(l2.held, c)
		return c
	}
	f2, m2 := freeze(f.lease), freeze(m.lease)
	return l2, &Snowflake{flake{ids.LeasedFlakes(f2.Lease, c.Now), f2}}, &Messages{ids.LeasedReadables(m2.Lease, c.Now), m2}
}
