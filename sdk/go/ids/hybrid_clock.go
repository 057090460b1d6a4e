package ids

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ErrEnded is returned when the time in an id has no more bits.
var ErrEnded = errors.New("ids: the time in these ids has no more bits; check the clock")

// hybridClock is a hybrid logical clock: each call returns a millisecond and a count within it, which together only increase. If the wall
// clock stands still or steps back, the hybrid clock runs ahead of it. The count starts at a random value in the lower half of its range,
// so that independent processes do not collide.
type hybridClock struct {
	now  func() time.Time
	last atomic.Uint64 // milliseconds since hybridEpoch, and below them the count
	salt atomic.Uint64 // fresh in each millisecond, so that two copies of a running process diverge
}

const (
	hybridCountBits = 22
	hybridEpoch     = 1577836800000 // 2020-01-01: 42 bits last until 2159
)

func newHybridClock(now func() time.Time) hybridClock {
	if now == nil {
		now = time.Now
	}
	return hybridClock{now: now}
}

// next returns milliseconds since 1970, a count of 22 bits, and 64 random bits. It fails with ErrEnded when the milliseconds exceed their bits.
func (m *hybridClock) next() (ms, count, random uint64, err error) {
	// A time before 2020 counts as 2020: uniqueness does not depend on it.
	now := uint64(max(m.now().UnixMilli()-hybridEpoch, 0))
	for {
		last := m.last.Load()
		next := last + 1
		if now>>(64-hybridCountBits) != 0 || next == 0 {
			return 0, 0, 0, ErrEnded
		}
		fresh := now > last>>hybridCountBits
		if fresh {
			var b [16]byte
			crand.Read(b[:]) // it does not fail
			m.salt.Store(binary.LittleEndian.Uint64(b[8:]))
			next = now<<hybridCountBits | binary.LittleEndian.Uint64(b[:8])>>(64-hybridCountBits+1)
		}
		if m.last.CompareAndSwap(last, next) {
			return next>>hybridCountBits + hybridEpoch, next & (1<<hybridCountBits - 1), rand.Uint64() ^ m.salt.Load(), nil
		}
	}
}
