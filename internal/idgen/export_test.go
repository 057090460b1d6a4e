package idgen

import (
	"context"
	"log/slog"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb"
)

// Worker is a row, and Workers what keeps rows.
type (
	Worker  = worker
	Workers = workers
)

// Durations of the leases.
const (
	Ahead     = ahead
	Abandoned = abandoned
	Forgotten = forgotten
	MaxLead   = maxLead
	Margin    = margin
)

// NewStore keeps rows in a database.
func NewStore(ctx context.Context, db *sqldb.DB) (Workers, error) { return newStore(ctx, db) }

// NewLeasesOn makes leases on any store.
func NewLeasesOn(w Workers, c clock.Clock, logger *slog.Logger, config LeaseConfig, token func() string) *Leases {
	l := newLeases(w, c, logger, config)
	l.token = token
	return l
}

// Renew is one round of Run, one lease after the other.
func (l *Leases) Renew(ctx context.Context) {
	for _, le := range l.held {
		_ = le.refresh(ctx) // who asks for ids is told
	}
}

// TryNext is Next that never waits: it extends the lease once where that is short, and tells whether there is an id.
func (f *flake) TryNext(ctx context.Context) (uint64, bool, error) {
	if v, ok := f.quick(); ok {
		return v, true, nil
	}
	for range 2 {
		v, got, need, err := f.try(1)
		if got > 0 || err != nil {
			return v, got > 0, err
		}
		if need.lease == 0 {
			return 0, false, nil
		}
		if err := f.lease.extend(ctx, need.lease); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// TryNext is Next that never waits.
func (m *Messages) TryNext(ctx context.Context, typ uint8, c id.Conversation) (id.Message, bool, error) {
	for range 2 {
		ms, spin, g := m.try()
		if g == nil {
			return id.MessageOf(ms, spin, typ, c), true, nil
		}
		if err := m.lease.extend(ctx, max(m.clock.Now().UnixMilli(), g.to.Load(), 1)); err != nil {
			return id.Message{}, false, err
		}
	}
	return id.Message{}, false, nil
}

// Frozen is a copy of a running process' generators, as a snapshot of its memory has them.
func Frozen(l *Leases, f *Snowflake, m *Messages, c clock.Clock) (*Leases, *Snowflake, *Messages) {
	l2 := newLeases(l.store, c, l.logger, l.config)
	l2.token = l.token
	for k, v := range l.claimed {
		l2.claimed[k] = v
	}
	freeze := func(le *lease) *lease {
		c := &lease{counting: le.counting, leases: l2, pool: le.pool, size: le.size, turn: make(chan struct{}, 1), row: le.row, unsure: le.unsure, seen: le.seen, lost: le.lost}
		c.turn <- struct{}{}
		if g := le.grant.Load(); g != nil {
			g2 := &grant{slot: g.slot, from: g.from, began: g.began}
			g2.to.Store(g.to.Load())
			g2.last.Store(g.last.Load())
			c.grant.Store(g2)
		}
		l2.held = append(l2.held, c)
		return c
	}
	f2, m2 := &Snowflake{f.flake}, &Messages{bits: m.bits, clock: c}
	f2.clock, f2.lease, m2.lease = c, freeze(f.lease), freeze(m.lease)
	return l2, f2, m2
}
