package fanout

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// enqueue queues a batch for its users. It waits for room in the lanes, but not in the queues.
func (w *Worker) enqueue(ctx context.Context, b *batch) error {
	b.resolve()
	n := 1 + b.partitions.len()
	for _, some := range b.lanes {
		if some {
			n++
		}
	}
	b.pending.Store(int32(n))
	defer b.finish(1)
	idle, err := w.queues.add(b)
	if err != nil {
		return err
	}
	w.wakeOwners(idle)
	for i, l := range w.lanes {
		if !b.lanes[i] {
			continue
		}
		if failed := l.enqueue(ctx, part{b, allPartitions}); failed != nil {
			b.finish(1)
			err = failed
		}
	}
	return err
}

// tryEnqueue is enqueue for transient batches. They wait in no queue, and the caller does not learn the outcome.
func (w *Worker) tryEnqueue(b *batch) {
	b.resolve()
	own := b.partitions
	if w.deps.Owner != nil {
		of := map[string]partitionSet{}
		b.partitions.each(func(p uint16) { of[w.deps.Owner(p)] |= setOf(p) })
		own = of[w.deps.Node]
		delete(of, w.deps.Node)
		delete(of, "")
		for node, partitions := range of {
			w.publishTransient(node, part{b, partitions})
		}
	}
	w.tryLanes(b, own)
}

// tryLanes gives a transient batch to the lanes of the given users, and of its conversations.
func (w *Worker) tryLanes(b *batch, of partitionSet) {
	b.pending.Store(bus.Lanes)
	for i, l := range w.lanes {
		if b.lanes[i] || of&l.partitions != 0 {
			l.tryEnqueue(part{b, of})
		}
	}
}

// owned returns which of the partitions a node owns.
func (w *Worker) owned(node string, of partitionSet) (owned partitionSet) {
	if w.deps.Owner == nil {
		return of
	}
	of.each(func(p uint16) {
		if w.deps.Owner(p) == node {
			owned |= setOf(p)
		}
	})
	return owned
}

// ready returns which of the partitions this node may post to.
func (w *Worker) ready(of partitionSet) partitionSet {
	return w.active(w.owned(w.deps.Node, of))
}

// active returns which of the partitions are acquired in the log.
func (w *Worker) active(of partitionSet) (active partitionSet) {
	of.each(func(p uint16) {
		if w.partition(int(p)).isActive() {
			active |= setOf(p)
		}
	})
	return active
}

// wakeOwners wakes the lanes and peers that send what waits for the partitions. Lanes cannot post before a partition is acquired.
func (w *Worker) wakeOwners(of partitionSet) {
	own := w.owned(w.deps.Node, of)
	ready := w.active(own)
	for _, l := range w.lanes {
		if ready&l.partitions != 0 {
			l.signal()
		}
	}
	last := ""
	(of &^ own).each(func(p uint16) {
		if node := w.deps.Owner(p); node != "" && node != w.deps.Node && node != last {
			w.peers.signal(node)
			last = node
		}
	})
}

// resend wakes the present owners of all that waits, until ctx ends: partitions may have moved, or had no owner.
func (w *Worker) resend(ctx context.Context) {
	tick, forget := time.NewTicker(resendInterval), time.NewTicker(forgetInterval)
	defer tick.Stop()
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.wakeOwners(w.queues.waiting())
		case <-forget.C:
			w.peers.forgetGone()
		}
	}
}
