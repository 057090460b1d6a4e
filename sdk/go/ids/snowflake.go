package ids

import (
	"fmt"
	"time"
)

// The bits of a snowflake, from the highest: a zero, milliseconds since Epoch, datacenter, worker, sequence.
const (
	SnowflakeTimeBits       = 41
	SnowflakeDatacenterBits = 5
	SnowflakeWorkerBits     = 5
	SnowflakeSequenceBits   = 12
)

// SnowflakeParts are the parts of a snowflake.
type SnowflakeParts struct {
	Time                         time.Time
	Datacenter, Worker, Sequence uint64
}

// ParseSnowflake returns the parts of a snowflake.
func ParseSnowflake(v uint64) (SnowflakeParts, error) {
	p, err := SnowflakeLayout().Parse(v)
	if err != nil {
		return SnowflakeParts{}, fmt.Errorf("%d is no snowflake: it has more than 63 bits", v)
	}
	return SnowflakeParts{Time: p.Time, Datacenter: p.Worker >> SnowflakeWorkerBits, Worker: p.Worker & (1<<SnowflakeWorkerBits - 1), Sequence: p.Sequence}, nil
}

// The bits of a sonyflake, from the highest: a zero, units of time since Epoch, sequence, machine.
const (
	SonyflakeUnit         = 10 * time.Millisecond
	SonyflakeTimeBits     = 39
	SonyflakeSequenceBits = 8
	SonyflakeMachineBits  = 16
)

// SonyflakeParts are the parts of a sonyflake.
type SonyflakeParts struct {
	Time              time.Time // the beginning of its 10 ms
	Sequence, Machine uint64
}

// ParseSonyflake returns the parts of a sonyflake that counts from Epoch.
func ParseSonyflake(v uint64) (SonyflakeParts, error) {
	p, err := SonyflakeLayout().Parse(v)
	if err != nil {
		return SonyflakeParts{}, fmt.Errorf("%d is no sonyflake: it has more than 63 bits", v)
	}
	return SonyflakeParts{Time: p.Time, Sequence: p.Sequence, Machine: p.Worker}, nil
}
