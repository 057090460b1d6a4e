package gateway

import (
	"runtime"
	"time"
)

// pollYielder lets other goroutines go on, and input from the network that just came be served first. A readyYielder does not look at the network. It is for a
// goroutine that does much work for many connections, between the parts of that work.
//
// It yields through the network poller (netpoll). On a processor that is never idle, that takes some 10 ms each time. So the goroutine
// does not wait in that way for longer than it works: it then only lets those goroutines go first that are ready.
type pollYielder struct {
	byPoller func()
	since    time.Time     // when it went on; zero: it did not yield yet
	credit   time.Duration // it has worked for so much longer than it has waited
}

// maxCredit is how much work counts: what was done long ago is no reason to wait.
const maxCredit = 100 * time.Millisecond

func (f *pollYielder) yield() {
	now := time.Now()
	if !f.since.IsZero() {
		f.credit = min(f.credit+now.Sub(f.since), maxCredit)
	}
	if f.credit < 0 {
		runtime.Gosched()
		f.since = time.Now()
		return
	}
	f.byPoller()
	f.since = time.Now()
	f.credit -= f.since.Sub(now)
}
