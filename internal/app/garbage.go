package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// The collector runs when memory has doubled since its last round. A node has little that lives long, some ten MB, and makes as much
// garbage in a tenth of a second under load: then the rounds cost more than they are worth. So as long as they are frequent, the
// collector waits for garbageRoom at least. A node that comes to rest gives back what it does not need, and one that holds much is left alone.
const (
	garbageRoom  = 128 << 20
	garbageMost  = 1000 // percent
	garbageUsual = 100  // percent, Go's own
	garbageLook  = time.Second
	// garbageOften so many rounds in garbageLook are frequent, where garbageLong looks in a row have seen them: not a start's.
	garbageOften = 2
	garbageLong  = 3
	// garbageRest so many looks without a round, and all is as usual again; what is free is given back to the system.
	garbageRest = 30
)

// garbage decides how often it is collected.
type garbage struct {
	percent int
	quiet   int // looks in a row without a round
	busy    int // looks in a row with frequent ones
}

// next gives the percentage by which memory may grow until the next round, after so many rounds since the last look, with so many
// bytes that live.
func (g *garbage) next(rounds, live uint64) int {
	if rounds > 0 {
		g.quiet = 0
	} else {
		g.quiet++
	}
	if rounds >= garbageOften {
		g.busy++
	} else {
		g.busy = 0
	}
	switch {
	case g.quiet >= garbageRest:
		g.percent = garbageUsual
	case g.busy >= garbageLong || g.percent > garbageUsual && rounds > 0:
		g.percent = int(min(max(garbageRoom*100/max(live, 1), garbageUsual), garbageMost))
	}
	return g.percent
}

// collect sets how often garbage is collected, until the function that it gives is called. Where GOGC is set, that counts.
func collect() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	looking.Go(func() {
		figures := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
		g, set, before := garbage{percent: garbageUsual}, garbageUsual, uint64(0)
		tick := time.NewTicker(garbageLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				debug.SetGCPercent(garbageUsual)
				return
			case <-tick.C:
			}
			metrics.Read(figures)
			rounds := figures[0].Value.Uint64()
			// Setting it stops all for a moment: not for a little.
			if p := g.next(rounds-before, figures[1].Value.Uint64()); p == garbageUsual && set != p || p > set+set/4 || p < set-set/4 {
				debug.SetGCPercent(p)
				set = p
			}
			if g.quiet == garbageRest {
				debug.FreeOSMemory() // what the start, or a load, has left
			}
			before = rounds
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}
