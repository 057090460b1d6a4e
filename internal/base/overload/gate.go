package overload

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

const (
	// window is the time after which a Gate decides again, if it has minSamples.
	window     = 250 * time.Millisecond
	minSamples = 8
	// patience is the number of windows in a row, all of whose samples waited for too long, after which messages are refused. A burst passes within it.
	patience = 3
	// Of the messages of a window, cutPart are refused from now on while they wait for too long and no shorter than before, and openPart are admitted again when they do not wait for too long.
	// A queue that becomes shorter is left to do so: otherwise it would end empty, with most messages refused.
	cutPart, openPart = 0.1, 0.03
	// minLevels are admitted in any case: an eighth of the users in small conversations. No message has the priority First.
	minLevels = (int(High)*8 + 1) * sections / 8
	// After futileCuts windows of cuts the cause is not the load if the least wait is about as long as before, within steadyPart of it, although at most
	// slowerPart as many messages are stored in a second: a full log would store as many as before. While the process uses more than busyPart of its processors, the
	// load is the cause in any case.
	futileCuts, steadyPart, slowerPart, busyPart = 5, 0.25, 0.8, 0.85
	// idleWindow is the time after which all messages are admitted again if no window has ended: then hardly any are stored.
	idleWindow = 2 * time.Second
	// sampleEvery is how many messages have one whose wait is measured, as long as none is refused.
	sampleEvery = 16
)

// Gate refuses messages while a standing queue of them has formed (as DAGOR does, with the criterion of CoDel): while even the one that waited
// least has waited for longer than the target. If cuts do not make the wait shorter, although less is stored, then the log is slow for another reason than
// the load, such as a slow disk or a distant quorum: all messages are admitted again, and this wait is added to the target, until one is shorter. The gate
// costs an admitted message one atomic read, and measures few of them. A nil *Gate admits all. All methods are safe for concurrent use.
type Gate struct {
	target   time.Duration
	clock    clock.Clock
	cpu      Processors
	watching atomic.Bool  // arrivals are counted, and may be refused
	admitted atomic.Int32 // levels below it are admitted
	lastSeen atomic.Int64 // when the last window ended, in Unix ns
	arrivals [gateLevels]atomic.Uint32
	refused  [priorityCount]atomic.Int64
	of       Organizations

	crowds  *sketch                  // of the messages that this window has admitted
	stored  atomic.Int32             // how many those are
	overOwn [crowdCount]atomic.Int64 // refused, because their crowd had more than its share

	mu      sync.Mutex // guards the fields below
	began   time.Time  // of the window
	samples int
	least   time.Duration // of their waits
	before  time.Duration // the least wait of the window before
	over    int           // windows in a row that waited for too long
	slow    time.Duration // how long the log needs whatever the load, as far as known
	cuts    trial
	used    time.Duration // CPU time of the process when the window began
}

// Processors are what the process computes on.
type Processors struct {
	// Used is for how long the process has computed so far. If nil, it is not known.
	Used  func() time.Duration
	Count int
}

// trial of cuts: whether they make the wait shorter.
type trial struct {
	windows int           // with a cut, since the wait was last noted
	wait    time.Duration // then
	rate    float64       // of the messages with a sample in a second, at the first cut
}

// note notes a window with a cut, and reports whether cuts are futile.
func (t *trial) note(least time.Duration, rate float64) bool {
	if t.rate == 0 {
		t.rate = rate
	}
	if change := math.Abs(float64(least - t.wait)); change > steadyPart*float64(t.wait) {
		t.windows, t.wait = 0, least
	}
	t.windows++
	return t.windows > futileCuts && rate <= slowerPart*t.rate
}

// gateLevels are those of all priorities, and behind them those of messages beyond the share of their conversation or organization, whatever their priority: the
// gate refuses these first, and no more of them than it must.
const gateLevels = levelCount + sections

// NewGate creates a gate that lets messages wait for target; 0 admits all. of may be nil.
func NewGate(target time.Duration, c clock.Clock, of Organizations, cpu Processors) *Gate {
	if target == 0 {
		return nil
	}
	g := &Gate{target: target, clock: c, of: of, cpu: cpu, crowds: newSketch()}
	g.admitted.Store(int32(gateLevels))
	return g
}

// Samples reports whether the wait of a message is to be measured.
func (g *Gate) Samples() bool {
	return g != nil && (g.watching.Load() || rand.Uint32()%sampleEvery == 0)
}

// Refuses reports whether any message may be refused now.
func (g *Gate) Refuses() bool { return g != nil && g.watching.Load() }

