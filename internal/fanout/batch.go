package fanout

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// item is one thing for some users.
type item struct {
	kind         message.DeliveryKind
	large        bool
	conversation id.Conversation
	seq, counted uint64
	body         []byte
	members      []id.User
	turn         string // of an event from the outbox; see Notice
}

// placed tells whether the item gets a place in its users' streams.
func (it *item) placed() bool {
	return it.kind == message.DeliverEntry && !it.large || it.kind == message.DeliverEvent
}

// followed tells whether the item is for whoever follows its conversation: no member is named.
func (it *item) followed() bool { return it.large && it.kind == message.DeliverEntry }

// batch is given to every lane, and to every other node that has users of it; each takes the users that are its own.
type batch struct {
	record uint64
	items  []item       // nil when all are done
	bytes  int          // of items, about
	places *places      // nil: all users are this node's
	parts  []uint16     // partitions of the users, where there are places
	flight *flight      // counts the batch in those; may be nil
	left   atomic.Int32 // lanes and nodes not yet done
	given  *given       // may be nil
	// abandoned: nobody waits for it any more, and who gave it gives it again.
	abandoned atomic.Bool
	// refused: events of it were not stored, since their turn is over.
	refused atomic.Bool
	parent  *batch        // of which this is a stray part; else nil
	done    chan struct{} // may be nil
}

// given are the partitions of a batch that it could not be stored for. Who gave it sees to that: another node, or who leads strays.
type given [timeline.Partitions]atomic.Bool

// weigh counts the batch's bytes, for who keeps it waiting.
func (b *batch) weigh() {
	for i := range b.items {
		b.bytes += len(b.items[i].body) + 8*len(b.items[i].members)
	}
}

// finish is called once by each lane and node.
func (b *batch) finish() {
	if b.left.Add(-1) != 0 {
		return
	}
	if b.flight != nil {
		b.flight.leave(b)
	}
	b.items, b.places = nil, nil // a carrier keeps the batch until those before it are done as well
	if b.done != nil {
		close(b.done)
	}
}

// refuse tells all of whom this is a part as well.
func (b *batch) refuse() {
	for ; b != nil; b = b.parent {
		b.refused.Store(true)
	}
}

// places are the nodes that have the partitions of a batch's users, as they were when it was given away; nothing of the others.
type places [timeline.Partitions]string

func partitionOf(u id.User) uint16 {
	return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}.Partition()
}

// at tells whether a user of the batch is a node's.
func (b *batch) at(node string, u id.User) bool {
	return b.places == nil || b.places[partitionOf(u)] == node
}

// Why a batch cannot be given away now.
var (
	errNobody = errors.New("a partition of users is no node's at the moment")
	errMoving = errors.New("a partition of users has moved, and what was given to the node before is not stored yet")
	errOver   = errors.New("the turn in which events were handed over has ended, or it is not known; who has the turn now hands them over")
	errFull   = errs.New(errs.Unavailable, "busy", "another node does not take what is for its users; it is tried again")
)

// place finds the places of the batch's users, and gives the nodes other than this one, and those users' partitions; nothing where no
// other node is.
func (w *Worker) place(b *batch) (nodes []string, parts []uint16) {
	if w.deps.Holder == nil {
		return nil, nil
	}
	b.places = &places{}
	var seen [timeline.Partitions]bool
	for i := range b.items {
		if b.items[i].followed() {
			continue
		}
		for _, u := range b.items[i].members {
			p := partitionOf(u)
			if seen[p] {
				continue
			}
			seen[p] = true
			parts = append(parts, p)
			b.places[p] = w.deps.Holder(p)
			if n := b.places[p]; n != "" && n != w.deps.Node && !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes, parts
}

// flight counts, by partition, the batches that are given away and not done. Behind one that is on its way to where a partition
// was, none goes to where it is now: what is for one user stays in order.
type flight struct {
	mu  sync.Mutex // guards all
	at  places
	out [timeline.Partitions]int
}

// enter counts a batch in, if it may go now.
func (f *flight) enter(b *batch, s *strays) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range b.parts {
		switch {
		case b.places[p] == "":
			return errNobody
		case b.given != nil: // of a stray's leader, which is alone
		case f.at[p] != b.places[p] && f.out[p] > 0, s.has(p):
			return errMoving
		}
	}
	for _, p := range b.parts {
		// A stray goes first, and what is still on its way to where the partition was comes after it: nothing new may go before that.
		if b.given == nil {
			f.at[p] = b.places[p]
		}
		f.out[p]++
	}
	b.flight = f
	return nil
}

func (f *flight) leave(b *batch) {
	f.mu.Lock()
	for _, p := range b.parts {
		f.out[p]--
	}
	f.mu.Unlock()
}

// give hands a batch to the lanes and nodes of its users. It waits for room in the lanes, but not for other nodes.
func (w *Worker) give(ctx context.Context, b *batch) error {
	nodes, parts := w.place(b)
	b.weigh()
	b.left.Store(int32(bus.Lanes + len(nodes)))
	if b.parts = parts; len(parts) > 0 {
		if err := w.flight.enter(b, &w.strays); err != nil {
			return err
		}
		if err := w.others.put(nodes, b); err != nil {
			b.flight = nil
			w.flight.leave(b)
			return err
		}
	}
	for i, l := range w.lanes {
		if err := l.put(ctx, b); err != nil {
			for range w.lanes[i:] { // it is not theirs to finish, and its places in flight are to be given back when the others have
				b.finish()
			}
			return err
		}
	}
	return nil
}

// offer is give for what may be lost: it does not wait, neither for room nor for what becomes of it.
func (w *Worker) offer(b *batch) {
	nodes, _ := w.place(b)
	b.weigh()
	b.left.Store(int32(bus.Lanes))
	for _, n := range nodes {
		w.transient(n, b)
	}
	for _, l := range w.lanes {
		l.offer(b)
	}
}
