package backoff_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

func TestDelaysDoubleWithJitterUpToTheMaximum(t *testing.T) {
	ceilings := []time.Duration{10, 20, 40, 70, 70}
	smallest, largest := [5]time.Duration{1000, 1000, 1000, 1000, 1000}, [5]time.Duration{}
	b := backoff.New(10, 70)
	for range 1000 {
		for i := range ceilings {
			d := b.Next()
			smallest[i], largest[i] = min(smallest[i], d), max(largest[i], d)
		}
		b.Reset()
	}
	for i, c := range ceilings {
		if smallest[i] != c/2 || largest[i] != c {
			t.Errorf("delay %d was %d to %d, want %d to %d", i+1, smallest[i], largest[i], c/2, c)
		}
	}
}

// The delay after a stored number of failures is that of a series with so many.
func TestDelaysAfterAStoredNumberOfFailures(t *testing.T) {
	for failures, c := range map[int]time.Duration{1: 10, 2: 20, 3: 40, 4: 70, 5: 70, 1 << 40: 70} {
		smallest, largest := time.Duration(1000), time.Duration(0)
		for range 1000 {
			d := backoff.After(failures, 10, 70)
			smallest, largest = min(smallest, d), max(largest, d)
		}
		if smallest != c/2 || largest != c {
			t.Errorf("the delay after %d failures was %d to %d, want %d to %d", failures, smallest, largest, c/2, c)
		}
	}
	if d := backoff.After(1<<40, 1, math.MaxInt64/3); d < math.MaxInt64/6 || d > math.MaxInt64/3 {
		t.Errorf("a long delay was %d", d)
	}
}

// A spread delay is between its bounds, each of which it can be.
func TestASpreadDelayIsBetweenItsBounds(t *testing.T) {
	for _, c := range [][3]time.Duration{{3, 5, 5}, {0, 2, 2}, {4, 4, 4}, {4, 1, 4}} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			seen[backoff.Spread(c[0], c[1])] = true
		}
		for d := c[0]; d <= c[2]; d++ {
			if !seen[d] {
				t.Errorf("between %d and %d there is no %d", c[0], c[1], d)
			}
		}
		if want := int(c[2]-c[0]) + 1; len(seen) != want {
			t.Errorf("between %d and %d there are %v, want %d values", c[0], c[1], seen, want)
		}
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := backoff.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Sleep returned %v after %v, want the deadline's error after 1s", err, time.Since(began))
		}
		// A context that has ended wins over a delay that has passed.
		if err := backoff.Sleep(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep returned %v after the deadline", err)
		}
		b := backoff.New(time.Hour, time.Hour)
		if err := b.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Wait returned %v after %v, want the deadline's error after 1s", err, time.Since(began))
		}
	})
}

func TestASleepEndsByTimeOrByASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Sleep returned %v after %v, want nil after 1m", err, time.Since(began))
		}
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		if err := backoff.SleepOrWake(t.Context(), time.Hour, wake); err != nil || time.Since(began) != time.Minute {
			t.Errorf("SleepOrWake returned %v after %v, want nil at once", err, time.Since(began)-time.Minute)
		}
	})
}
