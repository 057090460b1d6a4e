package canary

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

// rememberedRounds is how many delivered probes are remembered for each node, to notice those that come again.
const rememberedRounds = 64

// probes notes which probes each node still has to deliver.
type probes struct {
	own     string
	figures *figures
	logger  *slog.Logger

	mu        sync.Mutex // guards the fields below, and all of a target
	targets   map[string]*target
	checkedAt time.Time // zero before the first check
}

// target is a node to which probes are to be delivered.
type target struct {
	*targetFigures
	socket    *socket // the open one; nil: there is none
	failed    bool    // the last attempt to open a socket failed
	waiting   []probe // oldest first; none while the socket is not open
	delivered []delivered
}

type probe struct {
	round uint64
	at    time.Time
	late  bool
}

// delivered is a probe that came.
type delivered struct {
	round  uint64
	pushed bool // and was not found by a sync
}

func newProbes(own string, f *figures, logger *slog.Logger) *probes {
	p := &probes{own: own, figures: f, logger: logger, targets: map[string]*target{}}
	p.add(own) // its metrics exist from the start
	return p
}

// add begins to count for a node.
func (p *probes) add(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.targets[node] == nil {
		p.targets[node] = &target{targetFigures: p.figures.add(node)}
	}
}

// remove forgets a node that is no target any more. This node's own figures stay.
func (p *probes) remove(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if node == p.own {
		if t := p.targets[node]; t != nil {
			t.close()
			t.failed = false
		}
		return
	}
	delete(p.targets, node)
	p.figures.remove(node)
}

// opened says that a socket to a node is open.
func (p *probes) opened(node string, k *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[node]; t != nil {
		t.close()
		t.socket, t.failed = k, false
	}
}

// closed says that a socket has broken, or could not be opened. Nobody knows what becomes of the probes that it waits for.
func (p *probes) closed(node string, k *socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[node]; t != nil && (t.socket == k || t.socket == nil) {
		t.close()
		t.failed = true
	}
}

// close forgets what the socket waits for. The caller holds mu.
func (t *target) close() {
	t.socket, t.waiting, t.delivered = nil, nil, nil
	t.overdue.Set(0)
}

// sent notes a probe that is about to be sent, if this node's own socket is open. It reports whether to send it. Nodes to which no socket can be opened are counted.
func (p *probes) sent(round uint64, at time.Time, ownOpen bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.targets {
		switch {
		case t.socket != nil && ownOpen:
			t.sent.Inc()
			t.waiting = append(t.waiting, probe{round: round, at: at})
		case t.socket == nil && t.failed:
			t.unreachable.Inc()
		}
	}
	return ownOpen
}

// withdraw forgets a probe that was not stored. refused: the node said so.
func (p *probes) withdraw(round uint64, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if refused {
		p.figures.refused.Inc()
	}
	for _, t := range p.targets {
		t.waiting = slices.DeleteFunc(t.waiting, func(w probe) bool { return w.round == round })
		t.countOverdue()
	}
}

// arrived notes that a probe came at a socket: pushed, or found by a sync.
func (p *probes) arrived(node string, k *socket, round uint64, at time.Time, pushed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume(at)
	t := p.targets[node]
	if t == nil || t.socket != k {
		return
	}
	if i := slices.IndexFunc(t.delivered, func(d delivered) bool { return d.round == round }); i >= 0 {
		if pushed && t.delivered[i].pushed {
			t.duplicates.Inc()
			p.logger.Warn("the delivery canary got a message twice", "target", node, "probe", round)
		}
		t.delivered[i].pushed = t.delivered[i].pushed || pushed
		return
	}
	i := slices.IndexFunc(t.waiting, func(w probe) bool { return w.round == round })
	if i < 0 {
		return // it counts as lost, or is of an earlier connection
	}
	w := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	if len(t.delivered) == rememberedRounds {
		t.delivered = slices.Delete(t.delivered, 0, 1)
	}
	t.delivered = append(t.delivered, delivered{round, pushed})
	took := at.Sub(w.at)
	t.delay.Observe(took.Seconds())
	if took > LateAfter && !w.late {
		p.countLate(node, t, w)
	}
	if w.late || took > LateAfter {
		p.logger.Warn("the delivery canary got a message late", "target", node, "probe", round, "took", took.Round(time.Millisecond))
	}
	t.countOverdue()
}

// resume gives all probes more time if the process did not run, as on a suspended machine. The caller holds mu.
func (p *probes) resume(now time.Time) {
	gap := now.Sub(p.checkedAt)
	if p.checkedAt.IsZero() || gap <= 2*checkInterval {
		return
	}
	p.checkedAt = now
	for _, t := range p.targets {
		for i := range t.waiting {
			w := &t.waiting[i]
			w.at = w.at.Add(max(0, min(gap-checkInterval, now.Sub(w.at))))
		}
	}
}

// check counts probes that are late or lost. It is called every checkInterval.
func (p *probes) check(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume(now)
	p.checkedAt = now
	for node, t := range p.targets {
		kept := t.waiting[:0]
		for _, w := range t.waiting {
			if now.Sub(w.at) > LateAfter && !w.late {
				w.late = true
				p.countLate(node, t, w)
			}
			if now.Sub(w.at) > LostAfter {
				t.lost.Inc()
				p.logger.Error("the delivery canary did not get a message", "target", node, "probe", w.round, "waited", LostAfter)
				continue
			}
			kept = append(kept, w)
		}
		t.waiting = kept
		t.countOverdue()
	}
}

// countLate counts a probe that has not come in time. The caller holds mu.
func (p *probes) countLate(node string, t *target, w probe) {
	t.late.Inc()
	p.logger.Warn("the delivery canary waits for a message", "target", node, "probe", w.round, "waited", LateAfter)
}

// countOverdue shows how many late probes have not come yet. The caller holds mu.
func (t *target) countOverdue() {
	n := 0
	for _, w := range t.waiting {
		if w.late {
			n++
		}
	}
	t.overdue.Set(float64(n))
}
