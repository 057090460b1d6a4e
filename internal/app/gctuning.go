package app

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/memory"
)

// Go collects garbage when the heap has doubled since the last cycle. The live heap of a node is small, some ten MB, and under load it
// allocates that much in a tenth of a second: cycles then cost more CPU than they are worth. While cycles are frequent, the heap may
// therefore grow by gcHeadroom before the next one. A node that is idle returns to Go's default and releases its free memory, and one
// with a large live heap is not changed.
const (
	gcHeadroom       = 128 << 20
	gcMaxPercent     = 1000
	gcDefaultPercent = 100
	gcInterval       = time.Second // between two checks
	// gcBusyCycles in one interval are frequent. gcBusyIntervals of them in a row are a load, and not just a start.
	gcBusyCycles    = 2
	gcBusyIntervals = 3
	// gcIdleIntervals without a cycle are an idle node.
	gcIdleIntervals = 30
)

// goMemoryTenths of a control group's memory are Go's; the kernel needs the rest for files and connections.
const goMemoryTenths = 7

// gcTuner chooses how much the heap may grow between garbage collections.
type gcTuner struct {
	percent int
	idle    int // intervals in a row without a cycle
	busy    int // intervals in a row with frequent cycles
}

// next returns the percentage by which the heap may grow, after some cycles in the last interval and with so many live bytes.
func (g *gcTuner) next(cycles, live uint64) int {
	if cycles > 0 {
		g.idle = 0
	} else {
		g.idle++
	}
	if cycles >= gcBusyCycles {
		g.busy++
	} else {
		g.busy = 0
	}
	switch {
	case g.idle >= gcIdleIntervals:
		g.percent = gcDefaultPercent
	case g.busy >= gcBusyIntervals || g.percent > gcDefaultPercent && cycles > 0:
		g.percent = int(min(max(gcHeadroom*100/max(live, 1), gcDefaultPercent), gcMaxPercent))
	}
	return g.percent
}

// tuneGC adapts the garbage collector to the load until the returned function is called. An operator who sets GOGC turns it off.
func tuneGC() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	if limit := memory.CgroupLimit(); os.Getenv("GOMEMLIMIT") == "" && limit < math.MaxInt64 && limit > 0 {
		// A process is killed when its control group has no more memory, so the collector has to work harder before.
		debug.SetMemoryLimit(limit / 10 * goMemoryTenths)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		samples := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
		tuner, current, before := gcTuner{percent: gcDefaultPercent}, gcDefaultPercent, uint64(0)
		tick := time.NewTicker(gcInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				debug.SetGCPercent(gcDefaultPercent)
				return
			case <-tick.C:
			}
			metrics.Read(samples)
			cycles := samples[0].Value.Uint64()
			// Setting it stops the world, so small differences are ignored.
			if p := tuner.next(cycles-before, samples[1].Value.Uint64()); p == gcDefaultPercent && current != p || p > current+current/4 || p < current-current/4 {
				debug.SetGCPercent(p)
				current = p
			}
			if tuner.idle == gcIdleIntervals {
				debug.FreeOSMemory() // that the start, or a load, no longer needs
			}
			before = cycles
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}
