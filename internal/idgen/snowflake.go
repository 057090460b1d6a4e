package idgen

import (
	"context"
	"fmt"
	"time"
)

// Epoch of snowflake times: 2025-01-01 UTC, in milliseconds since 1970. 41 bits last until 2094.
const Epoch = 1735689600000

// Layout of a snowflake, from its highest bit: a zero, time, datacenter, worker, sequence. The zero value is 41, 5, 5, 12
// in milliseconds since Epoch.
type Layout struct {
	TimeBits, DatacenterBits, WorkerBits, SequenceBits uint8
	// Unit of time, of whole milliseconds. Default 1 ms.
	Unit time.Duration
	// Epoch, in milliseconds since 1970. Default 2025-01-01.
	Epoch int64
}

// SnowflakeParts is what a snowflake says.
type SnowflakeParts struct {
	Time                         time.Time // the beginning of its unit
	Datacenter, Worker, Sequence uint64
}

// complete gives the layout with its defaults, or why it is none.
func (l Layout) complete() (Layout, error) {
	if l.TimeBits == 0 && l.DatacenterBits == 0 && l.WorkerBits == 0 && l.SequenceBits == 0 {
		l.TimeBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits = 41, 5, 5, 12
	}
	if l.Unit == 0 {
		l.Unit = time.Millisecond
	}
	if l.Epoch == 0 {
		l.Epoch = Epoch
	}
	sum := int(l.TimeBits) + int(l.DatacenterBits) + int(l.WorkerBits) + int(l.SequenceBits)
	switch {
	case sum > 63:
		return l, fmt.Errorf("a snowflake of %d bits: there are 63; take bits from time, datacenter, worker or sequence", sum)
	case l.TimeBits == 0 || l.SequenceBits == 0:
		return l, fmt.Errorf("a snowflake needs bits of time and of sequence")
	case int(l.DatacenterBits)+int(l.WorkerBits) > 20:
		return l, fmt.Errorf("a snowflake of %d worker numbers: at most 20 bits", 1<<(l.DatacenterBits+l.WorkerBits))
	case l.Unit < time.Millisecond || l.Unit%time.Millisecond != 0 || l.Unit > time.Minute:
		return l, fmt.Errorf("a snowflake's unit of %v: it is of whole milliseconds, 1 ms to 1 minute", l.Unit)
	case l.Epoch < 0:
		return l, fmt.Errorf("a snowflake's epoch of %d: it is in milliseconds since 1970", l.Epoch)
	}
	if years := float64(l.Unit.Milliseconds()) * float64(uint64(1)<<l.TimeBits) / (1000 * 86400 * 365.2425); years > 10_000 {
		return l, fmt.Errorf("a snowflake whose time lasts %.0f years: give bits of time to worker or sequence", years)
	}
	return l, nil
}

func (l Layout) workers() uint8 { return l.DatacenterBits + l.WorkerBits }

// Parse gives the parts of a snowflake of this layout.
func (l Layout) Parse(v uint64) (SnowflakeParts, error) {
	l, err := l.complete()
	if err != nil {
		return SnowflakeParts{}, err
	}
	if v>>(l.TimeBits+l.workers()+l.SequenceBits) != 0 {
		return SnowflakeParts{}, fmt.Errorf("%d is no snowflake: it has more than %d bits", v, l.TimeBits+l.workers()+l.SequenceBits)
	}
	cut := func(bits uint8) uint64 {
		part := v & (1<<bits - 1)
		v >>= bits
		return part
	}
	var p SnowflakeParts
	p.Sequence, p.Worker, p.Datacenter = cut(l.SequenceBits), cut(l.WorkerBits), cut(l.DatacenterBits)
	p.Time = time.UnixMilli(l.Epoch + int64(v)*l.Unit.Milliseconds()).UTC()
	return p, nil
}

// ParseSnowflake gives the parts of a snowflake of the default layout.
func ParseSnowflake(v uint64) (SnowflakeParts, error) { return Layout{}.Parse(v) }

// SnowflakeConfig of a generator. Generators of one name, on all nodes, make ids that differ.
type SnowflakeConfig struct {
	Name   string // default "snowflake"
	Layout Layout
}

// Snowflake makes snowflakes.
type Snowflake struct{ flake }

// NewSnowflake leases a worker number. It fails where the clock is before the layout's epoch or after its end.
func NewSnowflake(ctx context.Context, leases *Leases, c SnowflakeConfig) (*Snowflake, error) {
	l, err := c.Layout.complete()
	if err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = "snowflake"
	}
	lease, err := leases.hold(ctx, c.Name, 1<<l.workers(), counting{epoch: l.Epoch, unit: l.Unit.Milliseconds(), bits: l.SequenceBits, time: l.TimeBits})
	if err != nil {
		return nil, err
	}
	return &Snowflake{flake{lease: lease, clock: leases.clock, timeShift: l.workers() + l.SequenceBits, workerShift: l.SequenceBits}}, nil
}
