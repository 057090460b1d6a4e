// Package clocktest has a clock for tests.
package clocktest

import (
	"sync/atomic"
	"time"
)

// Manual is a clock that stands still until a test advances it. It is safe for concurrent use.
type Manual struct{ ms atomic.Int64 }

// NewManual returns a clock at a time in 2027.
func NewManual() *Manual {
	c := &Manual{}
	c.Set(time.UnixMilli(1_800_000_000_000))
	return c
}

// Now returns the time, in whole milliseconds.
func (c *Manual) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Advance moves the clock; back if d is negative.
func (c *Manual) Advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// Set moves the clock to a time.
func (c *Manual) Set(t time.Time) { c.ms.Store(t.UnixMilli()) }
