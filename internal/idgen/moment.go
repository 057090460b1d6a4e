package idgen

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/clock"
)

// moments gives each caller a millisecond and a count within it, which together only rise: when the clock stands or steps back
// they run ahead of it. The count begins at a random place of its lower half, so that processes that know nothing of each
// other do not meet.
type moments struct {
	clock clock.Clock
	last  atomic.Uint64 // milliseconds since momentEpoch, and below them the count
	salt  atomic.Uint64 // fresh in each millisecond: two copies of a running process do not go on alike
}

const (
	momentBits  = 22
	momentEpoch = 1577836800000 // 2020-01-01: 42 bits last until 2159
)

// next gives milliseconds since 1970, a count of 22 bits, and 64 random bits. It fails when the milliseconds have no more bits.
func (m *moments) next() (ms, count, random uint64, err error) {
	// What the clock says before 2020 is as good as 2020: uniqueness does not hang on it.
	now := uint64(max(m.clock.Now().UnixMilli()-momentEpoch, 0))
	for {
		last := m.last.Load()
		next := last + 1
		if now>>(64-momentBits) != 0 || next == 0 {
			return 0, 0, 0, errEnded(counting{epoch: momentEpoch, unit: 1, time: 64 - momentBits})
		}
		fresh := now > last>>momentBits
		if fresh {
			var b [16]byte
			crand.Read(b[:]) // it does not fail
			m.salt.Store(binary.LittleEndian.Uint64(b[8:]))
			next = now<<momentBits | binary.LittleEndian.Uint64(b[:8])>>(64-momentBits+1)
		}
		if m.last.CompareAndSwap(last, next) {
			return next>>momentBits + momentEpoch, next & (1<<momentBits - 1), rand.Uint64() ^ m.salt.Load(), nil
		}
	}
}
