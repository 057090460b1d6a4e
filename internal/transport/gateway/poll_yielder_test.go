package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// On a processor that is never idle, to yield by the poller takes long. It takes no longer than the work, and on an idle one it is done each time.
func TestYieldingTakesNoLongerThanTheWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait        time.Duration
		least, most int
	}{
		"idle": {0, 200, 200}, "busy": {10 * time.Millisecond, 9, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			polls := 0
			f := pollYielder{byPoller: func() {
				polls++
				pass(test.wait)
			}}
			for range 200 {
				pass(500 * time.Microsecond) // the work
				f.yield()
			}
			if polls < test.least || polls > test.most {
				t.Errorf("%s: %d of 200 yields were by the poller, want %d to %d", name, polls, test.least, test.most)
			}
		})
	}
}

// A slice of what is for many ends when its time is over, and the rest is written in the next ones.
func TestSlicesEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		var slices []int
		written := 0
		f := newFlusher(func() { slices = append(slices, written) })
		for range 10 {
			f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {
				pass(sliceTime / 3)
				written++
			}}})
		}
		go f.run(ctx)
		f.signal()
		pass(time.Second)
		if len(slices) != 3 || slices[0] != 4 || slices[1] != 8 || slices[2] != 10 {
			t.Errorf("others went on after %v were written, want 4, 8 and 10", slices)
		}
		stop()
		synctest.Wait()
	})
}
