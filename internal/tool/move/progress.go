package move

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/progress"
)

// rows counts the moved rows.
type rows struct {
	began         time.Time
	total, before uint64 // before: moved by an earlier run
	done          atomic.Uint64
}

// progressInterval is the time between updates of the progress; the printer prints less often.
const progressInterval = 200 * time.Millisecond

func (r *rows) took() time.Duration { return time.Since(r.began) }

// run reports the progress periodically until stop is called.
func (r *rows) run(ctx context.Context) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	r.began = time.Now()
	step := progress.Of(ctx).Step("moving")
	go func() { // ends with stop
		defer close(ended)
		defer step.End()
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				step.At(r.line(r.took()))
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// line describes the progress of this run after the given time.
func (r *rows) line(took time.Duration) (share float64, details string) {
	done := r.done.Load()
	rate := float64(done-r.before) / max(took.Seconds(), 1e-3)
	return float64(done-r.before) / float64(max(r.total-min(r.before, r.total), 1)), fmt.Sprintf("%d of %d rows, %.0f rows/s", done, r.total, rate)
}
