package fanout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

// The node that owns a partition has its users' inboxes, and knows where these users are connected. This node sends it the entries that
// it dispatches for those users. The answer comes when they are stored.

// Subjects of a node, beside bus.Node.
func postSubject(node string) string      { return bus.NodeSubject(node, "post") }
func transientSubject(node string) string { return bus.NodeSubject(node, "transient") }
func commitSubject(node string) string    { return bus.NodeSubject(node, "commit") }

const (
	// postTimeout is how long a peer may take to store what it is sent.
	postTimeout = 5 * time.Second
	// maxSendBytes bounds the batches that are sent together. Most fit into one bus message.
	maxSendBytes = bus.MaxData / 2
)

// statusStored begins an answer if the items are stored. A byte follows for each partition whose items are not, because the peer does not
// own it.
const statusStored = 's'

// statusStaleTerm begins an answer if some events have a fence that is not current. They are not stored, and must not be sent again.
const statusStaleTerm = 'o'

// peers are the nodes that this one sends to.
type peers struct {
	worker *Worker

	workerGroup // mu also guards byNode
	byNode      map[string]*peer
}

// peer is one node. While something waits for its partitions, it has a goroutine that sends it.
type peer struct {
	worker    *Worker
	node      string
	running   bool // guarded by peers.mu, with signalled
	signalled bool // something may have been queued since the goroutine looked

	// Used by its goroutine only, and reused:
	parts   []part
	targets []message.Target
	spare   [][]byte // buffers that have been sent
}

// postPolicy: what a peer does not store is sent again, until its partitions have another owner.
var postPolicy = nodecall.FailBack{Timeout: postTimeout, First: retryFirst, Longest: retryMax / 5}

// maxSpareBytes bounds the size of a buffer that is kept for reuse: a peer has two at most (maxSendBytes).
const maxSpareBytes = bus.MaxData

// signal starts sending what waits for a node's partitions, unless that is running.
func (o *peers) signal(node string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx == nil {
		return
	}
	t := o.byNode[node]
	if t == nil {
		t = &peer{worker: o.worker, node: node}
		o.byNode[node] = t
	}
	t.signalled = true
	if ctx := o.ctx; !t.running {
		t.running = true
		o.wait.Go(func() { t.run(ctx) })
	}
}

// forgetInterval is how often nodes are forgotten that own nothing.
const forgetInterval = 10 * time.Second

// forgetGone forgets the idle peers that own no partition, as those that have left the cluster.
func (o *peers) forgetGone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for node, t := range o.byNode {
		if !t.running && o.worker.owned(node, allPartitions) == 0 {
			delete(o.byNode, node)
		}
	}
}

// proceeds reports whether a peer was signalled since the last call. Otherwise its goroutine ends.
func (o *peers) proceeds(t *peer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t.running, t.signalled = t.signalled, false
	return t.running
}

// run sends what waits for the partitions that the node owns, until nothing does.
func (t *peer) run(ctx context.Context) {
	w := t.worker
	for w.peers.proceeds(t) {
		t.parts = w.queues.take(t.parts[:0], w.owned(t.node, w.queues.waiting()), maxSendBytes)
		lost, err := t.send(ctx, t.parts)
		if err != nil {
			return
		}
		w.wakeOwners(w.queues.settle(t.parts, lost))
		clear(t.parts)
	}
}

// send sends parts until the node has stored them, or has lost one of their partitions. It returns the partitions that are not stored, or
// an error if ctx ended first.
func (t *peer) send(ctx context.Context, parts []part) (lost partitionSet, err error) {
	w := t.worker
	all := partitionSet(0)
	var payloads [][]byte
	for _, p := range parts {
		all |= p.of
		payloads = t.pack(payloads, p)
	}
	defer func() { t.spare = payloads }()
	repeated := nodecall.Repeated{
		IsTarget: func() bool { return w.owned(t.node, all) == all }, // send nothing to a node that may be gone
		Accept:   func(a []byte) bool { return len(a) > 0 && (a[0] == statusStored || a[0] == statusStaleTerm) },
		Failed: func(err error) {
			w.deps.Logger.Warn("sending to a peer failed", "node", t.node, "batches", len(parts), "error", err)
		},
	}
	for n := 0; n < len(payloads); {
		answer, moved, err := postPolicy.Repeat(ctx, w.deps.Bus, postSubject(t.node), payloads[n], repeated)
		if err != nil {
			return 0, err
		}
		if moved {
			return all, nil
		}
		if answer[0] == statusStaleTerm {
			for _, p := range parts {
				p.stale.Store(true)
			}
		}
		for _, p := range answer[1:] {
			lost |= setOf(uint16(p % timeline.Partitions))
		}
		if n++; lost != 0 && n < len(payloads) {
			return all, nil // later items must not overtake lost ones
		}
	}
	return lost & all, nil
}

