package app

import (
	"context"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// admission paces new connections while the process uses much of its processors. A connection costs most when it is new: a handshake, a login, a first sync.
// A crowd that connects at once would otherwise keep all processors busy, and each call of those who are connected would wait at each of its steps. Connections
// that are not admitted yet wait in the listener's queue.
//
// The rate follows the use of the processors: it halves while that is above busyShare, and rises while it is not.
type admission struct {
	limiter *rate.Limiter
	cpuTime func() time.Duration
	now     func() time.Time
	sampled time.Time     // of the last sample
	used    time.Duration // the CPU time then
	current atomic.Uint64 // the rate, for the metric
}

const (
	busyShare         = 0.7
	admissionInterval = 50 * time.Millisecond // between two samples
	admissionPause    = time.Second
	// Connections per second and processor.
	minAdmission   = 100
	firstAdmission = 1000
	maxAdmission   = 20_000
	// admissionRise per interval.
	admissionRise  = 1.25
	admissionBurst = 16
)

func newAdmission(cpuTime func() time.Duration, now func() time.Time) *admission {
	a := &admission{limiter: rate.NewLimiter(firstAdmission*rate.Limit(runtime.GOMAXPROCS(0)), admissionBurst), cpuTime: cpuTime, now: now}
	a.current.Store(uint64(a.limiter.Limit()))
	return a
}

// wait returns when the next connection may be accepted. One goroutine calls it.
func (a *admission) wait() {
	a.adapt()
	_ = a.limiter.Wait(context.Background()) // it fails for a cancelled context only
}

// adapt adjusts the rate if an interval has passed. After a second without connections it starts anew.
func (a *admission) adapt() {
	now := a.now()
	passed := now.Sub(a.sampled)
	if passed < admissionInterval {
		return
	}
	used := a.cpuTime()
	processors := runtime.GOMAXPROCS(0)
	each, limit := rate.Limit(processors), a.limiter.Limit()
	switch busy := float64(used-a.used) / float64(passed) / float64(processors); {
	case passed > admissionPause:
		limit = firstAdmission * each
	case busy > busyShare:
		limit = max(limit/2, minAdmission*each)
	default:
		limit = min(limit*admissionRise, maxAdmission*each)
	}
	a.sampled, a.used = now, used
	a.limiter.SetLimit(limit)
	a.current.Store(uint64(limit))
}

// cpuTime is how long the process has computed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // then no connection waits for long
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
