package app

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/overload"
	"golang.org/x/time/rate"
)

// admission paces new connections while the process uses much of its processors. A connection costs most when it is new: a handshake, a login, a first sync.
// A crowd that connects at once would otherwise keep all processors busy, and each call of those who are connected would wait at each of its steps. Connections
// that are not admitted yet wait in the listener's queue.
//
// The rate follows the use of the processors (overload.AcceptRate).
type admission struct {
	limiter *rate.Limiter
	cpuTime func() time.Duration
	now     func() time.Time
	threads *threads
	current atomic.Uint64 // the rate, for the metric
	slowed  atomic.Int64  // Unix ns when connections were last slowed down, 0: never

	mu   sync.Mutex // guards rate; each listener waits
	rate *overload.AcceptRate
}

func newAdmission(cpuTime func() time.Duration, now func() time.Time, threads *threads) *admission {
	a := &admission{cpuTime: cpuTime, now: now, threads: threads, rate: overload.NewAcceptRate(threads.processors)}
	a.limiter = rate.NewLimiter(a.rate.Limit(), overload.AcceptBurst)
	a.current.Store(uint64(a.rate.Limit()))
	return a
}

// pacing reports whether connections come faster than they are accepted. It is safe for concurrent use.
func (a *admission) pacing() bool {
	at := a.slowed.Load()
	return at != 0 && a.now().Sub(time.Unix(0, at)) < overload.CrowdPause
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
	changed, slowed := a.rate.Adapt(now, a.cpuTime)
	if slowed {
		a.slowed.Store(now.UnixNano())
		a.threads.more()
	}
	if changed {
		a.limiter.SetLimit(a.rate.Limit())
		a.current.Store(uint64(a.rate.Limit()))
	}
}

// cpuTime is how long the process has computed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // then no connection waits for long
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
