package idgen

import (
	"context"
	"runtime"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
)

// flake makes ids of a time, a worker number and a sequence. There is no lock: a place is taken by a compare-and-set, and who
// must wait for the clock waits with nothing in hand.
type flake struct {
	lease *lease
	clock clock.Clock

	timeShift, workerShift, sequenceShift uint8
}

// maxStepBack of the clock that is waited out; beyond it ids are refused.
const maxStepBack = 100 * time.Millisecond

// Waits shorter than this are spent looking at the clock: timers come late by a good part of a millisecond, and each
// millisecond has its ids only while it lasts.
const spin = 1200 * time.Microsecond

// looks at the clock before a timer is asked all the same: a clock of tests stands still.
const looks = 20_000

// need is why there is no id yet.
type need struct {
	lease int64         // the lease must be extended to this time, in milliseconds since 1970
	wait  time.Duration // the clock must go on by about this
}

// Next gives an id. It waits while a unit of time's ids are used up or the clock stepped back a little; after a long step
// back it fails with Unavailable, and says how long.
func (f *flake) Next(ctx context.Context) (uint64, error) {
	if v, ok := f.quick(); ok {
		return v, nil
	}
	first, _, err := f.reserve(ctx, 1)
	return first, err
}

// manySequences is from how many bits of sequence an id is taken by an addition: many askers who add do not fail as those do who
// compare and set. But who adds where a unit's ids are used up takes one of the next unit's for nothing.
const manySequences = 16

// quick takes the next place. It is good in most cases, and else is nobody's.
func (f *flake) quick() (uint64, bool) {
	l := f.lease
	g := l.grant.Load()
	if g == nil || l.bits < manySequences {
		return 0, false
	}
	place := g.last.Add(1)
	ms := f.now(g) - l.epoch
	now := uint64(ms)
	if l.unit > 1 {
		now /= uint64(l.unit)
	}
	if ms < 0 || place>>l.bits != now || l.epoch+int64(now+1)*l.unit > g.to.Load() {
		return 0, false
	}
	return f.id(g, place), true
}

// id of a place.
func (f *flake) id(g *grant, place uint64) uint64 {
	bits := f.lease.bits
	return place>>bits<<f.timeShift | g.slot<<f.workerShift | place&(1<<bits-1)<<f.sequenceShift
}

// Fill gives len(dst) rising ids, or an error and none.
func (f *flake) Fill(ctx context.Context, dst []uint64) error {
	for i := 0; i < len(dst); {
		first, n, err := f.reserve(ctx, uint64(len(dst)-i))
		if err != nil {
			clear(dst)
			return err
		}
		for range n {
			dst[i] = first
			first += 1 << f.sequenceShift
			i++
		}
	}
	return nil
}

// Worker is the worker number at the moment. It changes when the lease is lost.
func (f *flake) Worker() uint64 {
	if g := f.lease.grant.Load(); g != nil {
		return g.slot
	}
	return 0
}

// YearsLeft until the ids' time has no more bits.
func (f *flake) YearsLeft() float64 {
	return time.UnixMilli(f.lease.end()).Sub(f.clock.Now()).Hours() / 24 / 365.2425
}

// reserve takes up to n ids of one unit of time.
func (f *flake) reserve(ctx context.Context, n uint64) (first, got uint64, err error) {
	for {
		first, got, need, err := f.try(n)
		if got > 0 || err != nil {
			return first, got, err
		}
		if need.lease != 0 {
			err = f.lease.extend(ctx, need.lease)
		} else {
			err = f.pause(ctx, need.wait)
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

func (f *flake) try(n uint64) (first, got uint64, _ need, _ error) {
	l := f.lease
	for {
		g := l.grant.Load()
		if g == nil {
			return 0, 0, need{lease: max(f.clock.Now().UnixMilli(), 1)}, nil
		}
		last := g.last.Load() // before the clock: what others took meanwhile is no step back
		for ms := f.now(g); last < spent; {
			at := last >> l.bits
			if began := l.epoch + int64(at)*l.unit; ms < began {
				return f.late(time.Duration(began-ms) * time.Millisecond)
			}
			now := uint64(ms - l.epoch)
			if l.unit > 1 { // a division costs as much as all the rest
				now /= uint64(l.unit)
			}
			switch {
			case now > at:
				first = now << l.bits
			case (last+1)>>l.bits > at:
				return 0, 0, need{wait: f.rest()}, nil
			default:
				first = last + 1
			}
			if end := l.epoch + int64(now+1)*l.unit; end > g.to.Load() {
				return 0, 0, need{lease: end - 1}, nil
			}
			got = min(n, (now+1)<<l.bits-first)
			if g.last.CompareAndSwap(last, first+got-1) {
				return f.id(g, first), got, need{}, nil
			}
			if last = g.last.Load(); last>>l.bits > now { // others are past our look at the clock
				ms = f.now(g)
			}
		}
	}
}

// now in milliseconds since 1970. A grant that began ahead of the clock is met by it: its time runs at half the speed.
func (f *flake) now(g *grant) int64 {
	now := f.clock.Now().UnixMilli()
	if g.began < g.from && g.from-g.began <= maxLead.Milliseconds() {
		return max(now, g.from+(now-g.began)/2)
	}
	return now
}

// late is what a clock behind the last id leads to.
func (f *flake) late(back time.Duration) (first, got uint64, _ need, _ error) {
	if back > maxStepBack {
		return 0, 0, need{}, &errs.Error{Kind: errs.Unavailable, Reason: "clock_back", Message: "the server's clock is behind the last id by " + back.String() + "; ids are refused until it has caught up", Retry: back}
	}
	return 0, 0, need{wait: back}, nil
}

// rest of the unit of time.
func (f *flake) rest() time.Duration {
	unit := time.Duration(f.lease.unit) * time.Millisecond
	return unit - time.Duration(f.clock.Now().UnixNano()-f.lease.epoch*int64(time.Millisecond))%unit
}

// pause until the clock has gone on by d, or thereabouts.
func (f *flake) pause(ctx context.Context, d time.Duration) error {
	until := f.clock.Now().Add(d)
	if d <= spin {
		for range looks {
			runtime.Gosched()
			if !f.clock.Now().Before(until) {
				return ctx.Err()
			}
		}
	} else {
		d -= spin
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errWait(ctx.Err())
	}
}
