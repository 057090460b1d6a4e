package ids

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Flakes generates ids of a time, a worker id and a sequence: snowflakes, sonyflakes, and those of other layouts. Each id is above all
// earlier ones. It has no lock: a compare-and-set reserves ids, and a caller that waits for the clock has reserved none.
type Flakes struct {
	lease *Lease
	clock func() time.Time
}

// NewSnowflakes returns a generator of snowflakes, of SnowflakeLayout.
func NewSnowflakes(c Config) (*Flakes, error) { return NewFlakes(SnowflakeLayout(), c) }

// NewSonyflakes returns a generator of sonyflakes, of SonyflakeLayout.
func NewSonyflakes(c Config) (*Flakes, error) { return NewFlakes(SonyflakeLayout(), c) }

// NewFlakes returns a generator of ids of a layout. It fails if the worker id has more bits than the layout provides, or the layout has no
// ids at the clock's time.
func NewFlakes(layout Layout, c Config) (*Flakes, error) {
	lease, clock, err := c.fixed(layout, true)
	if err != nil {
		return nil, err
	}
	return LeasedFlakes(lease, clock), nil
}

// LeasedFlakes returns a generator with a lease. No other generator may use the same lease. now is the clock; nil means time.Now.
func LeasedFlakes(lease *Lease, now func() time.Time) *Flakes {
	if now == nil {
		now = time.Now
	}
	return &Flakes{lease, now}
}

// MaxLead bounds how far ids may be ahead of the clock because their grant began ahead of it.
const MaxLead = 5 * time.Second

// ClockBackError means that the clock is behind the last id, because it stepped back.
type ClockBackError struct {
	// Behind is how far the clock is behind, and so how long to wait.
	Behind time.Duration
}

func (e *ClockBackError) Error() string {
	return fmt.Sprintf("ids: the clock is behind the last id by %v; wait until it has caught up", e.Behind)
}

// maxStepBack is the longest step back of the clock that is waited out. After a longer one, requests fail.
const maxStepBack = 100 * time.Millisecond

// Shorter waits poll the clock: timers fire late by a good part of a millisecond, and the ids of a millisecond can only be issued while it
// lasts.
const spinBelow = 1200 * time.Microsecond

// maxSpins bounds how often the clock is read before a timer is used anyway: a test's clock may not advance.
const maxSpins = 20_000

// shortage says why there is no id yet.
type shortage struct {
	lease int64         // the lease must be extended to this time, in milliseconds since 1970
	wait  time.Duration // the clock must advance by about this
}

// Next returns an id. It waits while a unit of time's ids are used up, or the clock stepped back by up to 100 ms; after a longer step
// back it fails with a *ClockBackError. After the layout's end it fails with ErrEnded.
func (f *Flakes) Next(ctx context.Context) (uint64, error) {
	first, _, err := f.reserve(ctx, 1)
	return first, err
}

// TryNext is Next without waiting for the clock: it returns false where Next would wait.
func (f *Flakes) TryNext(ctx context.Context) (uint64, bool, error) {
	for range 2 {
		v, got, need, err := f.tryReserve(1)
		if got > 0 || err != nil {
			return v, got > 0, err
		}
		if need.lease == 0 {
			return 0, false, nil
		}
		if err := f.lease.extend(ctx, time.UnixMilli(need.lease)); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// Fill fills dst with increasing ids, or returns an error and none. It waits and fails as Next does.
func (f *Flakes) Fill(ctx context.Context, dst []uint64) error {
	for i := 0; i < len(dst); {
		first, n, err := f.reserve(ctx, uint64(len(dst)-i))
		if err != nil {
			clear(dst)
			return err
		}
		for range n {
			dst[i] = first
			first += 1 << f.lease.sequenceShift
			i++
		}
	}
	return nil
}

// id returns the id of a position.
func (f *Flakes) id(g *grant, position uint64) uint64 {
	l := f.lease
	return position>>l.bits<<l.timeShift | g.worker<<l.workerShift | position&(1<<l.bits-1)<<l.sequenceShift
}

// reserve reserves up to n ids of one unit of time.
func (f *Flakes) reserve(ctx context.Context, n uint64) (first, got uint64, err error) {
	for {
		first, got, need, err := f.tryReserve(n)
		if got > 0 || err != nil {
			return first, got, err
		}
		if need.lease != 0 {
			err = f.lease.extend(ctx, time.UnixMilli(need.lease))
		} else {
			err = sleep(ctx, f.clock, need.wait)
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

func (f *Flakes) tryReserve(n uint64) (first, got uint64, _ shortage, _ error) {
	l := f.lease
	for {
		g := l.grant.Load()
		if g == nil {
			return 0, 0, shortage{lease: max(f.clock().UnixMilli(), 1)}, nil
		}
		last := g.last.Load() // read before the clock: ids that others reserve meanwhile are no step back
		for ms := f.now(g); last < spent; {
			at := last >> l.bits
			if began := l.epoch + int64(at)*l.unit; ms < began {
				return f.clockBehind(time.Duration(began-ms) * time.Millisecond)
			}
			now := uint64(ms - l.epoch)
			if l.unit > 1 { // a division would cost as much as everything else
				now /= uint64(l.unit)
			}
			switch {
			case now > at:
				first = now << l.bits
			case (last+1)>>l.bits > at:
				return 0, 0, shortage{wait: f.untilNextUnit()}, nil
			default:
				first = last + 1
			}
			if end := l.epoch + int64(now+1)*l.unit; end > g.to.Load() {
				return 0, 0, shortage{lease: end - 1}, nil
			}
			got = min(n, (now+1)<<l.bits-first)
			if g.last.CompareAndSwap(last, first+got-1) {
				return f.id(g, first), got, shortage{}, nil
			}
			if last = g.last.Load(); last>>l.bits > now { // others are past our reading of the clock
				ms = f.now(g)
			}
		}
	}
}

// now returns milliseconds since 1970. If a grant began ahead of the clock, its time runs at half the speed until the clock has caught up.
func (f *Flakes) now(g *grant) int64 {
	now := f.clock().UnixMilli()
	if g.began < g.from && g.from-g.began <= MaxLead.Milliseconds() {
		return max(now, g.from+(now-g.began)/2)
	}
	return now
}

// clockBehind handles a clock that is behind the last id.
func (f *Flakes) clockBehind(back time.Duration) (first, got uint64, _ shortage, _ error) {
	if back > maxStepBack {
		return 0, 0, shortage{}, &ClockBackError{back}
	}
	return 0, 0, shortage{wait: back}, nil
}

// untilNextUnit returns the rest of the current unit of time.
func (f *Flakes) untilNextUnit() time.Duration {
	unit := time.Duration(f.lease.unit) * time.Millisecond
	return unit - time.Duration(f.clock().UnixNano()-f.lease.epoch*int64(time.Millisecond))%unit
}

// waitForClock waits until the clock has reached a time that is at most maxStepBack away.
func waitForClock(ctx context.Context, clock func() time.Time, until time.Time) error {
	for {
		d := until.Sub(clock())
		switch {
		case d <= 0:
			return nil
		case d > maxStepBack:
			return &ClockBackError{d}
		}
		if err := sleep(ctx, clock, d); err != nil {
			return err
		}
	}
}

// sleep waits until the clock has advanced by about d.
func sleep(ctx context.Context, clock func() time.Time, d time.Duration) error {
	until := clock().Add(d)
	if d <= spinBelow {
		for range maxSpins {
			runtime.Gosched()
			if !clock().Before(until) {
				return ctx.Err()
			}
		}
	} else {
		d -= spinBelow
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