// Admit returns nil if a message may be stored now, of a user and in a conversation. Call it if Refuses does. While others are admitted, a conversation has no more
// than its share of what is admitted, and an organization with all its members' messages, except for what nobody else needs.
func (g *Gate) Admit(p Priority, c Caller) error {
	now := g.clock.Now()
	list := crowdsOf(c, g.of)
	level := levelOf(p, c.User, now)
	crowd, excess := g.crowds.excess(&list, int(g.stored.Load()), slack)
	if excess {
		level = levelCount + level%sections
	}
	g.arrivals[level].Add(1)
	if int32(level) < g.admitted.Load() {
		g.crowds.add(&list, 1)
		g.stored.Add(1)
		return nil
	}
	if excess {
		g.overOwn[crowd].Add(1)
	} else {
		g.refused[p].Add(1)
	}
	if now.UnixNano()-g.lastSeen.Load() > int64(idleWindow) {
		g.mu.Lock()
		g.openAll(now)
		g.mu.Unlock()
	}
	if excess {
		return errCrowd(crowd)
	}
	return errBusy()
}

// Observe notes how long a message waited.
func (g *Gate) Observe(wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	if g.samples == 0 || wait < g.least {
		g.least = wait
	}
	g.samples++
	if g.began.IsZero() {
		g.began = now
	}
	switch took := now.Sub(g.began); {
	case took > idleWindow && g.samples < minSamples && wait <= g.target+g.slow:
		g.openAll(now)
		return
	case took < window || g.samples < minSamples:
		return
	}
	g.slow = min(g.slow, g.least)
	if g.least > g.target+g.slow {
		g.over++
	} else {
		g.over = 0
	}
	g.endWindow(now)
}

// openAll admits all messages. The caller holds mu.
func (g *Gate) openAll(now time.Time) {
	g.over = 0
	g.admitted.Store(int32(gateLevels))
	g.endWindow(now)
}

// endWindow changes which levels are admitted. The caller holds mu.
func (g *Gate) endWindow(now time.Time) {
	took := max(now.Sub(g.began), time.Millisecond)
	rate, busy := float64(g.samples)/took.Seconds(), g.isBusy(took)
	falls, long := g.least < g.before, g.over >= patience
	g.began, g.samples, g.least, g.before = now, 0, 0, g.least
	g.lastSeen.Store(now.UnixNano())
	admitted := int(g.admitted.Load())
	if admitted < gateLevels {
		long = g.over > 0 // the patience is over
	}
	if g.over == 0 {
		g.cuts = trial{}
	}
	switch {
	case long && falls:
	case long && !busy && g.cuts.note(g.before, rate):
		g.over, g.slow, g.cuts = 0, g.before, trial{}
		admitted = gateLevels
	case long:
		admitted = g.cut(admitted)
	case g.over == 0 && admitted < gateLevels:
		part := openPart
		if g.before < g.slow+g.target/2 { // the log may soon have nothing to do
			part *= 2
		}
		admitted = g.open(admitted, part)
	}
	g.admitted.Store(int32(admitted))
	g.watching.Store(g.over > 0 || admitted < gateLevels)
	for i := range g.arrivals {
		g.arrivals[i].Store(0)
	}
	if g.stored.Swap(0) > 0 {
		g.crowds.clear()
	}
}

// isBusy reports whether the process used its processors in the window that ends, and took some time. The caller holds mu.
func (g *Gate) isBusy(took time.Duration) bool {
	if g.cpu.Used == nil {
		return false
	}
	before := g.used
	g.used = g.cpu.Used()
	return float64(g.used-before) > busyPart*float64(took)*float64(g.cpu.Count)
}

// cut returns the levels without the last ones, which had cutPart of the messages that were admitted.
func (g *Gate) cut(admitted int) int {
	total, part := 0.0, 0.0
	for i := range admitted {
		total += float64(g.arrivals[i].Load())
	}
	if total == 0 {
		return admitted
	}
	for admitted > minLevels && part < total*cutPart {
		n := float64(g.arrivals[admitted-1].Load())
		if part+n > total/2 {
			break // nearly all come from few users, who share the room that there is
		}
		admitted--
		part += n
	}
	return admitted
}

// open returns the levels with the next ones, which had a part of all messages.
func (g *Gate) open(admitted int, most float64) int {
	total, part := 0.0, 0.0
	for i := range g.arrivals {
		total += float64(g.arrivals[i].Load())
	}
	for admitted < gateLevels && (part == 0 || part+float64(g.arrivals[admitted].Load()) <= total*most) {
		part += float64(g.arrivals[admitted].Load())
		admitted++
	}
	return admitted
}

// Refused returns the number of refused messages of a priority.
func (g *Gate) Refused(p Priority) int64 {
	if g == nil {
		return 0
	}
	return g.refused[p].Load()
}

// AdmittedPart returns the part of all levels that is admitted.
func (g *Gate) AdmittedPart() float64 {
	if g == nil {
		return 1
	}
	return float64(g.admitted.Load()) / float64(gateLevels)
}

// RefusedCrowd returns the number of messages that were refused because their crowd had more than its share.
func (g *Gate) RefusedCrowd(c Crowd) int64 {
	if g == nil {
		return 0
	}
	return g.overOwn[c].Load()
}
