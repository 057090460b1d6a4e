package ids

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// Epoch of the times in snowflakes and sonyflakes: 2025-01-01 UTC, in milliseconds since 1970. Those of snowflakes last until 2094, and
// those of sonyflakes until 2199.
const Epoch = 1735689600000

// Layout says how a time, a worker id and a sequence share the bits of an id. From the highest bit: zeros, the time, the worker id, the
// sequence.
type Layout struct {
	// Epoch is when the time is 0: a whole millisecond, not before 1970.
	Epoch time.Time
	// Unit of the time: whole milliseconds, at least one.
	Unit time.Duration
	// TimeBits, WorkerBits and SequenceBits are at most 63 together. TimeBits is at least 1.
	TimeBits, WorkerBits, SequenceBits uint8
	// WorkerLast puts the worker id below the sequence, as sonyflakes do: ids of all workers then sort by their unit of time.
	WorkerLast bool
}

// SnowflakeLayout has 41 bits of milliseconds since Epoch, 10 of worker id (of which the upper 5 are the datacenter) and 12 of sequence:
// 4,096 ids in each millisecond on each of 1,024 workers, until 2094.
func SnowflakeLayout() Layout {
	return Layout{Epoch: time.UnixMilli(Epoch), Unit: time.Millisecond, TimeBits: SnowflakeTimeBits, WorkerBits: SnowflakeDatacenterBits + SnowflakeWorkerBits, SequenceBits: SnowflakeSequenceBits}
}

// SonyflakeLayout has 39 bits of 10 ms since Epoch, 8 of sequence and 16 of machine: 25,600 ids a second on each of 65,536 machines, until
// 2199.
func SonyflakeLayout() Layout {
	return Layout{Epoch: time.UnixMilli(Epoch), Unit: SonyflakeUnit, TimeBits: SonyflakeTimeBits, WorkerBits: SonyflakeMachineBits, SequenceBits: SonyflakeSequenceBits, WorkerLast: true}
}

// End is the first time that has no bits any more.
func (l Layout) End() time.Time { return time.UnixMilli(l.ms().end()) }

// Check returns what is wrong with the layout, or nil.
func (l Layout) Check() error {
	switch {
	case l.Epoch.UnixMilli() < 0 || !l.Epoch.Equal(time.UnixMilli(l.Epoch.UnixMilli())):
		return errors.New("ids: a layout's Epoch is a whole millisecond, not before 1970")
	case l.Unit < time.Millisecond || l.Unit%time.Millisecond != 0:
		return errors.New("ids: a layout's Unit is one or more whole milliseconds")
	case l.TimeBits == 0:
		return errors.New("ids: a layout has at least one bit of time")
	case int(l.TimeBits)+int(l.WorkerBits)+int(l.SequenceBits) > 63:
		return fmt.Errorf("ids: a layout has at most 63 bits, and this has %d", int(l.TimeBits)+int(l.WorkerBits)+int(l.SequenceBits))
	case bits.Len64(uint64(l.Unit.Milliseconds()))+int(l.TimeBits) > 62:
		return errors.New("ids: a layout's time has fewer bits, or a smaller unit")
	}
	return nil
}

// CheckClock returns an error if the layout has no ids at a time: before its second unit, or after its end.
func (l Layout) CheckClock(now time.Time) error {
	switch {
	case now.Before(l.Epoch.Add(l.Unit)):
		return fmt.Errorf("the clock is at %v, before the epoch of these ids, %v; set the clock", now.UTC(), l.Epoch.UTC())
	case !now.Before(l.End()):
		return fmt.Errorf("%w: they ended at %v, and the clock is at %v", ErrEnded, l.End().UTC(), now.UTC())
	}
	return nil
}

// Parts are the parts of an id.
type Parts struct {
	// Time is the beginning of the id's unit of time.
	Time             time.Time
	Worker, Sequence uint64
}

// Parse returns the parts of an id.
func (l Layout) Parse(id uint64) (Parts, error) {
	total := l.TimeBits + l.WorkerBits + l.SequenceBits
	if id>>total != 0 {
		return Parts{}, fmt.Errorf("%d is no such id: it has more than %d bits", id, total)
	}
	m := l.ms()
	return Parts{
		Time:     time.UnixMilli(m.epoch + int64(id>>m.timeShift)*m.unit).UTC(),
		Worker:   id >> m.workerShift & (1<<l.WorkerBits - 1),
		Sequence: id >> m.sequenceShift & (1<<l.SequenceBits - 1),
	}, nil
}

// shape is a layout in milliseconds and shifts.
type shape struct {
	epoch, unit                           int64 // milliseconds
	timeBits, bits                        uint8 // of time, and of sequence
	timeShift, workerShift, sequenceShift uint8
}

func (l Layout) ms() shape {
	s := shape{epoch: l.Epoch.UnixMilli(), unit: l.Unit.Milliseconds(), timeBits: l.TimeBits, bits: l.SequenceBits, timeShift: l.WorkerBits + l.SequenceBits}
	if l.WorkerLast {
		s.sequenceShift = l.WorkerBits
	} else {
		s.workerShift = l.SequenceBits
	}
	return s
}

// end of the times, in milliseconds since 1970.
func (s shape) end() int64 { return s.epoch + s.unit<<s.timeBits }

// after returns the first millisecond that a position has not reached.
func (s shape) after(position uint64) int64 { return s.epoch + int64(position>>s.bits+1)*s.unit }
