package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// A node that sends heartbeats may be unreachable on the bus. Deliveries to its users would wait, and everything queued after them, because
// queues are bounded. So each node probes the others, and reports which do not answer (Deps.Unreachable). The cluster then assigns parts to
// nodes that can reach each other. Packages that must query all nodes add their question to the same probe (Topic).

const (
	// Every ProbeInterval each peer is probed, unless the probe before is still in progress. A peer has ProbeTimeout to answer.
	ProbeInterval = 2 * time.Second
	ProbeTimeout  = 5 * time.Second
	// A node is unreachable after unreachableFailures failed probes over at least unreachableAfter. This is later than the cluster takes to
	// find that a node has died.
	unreachableAfter    = 10 * time.Second
	unreachableFailures = 3
	// It is reachable again after answering for recoveredAfter, so that an unstable link does not move parts each time.
	recoveredAfter = 10 * time.Second
)

// Topic is a question that a package adds to each probe. The functions must not block.
type Topic struct {
	// ID of the topic on the wire. All nodes have the same topics.
	ID byte
	// Ask returns a question for a node, and a function for its answer, which is not called if there is none. A nil function means that
	// there is nothing to ask.
	Ask func(node string) (question []byte, answered func(answer []byte))
	// Answer answers another node's question. nil means that it cannot be answered.
	Answer func(question []byte) []byte
}

// ProberDeps are the dependencies of a Prober.
type ProberDeps struct {
	Bus    bus.Bus
	Logger *slog.Logger
	// Node is this node's name.
	Node string
	// Peers returns the other live nodes that are probed. It is nil on a single node.
	Peers  func() []string
	Topics []Topic
}

// Prober finds out which live nodes can be reached on the bus. There is one in a process.
type Prober struct {
	deps        ProberDeps
	unreachable atomic.Pointer[[]string] // sorted

	mu    sync.Mutex // guards all below
	peers map[string]*peer
}

// peer is what is known of one.
type peer struct {
	inProgress bool // a probe is in progress
	Reachability
}

// Reachability of one peer, from the results of its probes. The zero Reachability is that of a peer that was not probed.
type Reachability struct {
	silentSince    time.Time // undefined while failures is 0
	failures       int       // in a row
	answeringSince time.Time // zero while it does not answer
	unreachable    bool
}

// NewProber returns a prober. Run starts it.
func NewProber(deps ProberDeps) *Prober {
	return &Prober{deps: deps, peers: map[string]*peer{}}
}

// probeSubject is where a node answers probes.
func probeSubject(node string) string { return bus.NodeSubject(node, "probe") }

// Unreachable returns, sorted, the live nodes that have not answered probes for some seconds. The slice is shared.
func (p *Prober) Unreachable() []string {
	if list := p.unreachable.Load(); list != nil {
		return *list
	}
	return nil
}

// Run answers probes and sends them until ctx ends.
func (p *Prober) Run(ctx context.Context) error {
	if p.deps.Peers == nil {
		<-ctx.Done()
		return nil
	}
	stop, err := p.deps.Bus.Respond(probeSubject(p.deps.Node), p.answer)
	if err != nil {
		return err
	}
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	tick := time.NewTicker(ProbeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for node, r := range p.due() {
			group.Go(func() { p.probe(ctx, node, r) })
		}
	}
}

// due returns the peers to probe now, and forgets nodes that have died.
func (p *Prober) due() map[string]*peer {
	nodes := p.deps.Peers()
	p.mu.Lock()
	defer p.mu.Unlock()
	known, due := p.peers, map[string]*peer{}
	p.peers = make(map[string]*peer, len(nodes))
	for _, n := range nodes {
		r := known[n]
		if r == nil {
			r = &peer{}
		}
		p.peers[n] = r
		if !r.inProgress {
			r.inProgress, due[n] = true, r
		}
	}
	p.publish()
	return due
}

// publish updates what Unreachable returns. The caller holds mu.
func (p *Prober) publish() {
	list := []string{}
	for n, r := range p.peers {
		if r.unreachable {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	p.unreachable.Store(&list)
}

// probe sends one probe, and records whether the node answered.
func (p *Prober) probe(ctx context.Context, node string, r *peer) {
	question := []byte{wireProbe}
	answered := map[byte]func([]byte){}
	for _, t := range p.deps.Topics {
		if q, f := t.Ask(node); f != nil {
			question, answered[t.ID] = appendTopic(question, t.ID, q), f
		}
	}
	within, cancel := context.WithTimeout(ctx, ProbeTimeout)
	answer, err := p.deps.Bus.Request(within, probeSubject(node), question)
	cancel()
	if err == nil {
		err = eachTopic(answer, func(id byte, data []byte) {
			if f := answered[id]; f != nil {
				f(data)
			}
		})
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.deps.Logger.Debug("a probe of another node failed", "node", node, "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.inProgress = false
	before := r.unreachable
	r.Record(err == nil || errors.Is(err, bus.ErrBusy), time.Now())
	if r.unreachable != before {
		p.deps.Logger.Warn("reachability of a live node on the bus changed", "node", node, "unreachable", r.unreachable)
		p.publish()
	}
}

// Unreachable reports whether the peer has not answered for so long that it owns no parts.
func (r *Reachability) Unreachable() bool { return r.unreachable }

// Record records the result of one probe.
func (r *Reachability) Record(answered bool, now time.Time) {
	if answered {
		r.failures = 0
		if r.answeringSince.IsZero() {
			r.answeringSince = now
		}
		r.unreachable = r.unreachable && now.Sub(r.answeringSince) < recoveredAfter
		return
	}
	r.answeringSince = time.Time{}
	if r.failures == 0 {
		r.silentSince = now
	}
	r.failures++
	r.unreachable = r.unreachable || r.failures >= unreachableFailures && now.Sub(r.silentSince) >= unreachableAfter
}

// answer answers another node's probe.
func (p *Prober) answer(question []byte) []byte {
	answer := []byte{wireProbe}
	err := eachTopic(question, func(id byte, data []byte) {
		for _, t := range p.deps.Topics {
			if t.ID != id {
				continue
			}
			if a := t.Answer(data); a != nil {
				answer = appendTopic(answer, id, a)
			}
		}
	})
	if err != nil {
		p.deps.Logger.Error("a probe of another node cannot be decoded", "error", err)
		return nil
	}
	return answer
}

// wireProbe is the first byte of a probe and of its answer. Topics follow: ID, length and content of each; see docs/formats/bus.md.
const wireProbe byte = 1

var errProbe = errors.New("malformed probe")

func appendTopic(b []byte, id byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, id), uint64(len(data))), data...)
}

// eachTopic calls fn with the topics of a probe or an answer.
func eachTopic(b []byte, fn func(id byte, data []byte)) error {
	if len(b) == 0 || b[0] != wireProbe {
		return errProbe
	}
	for b = b[1:]; len(b) > 0; {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || size > uint64(len(b)-1-n) {
			return errProbe
		}
		content := b[1+n:]
		fn(b[0], content[:size])
		b = content[size:]
	}
	return nil
}
