package search

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// Sends come first: a batch of documents costs more than the messages in it did. So the indexer rests after each step. While it rests, it sees what the process
// does for others; where that is more than busyShare of the processors, it takes a twentieth of the time, in small batches, and messages wait to be found. While a
// crowd connects, it rests: small batches cost the index most, as it merges them later.
const (
	busyShare      = 0.5
	restBeside     = 1 // times of what was worked
	restBusy       = 19
	restLeast      = 200 * time.Millisecond // a batch costs several times as much as a few documents more in it
	restCrowded    = 10 * time.Second       // at most, before each step
	batchBeside    = 2000                   // documents
	batchBusy      = 32
	shortestSample = 5 * time.Millisecond
)

// pacer divides the time between the indexer and all else.
type pacer struct {
	// cpuTime is how long the process has computed. If nil, the process is never busy.
	cpuTime func() time.Duration
	// crowded reports whether many clients connect at once. If nil, they never do.
	crowded    func() bool
	processors int           // that the process may use
	longest    time.Duration // of a rest
	busy       bool
}

func newPacer(d *Deps, longest time.Duration) pacer {
	return pacer{cpuTime: d.CPUTime, crowded: d.PacingAccepts, processors: cmp.Or(d.Processors, runtime.GOMAXPROCS(0)), longest: longest}
}

// batch is how many documents the next batch has.
func (p *pacer) batch() int {
	if p.busy {
		return batchBusy
	}
	return batchBeside
}

// rest waits after a step that took some time.
func (p *pacer) rest(ctx context.Context, worked time.Duration) {
	times := time.Duration(restBeside)
	if p.busy {
		times = restBusy
	}
	var used time.Duration
	if p.cpuTime != nil {
		used = p.cpuTime()
	}
	began := time.Now()
	_ = backoff.Sleep(ctx, min(max(times*worked, restLeast), p.longest)) // the next step sees the context's end
	if rested := time.Since(began); p.cpuTime != nil && rested >= shortestSample {
		p.busy = float64(p.cpuTime()-used) > busyShare*float64(rested)*float64(p.processors)
	}
	for end := time.Now().Add(restCrowded); p.crowded != nil && p.crowded() && time.Now().Before(end); {
		p.busy = true
		if backoff.Sleep(ctx, 10*shortestSample) != nil {
			return
		}
	}
}
