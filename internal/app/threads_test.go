package app

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/overload"
)

// During a crowd, more threads than processors run goroutines. Afterwards there are as many as processors.
func TestCrowdsGetThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := time.Duration(0)
		var set atomic.Int64
		th := newThreads(func(n int) { set.Store(int64(n)) })
		th.processors = 1
		a := newAdmission(func() time.Duration { return used }, time.Now, th)
		a.adapt()
		for range 100 { // longer than the threads stay by themselves
			time.Sleep(overload.AcceptInterval)
			used += overload.AcceptInterval
			a.adapt()
			if n := set.Load(); n != manyThreads {
				t.Fatalf("during a crowd: got %d threads, want %d", n, manyThreads)
			}
		}
		time.Sleep(manyThreadsFor - overload.AcceptInterval)
		synctest.Wait()
		if n := set.Load(); n != manyThreads {
			t.Errorf("before its end: got %d threads, want %d", n, manyThreads)
		}
		time.Sleep(overload.AcceptInterval)
		synctest.Wait()
		if n := set.Load(); n != 1 {
			t.Errorf("after the crowd: got %d threads, want 1", n)
		}
		th.processors = manyThreads
		set.Store(0)
		used += time.Hour
		a.adapt()
		if n := set.Load(); n != 0 {
			t.Errorf("with %d processors, a crowd set %d threads", manyThreads, n)
		}
	})
}

// Threads are set when their number changes, because that stops all goroutines.
func TestSetThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, n := range []int{before + 1, before + 1, before} {
		if setThreads(n); runtime.GOMAXPROCS(0) != n {
			t.Errorf("%d threads run goroutines, want %d", runtime.GOMAXPROCS(0), n)
		}
	}
}
