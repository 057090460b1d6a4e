package overload

import (
	"context"
	"time"
)

// NewLimiter creates a limiter for a test.
func NewLimiter(least, most int, wait time.Duration) *Limiter { return newLimiter(least, most, wait) }

// Acquire is acquire.
func (l *Limiter) Acquire(ctx context.Context, p Priority, c Caller) (Permit, error) {
	return l.acquire(ctx, p, c)
}

// Check is check.
func (l *Limiter) Check(p Priority) error { return l.check(p) }

// SetLimit is setLimit.
func (l *Limiter) SetLimit(n int) { l.setLimit(n) }

// State is state.
func (l *Limiter) State() (limit, used, waiting int) { return l.state() }

// Holders returns how many users, keys and addresses hold something.
func (l *Limiter) Holders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.held) + len(l.working) + l.others
	for i := range sketchCells {
		for _, s := range []*sketch{l.queued, l.atWork} {
			n += int(s.rows[0][i].Load()) + int(s.rows[1][i].Load()) + int(s.rows[2][i].Load())
		}
	}
	return n
}

// Know sets who is in which organization.
func (l *Limiter) Know(of Organizations) { l.of = of }

// Holders is that of a class.
func (c *Calls) Holders(class Class) int { return c.limiters[class].Holders() }

// Adapt is adapt.
func (c *Calls) Adapt(wait time.Duration) { c.adapt(wait) }

// SchedulerWaits is schedulerWaits.
func SchedulerWaits() func() time.Duration { return schedulerWaits() }
