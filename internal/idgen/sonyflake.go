package idgen

import (
	"context"
	"fmt"
	"time"
)

const (
	sonyflakeUnit     = 10 * time.Millisecond
	sonyflakeTime     = 39
	sonyflakeSequence = 8
	sonyflakeMachine  = 16
)

// SonyflakeParts is what a sonyflake says.
type SonyflakeParts struct {
	Time              time.Time // the beginning of its 10 ms
	Sequence, Machine uint64
}

// ParseSonyflake gives the parts of a sonyflake that counts from Epoch.
func ParseSonyflake(v uint64) (SonyflakeParts, error) {
	if v>>63 != 0 {
		return SonyflakeParts{}, fmt.Errorf("%d is no sonyflake: it has more than 63 bits", v)
	}
	return SonyflakeParts{
		Time:     time.UnixMilli(Epoch + int64(v>>(sonyflakeSequence+sonyflakeMachine))*sonyflakeUnit.Milliseconds()).UTC(),
		Sequence: v >> sonyflakeMachine & (1<<sonyflakeSequence - 1),
		Machine:  v & (1<<sonyflakeMachine - 1),
	}, nil
}

// SonyflakeConfig of a generator. Generators of one name, on all nodes, make ids that differ.
type SonyflakeConfig struct {
	Name string // default "sonyflake"
}

// Sonyflake makes ids of 39 bits of 10 ms, 8 of sequence and 16 of machine: 25,600 a second on each of 65,536, for 174 years.
type Sonyflake struct{ flake }

// NewSonyflake leases a machine number. It fails where the clock is before Epoch or after the end.
func NewSonyflake(ctx context.Context, leases *Leases, c SonyflakeConfig) (*Sonyflake, error) {
	if c.Name == "" {
		c.Name = "sonyflake"
	}
	lease, err := leases.hold(ctx, c.Name, 1<<sonyflakeMachine, counting{epoch: Epoch, unit: sonyflakeUnit.Milliseconds(), bits: sonyflakeSequence, time: sonyflakeTime})
	if err != nil {
		return nil, err
	}
	return &Sonyflake{flake{lease: lease, clock: leases.clock, timeShift: sonyflakeSequence + sonyflakeMachine, sequenceShift: sonyflakeMachine}}, nil
}
