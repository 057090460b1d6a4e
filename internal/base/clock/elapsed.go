package clock

import "time"

// Elapsed is how long ago a moment was, which time.Now or a Clock gave. It is the longer of what the wall clock and the monotonic clock say: the wall clock may have been
// set back, and the monotonic clock stops while the machine is suspended.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
