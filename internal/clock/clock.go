// Package clock is the wall clock as a dependency, so that tests and the chaos runner can move it. Timers use package time,
// which testing/synctest fakes.
package clock

import "time"

// Clock tells the time.
type Clock interface {
	// Now is the wall time.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now is time.Now.
func (System) Now() time.Time { return time.Now() }
