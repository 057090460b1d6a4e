package move

import (
	"fmt"
	"sync/atomic"
	"time"
)

// progress counts rows, and says how far it is.
type progress struct {
	say           func(format string, args ...any)
	every         time.Duration
	began         time.Time
	total, before uint64 // before: moved by an earlier run
	done          atomic.Uint64
}

func newProgress(say func(string, ...any), every time.Duration) *progress {
	return &progress{say: say, every: every, began: time.Now()}
}

func (p *progress) took() time.Duration { return time.Since(p.began) }

// run says it now and then, until stop is called.
func (p *progress) run() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	p.began = time.Now()
	go func() { // ends with stop
		defer close(ended)
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.say("%s", p.line(p.took()))
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

// line says how far it is after so long.
func (p *progress) line(took time.Duration) string {
	done := p.done.Load()
	rate := float64(done-p.before) / max(took.Seconds(), 1e-3)
	left := "unknown"
	if rate > 0 {
		left = time.Duration(float64(p.total-min(done, p.total)) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%d of %d rows (%d %%), %.0f rows/s, %s left", done, p.total, 100*done/max(p.total, 1), rate, left)
}
