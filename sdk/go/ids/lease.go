package ids

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Lease gives a generator a worker id, and the times that its ids may contain: a grant. It is for those who lease worker ids to processes,
// as Rialto's server does in its database; with a worker id of your own, use Config.
//
// The owner of leases sees to it that grants of the same worker id never overlap, in whichever processes. Then no id is made twice, even by
// a process that was suspended, or copied while it ran: what remains of its grant lies in the past. All times are whole milliseconds.
type Lease struct {
	shape
	layout Layout
	extend func(ctx context.Context, until time.Time) error
	grant  atomic.Pointer[grant] // nil: none
}

// grant is the right to issue the ids of one worker id with times in [from, to).
type grant struct {
	worker uint64
	from   int64 // milliseconds since 1970
	began  int64 // the clock's time when it was granted
	// to only increases, and is 0 after the grant has ended.
	to atomic.Int64
	// last is the generator's position: units since its epoch, shifted, with the sequence. It is spent after the grant has ended.
	// It must be read before to.
	last atomic.Uint64
}

// spent is the lowest position that means that the grant has ended.
const spent = 1 << 63

// NewLease returns a lease without a grant. A generator calls extend if it needs a time that the grant does not cover. extend calls Grant or
// Raise so that it does, or returns an error, which the generator returns to its caller. extend must be safe for concurrent use.
func NewLease(layout Layout, extend func(ctx context.Context, until time.Time) error) (*Lease, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	return &Lease{shape: layout.ms(), layout: layout, extend: extend}, nil
}

// Grant starts a grant: ids have the worker id, below 2^WorkerBits, and times in [from, to). clock is the clock's time: if from is ahead of it
// by up to MaxLead, the time in snowflakes runs at half speed until the clock has caught up. Grant, Raise and End must not be called
// concurrently.
func (l *Lease) Grant(worker uint64, from, clock, to time.Time) error {
	if worker>>l.layout.WorkerBits != 0 {
		return fmt.Errorf("worker %d: the layout has numbers up to %d", worker, uint64(1)<<l.layout.WorkerBits-1)
	}
	g := &grant{worker: worker, from: max(from.UnixMilli(), l.epoch+l.unit), began: clock.UnixMilli()}
	units := uint64((g.from - l.epoch + l.unit - 1) / l.unit)
	g.last.Store(units<<l.bits - 1)
	g.to.Store(to.UnixMilli())
	l.grant.Store(g)
	return nil
}

// Raise moves the end of the grant to a later time. It does nothing without a grant.
func (l *Lease) Raise(to time.Time) {
	if g := l.grant.Load(); g != nil {
		g.to.Store(to.UnixMilli())
	}
}

// Until returns the end of the current grant, or false if there is none.
func (l *Lease) Until() (time.Time, bool) {
	if g := l.grant.Load(); g != nil {
		return time.UnixMilli(g.to.Load()), true
	}
	return time.Time{}, false
}

// Worker returns the current worker id, or false if there is no grant.
func (l *Lease) Worker() (uint64, bool) {
	if g := l.grant.Load(); g != nil {
		return g.worker, true
	}
	return 0, false
}

// End ends the current grant. After it returns, no more ids are issued under it, and those that were have times before the returned one. It
// returns false if there was no grant.
func (l *Lease) End() (time.Time, bool) {
	g := l.grant.Swap(nil)
	if g == nil {
		return time.Time{}, false
	}
	g.to.Store(0)
	return time.UnixMilli(l.after(g.last.Swap(spent))), true
}

// Clone returns a copy of the lease with another extend, as in a process that was cloned with its memory. It is for tests of extend, which
// must let only one of two such processes continue.
func (l *Lease) Clone(extend func(ctx context.Context, until time.Time) error) *Lease {
	c := &Lease{shape: l.shape, layout: l.layout, extend: extend}
	if g := l.grant.Load(); g != nil {
		copied := &grant{worker: g.worker, from: g.from, began: g.began}
		copied.to.Store(g.to.Load())
		copied.last.Store(g.last.Load())
		c.grant.Store(copied)
	}
	return c
}

// Config configures a generator whose worker id the program knows.
type Config struct {
	// Worker is the worker id. Never give two generators that run at the same time the same one: they would make the same ids. If you cannot
	// number your processes, get ids from a deployment's id service, which leases worker ids.
	//
	// Of snowflakes it is 0 to 1,023 (datacenter*32 + worker), of sonyflakes 0 to 65,535, of readable ids below the number of ranges.
	Worker uint64
	// After is the time of the last id of this worker, if you know it, as from the largest id in your table: ids wait until the clock is past
	// it. Without After, a process that restarts after its clock stepped back can repeat ids. While the clock only goes forward, restarts need
	// no After, because ids never have a time that the clock has not reached.
	After time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// fixed returns a lease of the configured worker id. keepsToClock: the generator itself never passes the clock.
func (c Config) fixed(layout Layout, keepsToClock bool) (*Lease, func() time.Time, error) {
	clock := c.Now
	if clock == nil {
		clock = time.Now
	}
	var lease *Lease
	lease, err := NewLease(layout, func(ctx context.Context, until time.Time) error {
		if !until.Before(layout.End()) {
			return ErrEnded
		}
		if err := waitForClock(ctx, clock, until); err != nil {
			return err
		}
		lease.raiseTo(clock().UnixMilli() + 1)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	now := clock()
	if err := layout.CheckClock(now); err != nil {
		return nil, nil, err
	}
	from, to := layout.Epoch.Add(layout.Unit), layout.End()
	if next := time.UnixMilli(c.After.UnixMilli()).Add(layout.Unit); !c.After.IsZero() && next.After(from) {
		from = next
	}
	if !keepsToClock {
		to = time.UnixMilli(now.UnixMilli() + 1)
	}
	began := now
	if from.After(now) {
		began = from // ids wait until the clock is there
	}
	return lease, clock, lease.Grant(c.Worker, from, began, to)
}

// raiseTo raises the grant's end, which many may do at once.
func (l *Lease) raiseTo(ms int64) {
	g := l.grant.Load()
	for to := g.to.Load(); to < ms && !g.to.CompareAndSwap(to, ms); to = g.to.Load() {
	}
}
