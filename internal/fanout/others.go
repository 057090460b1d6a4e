package fanout

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Users of a partition have their inboxes, and the list of where they are connected, with the node that has the partition. What
// this node carries for them it gives to that node, which answers when it is stored.

// Subjects of a node, beside bus.Node.
func postSubject(node string) string      { return "node." + node + ".post" }
func transientSubject(node string) string { return "node." + node + ".transient" }
func commitSubject(node string) string    { return "node." + node + ".commit" }

const (
	// postTime that another node has to store what it is given.
	postTime = 5 * time.Second
	// idleOther: so long after the last batch for a node its goroutine ends.
	idleOther = time.Minute
)

// answered is what a node's answer begins with when it has stored what it was given. The partitions follow, a byte each, for which
// it has not, since it does not have them.
const answered = 's'

// over is what it begins with where there were events whose turn is over, too: those are not stored, and are not to be given again.
const over = 'o'

// others are the nodes that this one gives batches to.
type others struct {
	worker *Worker

	crew // mu guards to as well
	to   map[string]*other
}

// other is one node. A goroutine of its own gives it what waits, in order.
type other struct {
	worker  *Worker
	node    string
	batches chan *batch
	bytes   atomic.Int64 // of batches; added to under others.mu

	// Of its goroutine alone, reused from one time to the next:
	targets []message.Target
	spare   [][]byte // parcels that have left
}

// spareMost bounds the size of a parcel that is kept for reuse.
const spareMost = 1 << 18

// put queues a batch for nodes, for all or for none.
func (o *others) put(nodes []string, b *batch) error {
	if len(nodes) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx == nil {
		return timeline.ErrClosed
	}
	for _, n := range nodes {
		if t := o.to[n]; t != nil && !t.room(b) {
			return errFull
		}
	}
	for _, n := range nodes {
		t := o.to[n]
		if t == nil {
			t = &other{worker: o.worker, node: n, batches: make(chan *batch, laneQueue)}
			o.to[n] = t
			ctx := o.ctx
			o.wait.Go(func() { t.run(ctx) })
		}
		t.bytes.Add(int64(b.bytes))
		t.batches <- b // there is room: only here is it filled, under mu
	}
	return nil
}

// room tells whether there is any for a batch: for one that is larger than all room, where nothing waits.
func (t *other) room(b *batch) bool {
	waits := t.bytes.Load()
	return len(t.batches) < cap(t.batches) && (waits == 0 || waits+int64(b.bytes) <= laneBytes)
}

// next notes that a batch waits no longer.
func (t *other) next(b *batch) *batch {
	t.bytes.Add(int64(-b.bytes))
	return b
}

// leave takes an idle node out, unless a batch came just now.
func (o *others) leave(t *other) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(t.batches) > 0 {
		return false
	}
	delete(o.to, t.node)
	return true
}

func (t *other) run(ctx context.Context) {
	idle := time.NewTimer(idleOther)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			if t.worker.others.leave(t) {
				return
			}
		case b := <-t.batches:
			batches := []*batch{t.next(b)}
			parcels := t.pack(nil, b)
			for len(parcels) < 2 && len(batches) < together && len(t.batches) > 0 {
				b := t.next(<-t.batches)
				batches, parcels = append(batches, b), t.pack(parcels, b)
			}
			if !t.send(ctx, batches, parcels) {
				return
			}
			t.spare = parcels
		}
		idle.Reset(idleOther)
	}
}

