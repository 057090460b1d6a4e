package ids

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// The bits of a readable id's time and spin.
const (
	ReadableTimeBits = 42
	ReadableSpinBits = 12
)

// ReadableLayout returns the layout of the time and spin of readable ids: the upper bits of a spin are the worker id. ranges is the number of
// equal parts into which the 4,096 spins of a millisecond are divided, a power of two up to 4,096, and so the number of generators.
func ReadableLayout(ranges uint64) (Layout, error) {
	if ranges > 1<<ReadableSpinBits || bits.OnesCount64(ranges) != 1 {
		return Layout{}, fmt.Errorf("%d ranges of spins: set a power of two, 1 to 4,096", ranges)
	}
	worker := uint8(bits.TrailingZeros64(ranges))
	l := Layout{Epoch: time.UnixMilli(0), Unit: time.Millisecond, TimeBits: ReadableTimeBits, WorkerBits: worker, SequenceBits: ReadableSpinBits - worker}
	return l, nil
}

// Readables generates readable ids. Time and spin together only increase. If the clock stops or steps back, or a millisecond's spins are used
// up, they run ahead of the clock as far as the lease allows.
type Readables struct {
	lease *Lease
	clock func() time.Time
}

// NewReadables returns a generator of readable ids. ranges is the number of worker ids, a power of two up to 4,096. It must be the same for all
// generators of a product, and never change. With 16 ranges each makes 256 ids in a millisecond, and waits for the next one.
func NewReadables(ranges uint64, c Config) (*Readables, error) {
	layout, err := ReadableLayout(ranges)
	if err != nil {
		return nil, err
	}
	lease, clock, err := c.fixed(layout, false)
	if err != nil {
		return nil, err
	}
	return LeasedReadables(lease, clock), nil
}

// LeasedReadables returns a generator with a lease of a ReadableLayout. No other generator may use the same lease. now is the clock; nil means
// time.Now.
func LeasedReadables(lease *Lease, now func() time.Time) *Readables {
	if now == nil {
		now = time.Now
	}
	return &Readables{lease, now}
}

// ErrType is returned for a type that needs more than 4 bits.
var ErrType = errors.New("ids: a conversation's type is 0 to 15")

// Next returns the id of something of a type, 0 to 15, in a conversation, of which the id has the low 22 bits. It fails where the lease
// is not extended; a generator of NewReadables fails with a *ClockBackError if the clock stepped back by more than 100 ms and the spins of
// the last millisecond are used up, and with ErrEnded after 2109.
func (r *Readables) Next(ctx context.Context, typ uint8, conversation uint64) (Readable, error) {
	if typ > 15 {
		return Readable{}, ErrType
	}
	for {
		ms, spin, need := r.tryNext()
		if need == 0 {
			return ReadableOf(ms, spin, typ, conversation), nil
		}
		if err := r.lease.extend(ctx, time.UnixMilli(need)); err != nil {
			return Readable{}, err
		}
	}
}

// tryNext reserves the next time and spin. If the lease does not cover them, it returns the time that the lease must cover.
func (r *Readables) tryNext() (ms int64, spin uint16, need int64) {
	l := r.lease
	clock := r.clock().UnixMilli()
	now := uint64(clock) << l.bits
	for {
		g := l.grant.Load()
		if g == nil {
			return 0, 0, max(clock, 1)
		}
		last := g.last.Load()
		next := max(now, last+1)
		ms := int64(next >> l.bits)
		switch to := g.to.Load(); {
		case last >= spent:
			return 0, 0, max(clock, 1)
		case ms >= to:
			return 0, 0, ms
		}
		if g.last.CompareAndSwap(last, next) {
			return ms, uint16(g.worker<<l.bits | next&(1<<l.bits-1)), 0
		}
	}
}
