// Package clock is the wall clock as a dependency, so that tests and the chaos runner can set it. Timers use package time,
// which testing/synctest fakes.
package clock

import "time"

// Clock returns the time.
type Clock interface {
	// Now is the wall time.
	Now() time.Time
}

// System is the machine's clock. In a build with the tag faults, it is ahead of that by the nanoseconds in the file that
// the environment variable CHAOS_CLOCK names.
type System struct{}