// send gives batches to the node until it has stored them, or has lost the partitions that they are for; false when ctx ended first.
func (t *other) send(ctx context.Context, batches []*batch, parcels [][]byte) bool {
	w := t.worker
	var lost [timeline.Partitions]bool
	for wait := retryFirst; len(parcels) > 0; {
		if t.moved(batches) { // without asking a node that may not be there to answer
			for p := range lost {
				lost[p] = true
			}
			break
		}
		within, cancel := context.WithTimeout(ctx, postTime)
		answer, err := w.deps.Bus.Request(within, postSubject(t.node), parcels[0])
		cancel()
		if err == nil && len(answer) > 0 && (answer[0] == answered || answer[0] == over) {
			for _, b := range batches {
				if answer[0] == over {
					b.refuse()
				}
			}
			for _, p := range answer[1:] {
				lost[p%timeline.Partitions] = true
			}
			parcels, wait = parcels[1:], retryFirst
			if len(answer) == 1 || len(parcels) == 0 {
				continue
			}
			err = errMoving // the other parcels are for after what is lost
		}
		if ctx.Err() != nil {
			return false
		}
		w.deps.Logger.Warn("another node does not take what is for its users", "node", t.node, "batches", len(batches), "error", err)
		if errors.Is(err, errMoving) {
			for p := range lost {
				lost[p] = true
			}
			break
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		wait = min(2*wait, retryMost/5)
	}
	for _, b := range batches {
		w.strays.add(b, b.items, &lost, func(u id.User) bool { return b.at(t.node, u) })
		b.finish()
	}
	return true
}

// moved tells whether the node has lost a partition that it had when one of the batches was given away.
func (t *other) moved(batches []*batch) bool {
	for _, b := range batches {
		for _, p := range b.parts {
			if b.places[p] == t.node && t.worker.deps.Holder(p) != t.node {
				return true
			}
		}
	}
	return false
}

// pack appends what of a batch is for the node to parcels, of which none is too large for the bus.
func (t *other) pack(parcels [][]byte, b *batch) [][]byte {
	targets := t.targets
	caught := t.worker.strays.catch(b)
	if caught != nil {
		t.worker.strays.add(b, b.items, caught, func(u id.User) bool { return b.at(t.node, u) })
	}
	for i := range b.items {
		it := &b.items[i]
		if it.followed() {
			continue
		}
		targets = targets[:0]
		for _, u := range it.members {
			if b.at(t.node, u) && (caught == nil || !caught[partitionOf(u)]) {
				targets = append(targets, message.Target{User: u})
			}
		}
		if len(targets) == 0 {
			continue
		}
		d := message.Delivery{Kind: it.kind, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body, Targets: targets, Turn: it.turn}
		if last := len(parcels) - 1; last >= 0 && len(parcels[last])+d.Size() <= bus.MaxData {
			parcels[last] = d.Append(parcels[last])
		} else {
			parcels = append(parcels, d.Append(t.parcel()))
		}
	}
	t.targets = targets
	return parcels
}

// parcel gives an empty one.
func (t *other) parcel() []byte {
	last := len(t.spare) - 1
	if last < 0 {
		return nil
	}
	p := t.spare[last]
	if t.spare = t.spare[:last]; cap(p) > spareMost {
		return nil
	}
	return p[:0]
}

// transient gives a node what of a batch is for its users, which may be lost.
func (w *Worker) transient(node string, b *batch) {
	t := other{worker: w, node: node}
	for _, data := range t.pack(nil, b) {
		if err := w.deps.Bus.Publish(transientSubject(node), data); err != nil {
			w.deps.Logger.Debug("something transient was lost", "node", node, "error", err)
		}
	}
}

// listen takes what other nodes give this one, until stop is called.
func (w *Worker) listen(ctx context.Context) (stop func(), err error) {
	if w.deps.Holder == nil {
		return func() {}, nil
	}
	var cancels []func()
	stop = func() {
		for _, c := range cancels {
			c()
		}
	}
	post, err := w.deps.Bus.Respond(postSubject(w.deps.Node), func(data []byte) []byte { return w.given(ctx, data) })
	if err != nil {
		return nil, err
	}
	cancels = append(cancels, post)
	for subject, handle := range map[string]func([]byte){
		transientSubject(w.deps.Node): w.heard,
		commitSubject(w.deps.Node):    w.told,
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

// given stores what another node carried for this node's users, and answers when it is.
func (w *Worker) given(ctx context.Context, data []byte) []byte {
	if len(data) == 0 { // it asks whether this node is reached
		return []byte{answered}
	}
	items, err := w.unpack(data)
	if err != nil { // not even what can be read is stored: it all comes again, until this node can, or the users are another's
		w.deps.Logger.Error("what another node gave cannot be read", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	b := &batch{items: items, bytes: len(data), given: &given{}, done: make(chan struct{})}
	b.left.Store(bus.Lanes)
	for _, l := range w.lanes { // wherever the users are now
		if l.put(ctx, b) != nil {
			b.abandoned.Store(true)
			return nil
		}
	}
	select {
	case <-b.done:
		answer := []byte{answered}
		if b.refused.Load() {
			answer[0] = over
		}
		for p := range b.given {
			if b.given[p].Load() {
				answer = append(answer, byte(p))
			}
		}
		return answer
	case <-ctx.Done():
		b.abandoned.Store(true)
		return nil
	}
}

// heard is transient what given is durable.
func (w *Worker) heard(data []byte) {
	items, err := w.unpack(data)
	if errors.Is(err, message.ErrDelivery) {
		w.deps.Logger.Error("part of what another node told cannot be read", "error", err)
	}
	b := &batch{items: items, bytes: len(data)}
	b.left.Store(bus.Lanes)
	for _, l := range w.lanes {
		l.offer(b)
	}
}

// unpack copies items out of data: those that can be read, with an error of one that cannot.
func (w *Worker) unpack(data []byte) (items []item, failed error) {
	data = slices.Clone(data)
	var d message.Delivery
	var users []id.User // of all items: what is behind an item's own is not its
	for len(data) > 0 {
		var err error
		if data, err = d.Next(data); err != nil {
			failed = errors.Join(failed, err)
			if errors.Is(err, message.ErrUnknownDelivery) {
				w.unknown.Add(1)
			}
			continue
		}
		it := item{kind: d.Kind, conversation: d.Conversation, seq: d.Seq, counted: d.Counted, body: d.Body, turn: d.Turn}
		first := len(users)
		for _, t := range d.Targets {
			users = append(users, t.User)
		}
		it.members = users[first:len(users):len(users)]
		items = append(items, it)
	}
	return items, failed
}
