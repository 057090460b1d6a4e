package app

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// admission paces new connections while the process uses much of its processors. A connection costs most when it is new: a handshake, a login, a first sync.
// A crowd that connects at once would otherwise keep all processors busy, and each call of those who are connected would wait at each of its steps. Connections
// that are not admitted yet wait in the listener's queue.
//
// The rate follows the use of the processors, so that it comes to rest where that is busyShare.
type admission struct {
	limiter *rate.Limiter
	cpuTime func() time.Duration
	now     func() time.Time
	threads *threads
	current atomic.Uint64 // the rate, for the metric
	slowed  atomic.Int64  // Unix ns when connections were last slowed down, 0: never

	mu      sync.Mutex    // guards all below; each listener waits
	sampled time.Time     // of the last sample
	used    time.Duration // the CPU time then
}

const (
	busyShare         = 0.6
	admissionInterval = 50 * time.Millisecond // between two samples
	admissionPause    = time.Second
	// Connections per second and processor.
	minAdmission   = 200
	firstAdmission = 1000
	maxAdmission   = 20_000
	// The rate changes by a factor between these in each interval.
	admissionFall  = 0.5
	admissionRise  = 1.25
	admissionBurst = 4
	// A crowd ends crowdPause after connections were last slowed down.
	crowdPause = 2 * time.Second
)

func newAdmission(cpuTime func() time.Duration, now func() time.Time, threads *threads) *admission {
	a := &admission{limiter: rate.NewLimiter(firstAdmission*rate.Limit(threads.processors), admissionBurst), cpuTime: cpuTime, now: now, threads: threads}
	a.current.Store(uint64(a.limiter.Limit()))
	return a
}

// pacing reports whether connections come faster than they are accepted. It is safe for concurrent use.
func (a *admission) pacing() bool {
	at := a.slowed.Load()
	return at != 0 && a.now().Sub(time.Unix(0, at)) < crowdPause
}

// wait returns when the next connection may be accepted. It is safe for concurrent use.
func (a *admission) wait() {
	a.adapt()
	_ = a.limiter.Wait(context.Background()) // it fails for a cancelled context only
}

// adapt adjusts the rate if an interval has passed. After a second without connections it starts anew.
func (a *admission) adapt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	passed := now.Sub(a.sampled)
	if passed < admissionInterval {
		return
	}
	used := a.cpuTime()
	each, limit := rate.Limit(a.threads.processors), a.limiter.Limit()
	switch busy := float64(used-a.used) / float64(passed) / float64(a.threads.processors); {
	case passed > admissionPause:
		limit = firstAdmission * each
	case busy > busyShare:
		limit = max(limit*rate.Limit(max(busyShare/busy, admissionFall)), minAdmission*each)
		a.slowed.Store(now.UnixNano())
		a.threads.more()
	default:
		limit = min(limit*rate.Limit(min(busyShare/busy, admissionRise)), maxAdmission*each)
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
