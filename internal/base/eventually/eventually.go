// Package eventually waits in tests for conditions without an event, with a bound. A condition that never becomes true fails its test with
// a description, instead of hanging until the test binary's own limit ends all other tests as well.
package eventually

import (
	"runtime"
	"sync"
	"time"
)

// Timeout is how long a condition may take to become true, on a busy machine.
const Timeout = 2 * time.Minute

// A condition is checked without a pause at first, and then after pauses that are a part of the time that has passed: many conditions are calls of a server
// on the same processors, which would do little else than answer them.
const (
	spins     = 100
	spinTime  = time.Millisecond
	waitShare = 16
	minPause  = time.Millisecond
	maxPause  = 20 * time.Millisecond
)

// tester is the common part of *testing.T, *testing.B and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// True returns when is holds, and fails the test after Timeout. Call it on the test's own goroutine.
func True(t tester, what string, is func() bool) {
	t.Helper()
	Within(t, Timeout, what, is)
}

// Within is True with another bound.
func Within(t tester, most time.Duration, what string, is func() bool) {
	t.Helper()
	began := time.Now()
	for n := 0; !is(); n++ {
		switch passed := time.Since(began); {
		case n < spins && passed < spinTime:
			runtime.Gosched()
		case passed > most:
			t.Fatalf("not within %v: %s", most, what)
			return
		default:
			time.Sleep(min(max(passed/waitShare, minPause), maxPause))
		}
	}
}

// Done returns when all goroutines of a group have ended, and fails the test after Timeout.
func Done(t tester, what string, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	Receive(t, what, done)
}

// Receive returns a value from a channel, or its zero value once it is closed, and fails the test after Timeout.
func Receive[T any](t tester, what string, from <-chan T) (got T) {
	t.Helper()
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	select {
	case got = <-from:
	case <-limit.C:
		t.Fatalf("not within %v: %s", Timeout, what)
	}
	return got
}
