package fanout

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
)

// A node may live and still not be reached on the bus. What others carry for its users would wait for as long, and, since that is bounded,
// everything behind it. So each node asks the others whether they answer, and says which do not: of those only some go on having
// partitions (cluster), and what waits goes to where they are then.

const (
	// askEvery so often the other nodes are asked, and have askTime to answer.
	askEvery = 2 * time.Second
	askTime  = 5 * time.Second
	// cutAfter without an answer, and so many tries, a node counts as cut off: later than one that has died is known to be dead.
	cutAfter = 10 * time.Second
	cutTries = 3
	// healAfter answering for so long it does no longer: what comes and goes is not to move partitions each time.
	healAfter = 10 * time.Second
)

// reach is what is known of the others' answers.
type reach struct {
	of  map[string]*answers      // of askAround's goroutine
	cut atomic.Pointer[[]string] // in order
}

// answers of a node.
type answers struct {
	silent time.Time // since when there are none; of no meaning while tries is 0
	tries  int       // without one
	since  time.Time // since when it answers; zero: it does not
	cut    bool
}

// note notes whether a node has answered.
func (a *answers) note(answered bool, now time.Time) {
	if answered {
		a.tries = 0
		if a.since.IsZero() {
			a.since = now
		}
		a.cut = a.cut && now.Sub(a.since) < healAfter
		return
	}
	a.since = time.Time{}
	if a.tries == 0 {
		a.silent = now
	}
	a.tries++
	a.cut = a.cut || a.tries >= cutTries && now.Sub(a.silent) >= cutAfter
}

// Cut gives the nodes that have not answered for some seconds, in order. The slice is shared.
func (w *Worker) Cut() []string {
	if cut := w.reach.cut.Load(); cut != nil {
		return *cut
	}
	return nil
}

// askAround asks the other nodes until ctx ends.
func (w *Worker) askAround(ctx context.Context) {
	if w.deps.Nodes == nil {
		return
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.askAll(ctx)
		}
	}
}

func (w *Worker) askAll(ctx context.Context) {
	nodes := w.deps.Nodes()
	answered := make([]bool, len(nodes))
	var group sync.WaitGroup
	for i, n := range nodes {
		group.Go(func() { answered[i] = w.ask(ctx, n) })
	}
	group.Wait()
	if ctx.Err() != nil {
		return
	}
	r, now := &w.reach, time.Now()
	of, cut := make(map[string]*answers, len(nodes)), []string{}
	for i, n := range nodes {
		if of[n] = r.of[n]; of[n] == nil {
			of[n] = &answers{}
		}
		before := of[n].cut
		of[n].note(answered[i], now)
		if of[n].cut {
			cut = append(cut, n)
		}
		if of[n].cut != before {
			w.deps.Logger.Warn("a node that lives is cut off from this one on the bus, or no longer", "node", n, "cut", of[n].cut)
		}
	}
	slices.Sort(cut)
	r.of = of // who does not live is forgotten
	r.cut.Store(&cut)
}

// ask tells whether a node answers.
func (w *Worker) ask(ctx context.Context, node string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err := w.deps.Bus.Request(ctx, postSubject(node), nil)
	return err == nil || errors.Is(err, bus.ErrBusy)
}
