package app

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/overload"
	"golang.org/x/time/rate"
)

// While the processors are busy, fewer connections are admitted, and never none. The rate rises when they are not, and starts anew after a pause.
func TestBusyProcessorsSlowAdmission(t *testing.T) {
	each := rate.Limit(runtime.GOMAXPROCS(0))
	now, used := time.Unix(1, 0), time.Duration(0)
	a := newAdmission(func() time.Duration { return used }, func() time.Time { return now }, newThreads(func(int) {}))
	pass := func(d time.Duration, share float64) rate.Limit {
		now = now.Add(d)
		used += time.Duration(float64(d) * float64(runtime.GOMAXPROCS(0)) * share)
		a.adapt()
		return a.limiter.Limit()
	}
	pass(time.Hour, 0)
	if a.pacing() {
		t.Error("there is a crowd before any connection")
	}
	for i, step := range []struct {
		passed time.Duration
		share  float64
		want   rate.Limit
	}{
		{overload.AcceptInterval, 1, 600}, {overload.AcceptInterval, 0.8, 450}, {overload.AcceptInterval / 2, 1, 450}, {overload.AcceptInterval / 2, 0.5, 360},
		{overload.AcceptInterval, 4, 200}, {overload.AcceptInterval, 1, overload.MinAccept}, {overload.AcceptInterval, 0.5, 240}, {overload.AcceptInterval, 0.1, 300}, {time.Minute, 1, overload.FirstAccept},
	} {
		if got := pass(step.passed, step.share); math.Abs(float64(got/each-step.want)) > 0.1 {
			t.Errorf("step %d: got %v a second, want %v", i, got, step.want*each)
		}
		if want := step.passed < time.Minute; a.pacing() != want { // until CrowdPause after a slower one
			t.Errorf("step %d: there is a crowd: %v, want %v", i, !want, want)
		}
	}
	for range 100 {
		pass(overload.AcceptInterval, 0)
	}
	if got := pass(overload.AcceptInterval, 0); got != overload.MaxAccept*each {
		t.Errorf("after a long calm: got %v a second, want %v", got, overload.MaxAccept*each)
	}
	if got := a.current.Load(); got != uint64(overload.MaxAccept*each) {
		t.Errorf("the metric is %d", got)
	}
}
