package lease

import (
	"math"
	"sync/atomic"
	"time"
)

// Validity is for how long a holder may rely on its own lease. It ends when the monotonic clock or the wall clock says so, whichever is first:
// the monotonic clock does not follow steps of the wall clock, but may stand still while the machine sleeps. All methods are safe for
// concurrent use.
type Validity struct {
	began time.Time
	// When it ends, in nanoseconds: since began, and of the wall clock since 1970. Both are the minimum before the first Extend.
	monotonic, wall atomic.Int64
}

// NewValidity returns a Validity that has ended.
func NewValidity() *Validity {
	v := &Validity{began: time.Now()}
	v.End()
	return v
}

// Moment is a reading of both clocks.
type Moment struct {
	monotonic time.Duration
	wall      int64
}

// Now reads the clocks. The wall clock is the caller's.
func (v *Validity) Now(wall time.Time) Moment { return Moment{time.Since(v.began), wall.UnixNano()} }

// MomentAt is a reading of clocks that the caller has: the monotonic clock since any fixed time, and the wall clock.
func MomentAt(monotonic time.Duration, wall time.Time) Moment {
	return Moment{monotonic, wall.UnixNano()}
}

// Extend lets the lease last for some time from a moment. That is the moment before the renewal was sent: others see it later.
func (v *Validity) Extend(from Moment, by time.Duration) {
	v.monotonic.Store(int64(from.monotonic + by))
	v.wall.Store(from.wall + int64(by))
}

// End ends the lease.
func (v *Validity) End() {
	v.monotonic.Store(math.MinInt64)
	v.wall.Store(math.MinInt64)
}

// Remaining returns for how long the lease lasts at a moment, at most. It is not positive if the lease has ended.
func (v *Validity) Remaining(at Moment) time.Duration {
	monotonic, wall := v.monotonic.Load(), v.wall.Load()
	if monotonic == math.MinInt64 || wall == math.MinInt64 {
		return 0
	}
	return time.Duration(min(monotonic-int64(at.monotonic), wall-at.wall))
}

// Generation differs between any two renewals.
func (v *Validity) Generation() int64 { return v.monotonic.Load() }
