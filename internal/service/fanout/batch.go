package fanout

import (
	"errors"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// item is one delivery to a set of users.
type item struct {
	kind         message.DeliveryKind
	large        bool
	conversation id.Conversation
	seq, counted uint64
	body         []byte
	members      []id.User
	fence        string // of an event from the outbox; see Notice
}

// hasInboxPosition reports whether the item is appended to its users' inboxes.
func (it *item) hasInboxPosition() bool {
	return it.kind == message.DeliverEntry && !it.large || it.kind == message.DeliverEvent
}

// isBroadcast reports whether the item is for every follower of its conversation: it names no members.
func (it *item) isBroadcast() bool {
	return it.large && (it.kind == message.DeliverEntry || it.kind == message.DeliverFrame)
}

// lane returns the lane that delivers an item without an inbox position: all items of a conversation use one lane, in order. Others, such
// as transient frames, use their users' lanes.
func (it *item) lane() (lane int, ok bool) {
	if it.hasInboxPosition() || it.conversation == 0 {
		return 0, false
	}
	return laneOf(timeline.Key{Kind: timeline.Conversation, ID: uint64(it.conversation)}.Partition()), true
}

// batch is the items of one record or call. It goes to the queues of their users' partitions.
type batch struct {
	record     uint64
	items      []item       // nil when the batch is finished
	bytes      int          // approximate size of items
	users      []uint8      // partition of each member of each item that is no broadcast, in order
	partitions partitionSet // those in users
	lanes      [bus.Lanes]bool
	pending    atomic.Int32  // partitions and lanes that have not finished
	stale      atomic.Bool   // events of it were not stored, because their fence is not current
	done       chan struct{} // may be nil
	queues     *queues       // that count it; nil for batches of other nodes
	number     uint64        // in the order of queues

	// Of batches of other nodes:
	inbound   bool
	lost      atomic.Uint64 // a partitionSet: not stored, because another node owns them
	abandoned atomic.Bool   // the sender has given up on this batch, and sends it again
}

// resolve computes what depends on the items.
func (b *batch) resolve() {
	n := 0
	for i := range b.items {
		b.bytes += len(b.items[i].body) + 8*len(b.items[i].members)
		n += len(b.items[i].members)
	}
	b.users = make([]uint8, 0, n)
	for i := range b.items {
		it := &b.items[i]
		if lane, ok := it.lane(); ok {
			b.lanes[lane] = true
		}
		if it.isBroadcast() {
			continue
		}
		for _, u := range it.members {
			p := partitionOf(u)
			b.users = append(b.users, uint8(p))
			b.partitions |= setOf(p)
		}
	}
}

// each calls f for each item, with the partitions of its members.
func (b *batch) each(f func(it *item, users []uint8)) {
	users := b.users
	for i := range b.items {
		n := len(b.items[i].members)
		if b.items[i].isBroadcast() {
			n = 0
		}
		f(&b.items[i], users[:n])
		users = users[n:]
	}
}

// finish is called when n partitions or lanes have finished.
func (b *batch) finish(n int) {
	if b.pending.Add(int32(-n)) != 0 || n == 0 {
		return
	}
	if b.queues != nil {
		b.queues.release(b)
	}
	b.items, b.users = nil, nil // a dispatcher keeps the batch until those before it are finished
	if b.done != nil {
		close(b.done)
	}
}

func partitionOf(u id.User) uint16 {
	return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}.Partition()
}

// laneOf returns the lane of a partition's users and conversations.
func laneOf(p uint16) int { return int(p % bus.Lanes) }

// lanePartitions returns the partitions of a lane.
func lanePartitions(lane int) (of partitionSet) {
	for p := lane; p < timeline.Partitions; p += bus.Lanes {
		of |= setOf(uint16(p))
	}
	return of
}

var (
	errQueueFull = errs.New(errs.Unavailable, "busy", "the queue of a partition, or all queues together, are full; the record is queued again")
	errStaleTerm = errors.New("the outbox lease of the events is not current, or cannot be checked; the lease's holder dispatches them again")
)
