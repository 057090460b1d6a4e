package clock_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// (No test can stop the monotonic clock, or set the wall clock.)
func TestElapsed(t *testing.T) {
	now := time.Now()
	for _, since := range []time.Time{now.Add(-time.Minute), now.Add(-time.Minute).Round(0)} {
		if got := clock.Elapsed(since, now); got != time.Minute {
			t.Errorf("after a minute it is %v", got)
		}
	}
}