// pack appends a part's items to payloads. No payload exceeds the bus's limit.
func (t *peer) pack(payloads [][]byte, of part) [][]byte {
	targets := t.targets
	of.each(func(it *item, users []uint8) {
		targets = targets[:0]
		for i, p := range users {
			if of.of.has(uint16(p)) {
				targets = append(targets, message.Target{User: it.members[i]})
			}
		}
		if len(targets) == 0 {
			return
		}
		d := message.Delivery{Kind: it.kind, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body, Targets: targets, Fence: it.fence}
		if last := len(payloads) - 1; last >= 0 && len(payloads[last])+d.Size() <= bus.MaxData {
			payloads[last] = d.Append(payloads[last])
		} else {
			payloads = append(payloads, d.Append(t.buffer()))
		}
	})
	t.targets = targets
	return payloads
}

// buffer returns an empty buffer.
func (t *peer) buffer() []byte {
	last := len(t.spare) - 1
	if last < 0 {
		return nil
	}
	p := t.spare[last]
	if t.spare = t.spare[:last]; cap(p) > maxSpareBytes {
		return nil
	}
	return p[:0]
}

// publishTransient sends a node a part for its users. They may be lost.
func (w *Worker) publishTransient(node string, of part) {
	t := peer{worker: w, node: node}
	for _, data := range t.pack(nil, of) {
		if err := w.deps.Bus.Publish(transientSubject(node), data); err != nil {
			w.deps.Logger.Debug("a transient message to a peer was lost", "node", node, "error", err)
		}
	}
}

// listen handles what other nodes send to this one until stop is called.
func (w *Worker) listen(ctx context.Context) (stop func(), err error) {
	if w.deps.Owner == nil {
		return func() {}, nil
	}
	var cancels []func()
	stop = func() {
		for _, c := range cancels {
			c()
		}
	}
	post, err := w.deps.Bus.Respond(postSubject(w.deps.Node), func(data []byte) []byte { return w.handlePost(ctx, data) })
	if err != nil {
		return nil, err
	}
	cancels = append(cancels, post)
	for subject, handle := range map[string]func([]byte){
		transientSubject(w.deps.Node): w.handleTransient,
		commitSubject(w.deps.Node):    w.handleCommits,
	} {
		cancel, err := w.deps.Bus.Subscribe(subject, handle, nil)
		if err != nil {
			stop()
			return nil, err
		}
		cancels = append(cancels, cancel)
	}
	return stop, nil
}

// handlePost stores what another node dispatched for this node's users, and answers when it is stored.
func (w *Worker) handlePost(ctx context.Context, data []byte) []byte {
	items, err := w.unpack(data)
	if err != nil { // nothing is stored: the peer sends everything again until this node can read it, or another node owns the users
		w.deps.Logger.Error("a post of another node cannot be decoded", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	b := &batch{items: items, inbound: true, done: make(chan struct{})}
	b.resolve()
	b.pending.Store(1)
	for i, l := range w.lanes {
		if !b.lanes[i] && b.partitions&l.partitions == 0 {
			continue
		}
		b.pending.Add(1)
		if l.enqueue(ctx, part{b, allPartitions}) != nil {
			b.abandoned.Store(true)
			return nil
		}
	}
	b.finish(1)
	select {
	case <-b.done:
		answer := []byte{statusStored}
		if b.stale.Load() {
			answer[0] = statusStaleTerm
		}
		partitionSet(b.lost.Load()).each(func(p uint16) { answer = append(answer, byte(p)) })
		return answer
	case <-ctx.Done():
		b.abandoned.Store(true)
		return nil
	}
}

// handleTransient handles items that may be lost. Items that must be stored come to handlePost.
func (w *Worker) handleTransient(data []byte) {
	items, err := w.unpack(slices.Clone(data))
	if errors.Is(err, message.ErrDelivery) {
		w.deps.Logger.Error("a part of a transient message cannot be decoded", "error", err)
	}
	b := &batch{items: items, inbound: true}
	b.resolve()
	w.tryLanes(b, b.partitions)
}

// unpack returns the items in data that can be decoded, and an error if one cannot. The items alias data.
func (w *Worker) unpack(data []byte) (items []item, failed error) {
	var d message.Delivery
	var users []id.User // one backing array for all items; each item's slice is capped
	for len(data) > 0 {
		var err error
		if data, err = d.Next(data); err != nil {
			failed = errors.Join(failed, err)
			if errors.Is(err, message.ErrUnknownDelivery) {
				w.unknown.Add(1)
			}
			continue
		}
		it := item{kind: d.Kind, conversation: d.Conversation, seq: d.Seq, counted: d.Counted, body: d.Body, fence: d.Fence}
		first := len(users)
		for _, t := range d.Targets {
			users = append(users, t.User)
		}
		it.members = users[first:len(users):len(users)]
		items = append(items, it)
	}
	return items, failed
}
