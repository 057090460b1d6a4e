//go:build !faults

package clock

import "time"

// Now is time.Now.
func (System) Now() time.Time { return time.Now() }
