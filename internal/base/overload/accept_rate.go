package overload

import (
	"time"

	"golang.org/x/time/rate"
)

// AcceptRate is how many new connections a node accepts in a second. It follows the use of the processors, so that it comes to rest where that is busyShare.
// It reads no clock, and belongs to one goroutine at a time.
type AcceptRate struct {
	processors int
	limit      rate.Limit
	sampled    time.Time     // of the last sample
	used       time.Duration // the CPU time then
}

const (
	busyShare = 0.6
	// AcceptInterval is between two samples. After AcceptPause without any, the rate starts anew.
	AcceptInterval = 50 * time.Millisecond
	AcceptPause    = time.Second
	// Connections per second and processor.
	MinAccept   = 200
	FirstAccept = 1000
	MaxAccept   = 20_000
	// The rate changes by a factor between these in each interval.
	acceptFall = 0.5
	acceptRise = 1.25
	// AcceptBurst is how many connections are accepted at once.
	AcceptBurst = 4
	// CrowdPause after connections were last slowed down, a crowd ends.
	CrowdPause = 2 * time.Second
)

// NewAcceptRate returns the rate of a node that starts.
func NewAcceptRate(processors int) *AcceptRate {
	return &AcceptRate{processors: processors, limit: FirstAccept * rate.Limit(processors)}
}

// Limit is the present rate.
func (a *AcceptRate) Limit() rate.Limit { return a.limit }

// Adapt adjusts the rate if an interval has passed. used is the CPU time of the process until now; it is asked for only then. slowed reports whether the
// rate was lowered, because the processors are busy.
func (a *AcceptRate) Adapt(now time.Time, used func() time.Duration) (changed, slowed bool) {
	passed := now.Sub(a.sampled)
	if passed < AcceptInterval {
		return false, false
	}
	cpu := used()
	each := rate.Limit(a.processors)
	switch busy := float64(cpu-a.used) / float64(passed) / float64(a.processors); {
	case passed > AcceptPause:
		a.limit = FirstAccept * each
	case busy > busyShare:
		a.limit = max(a.limit*rate.Limit(max(busyShare/busy, acceptFall)), MinAccept*each)
		slowed = true
	default:
		a.limit = min(a.limit*rate.Limit(min(busyShare/busy, acceptRise)), MaxAccept*each)
	}
	a.sampled, a.used = now, cpu
	return true, slowed
}
