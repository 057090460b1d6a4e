package fanout

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/failpoint"
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
}

// batch is given to every lane; each takes the users that are its own.
type batch struct {
	record uint64
	items  []item
	left   atomic.Int32 // lanes not yet done
	done   chan struct{}
}

func (b *batch) finish() {
	if b.left.Add(-1) == 0 && b.done != nil {
		close(b.done)
	}
}

// lane appends to the inboxes of its users, and delivers to them.
type lane struct {
	worker  *Worker
	number  int
	batches chan *batch

	// Of the lane's goroutine alone, reused from batch to batch:
	posts []timeline.Post
	arena []byte
	nodes map[string]*parcel
	out   message.Delivery
}

// parcel is what goes to one node in one bus message.
type parcel struct {
	data    []byte
	targets []message.Target
}

func newLane(w *Worker, number int) *lane {
	return &lane{worker: w, number: number, batches: make(chan *batch, laneQueue), nodes: map[string]*parcel{}}
}

func laneOf(n uint64) int { return int(timeline.Key{ID: n}.Hash() >> 32 % bus.Lanes) }

// put waits for room.
func (l *lane) put(ctx context.Context, b *batch) error {
	select {
	case l.batches <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offer drops the batch where there is no room.
func (l *lane) offer(b *batch) {
	select {
	case l.batches <- b:
	default:
	}
}

// together bounds the batches that are posted and sent as one.
const together = 64

func (l *lane) run(ctx context.Context) {
	pending := make([]*batch, 0, together)
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-l.batches:
			pending = append(pending[:0], b)
		}
	more:
		for len(pending) < together {
			select {
			case b := <-l.batches:
				pending = append(pending, b)
			default:
				break more
			}
		}
		if !l.post(ctx, pending) {
			return
		}
		l.deliver(pending)
		for i, b := range pending {
			b.finish()
			pending[i] = nil
		}
	}
}

// post appends to the inboxes; false when ctx ended first.
func (l *lane) post(ctx context.Context, batches []*batch) bool {
	l.posts, l.arena = l.posts[:0], l.arena[:0]
	for _, b := range batches {
		for i := range b.items {
			it := &b.items[i]
			if it.large || it.kind != message.DeliverEntry && it.kind != message.DeliverEvent {
				continue
			}
			start := len(l.arena)
			for _, u := range it.members {
				if laneOf(uint64(u)) != l.number {
					continue
				}
				if start == len(l.arena) {
					if it.kind == message.DeliverEntry {
						l.arena = message.AppendInboxRef(l.arena, it.conversation, it.seq)
					} else {
						l.arena = message.AppendInboxEvent(l.arena, it.body)
					}
				}
				l.posts = append(l.posts, timeline.Post{Key: timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}, Payload: l.arena[start:len(l.arena):len(l.arena)]})
			}
		}
	}
	if len(l.posts) == 0 {
		return true
	}
	failpoint.Hit("inbox/before-post")
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := l.worker.deps.Log.Post(ctx, l.posts)
		if err == nil {
			failpoint.Hit("inbox/after-post")
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		l.worker.deps.Logger.Warn("inboxes wait for the store", "entries", len(l.posts), "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// deliver sends each node what is for its users, in one bus message.
func (l *lane) deliver(batches []*batch) {
	next := 0
	for _, b := range batches {
		for i := range b.items {
			it := &b.items[i]
			if it.large && it.kind == message.DeliverEntry {
				if laneOf(uint64(it.conversation)) == l.number {
					l.large(it)
				}
				continue
			}
			placed := it.kind == message.DeliverEntry || it.kind == message.DeliverEvent
			for _, u := range it.members {
				if !placed && it.conversation != 0 {
					// Who follows a large conversation changes in the order of the conversation's own lane.
					if laneOf(uint64(it.conversation)) != l.number {
						continue
					}
				} else if laneOf(uint64(u)) != l.number {
					continue
				}
				t := message.Target{User: u}
				if placed {
					p := &l.posts[next]
					next++
					t.At, t.Prev = message.Position(p.Seq), message.Position(p.Prev)
				}
				for _, node := range l.worker.deps.Presence.Locate(u) {
					p := l.parcel(node)
					p.targets = append(p.targets, t)
				}
			}
			for _, p := range l.nodes {
				if len(p.targets) > 0 {
					l.out = message.Delivery{Kind: it.kind, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body, Targets: p.targets}
					p.data = l.out.Append(p.data)
					p.targets = p.targets[:0]
				}
			}
		}
	}
	for node, p := range l.nodes {
		if len(p.data) == 0 {
			continue
		}
		if err := l.worker.deps.Bus.Publish(bus.Node(node, l.number), p.data); err != nil {
			l.worker.deps.Logger.Warn("a delivery was lost on the bus; devices will find the gap", "node", node, "error", err)
		}
		if cap(p.data) > 4<<20 {
			p.data = nil
		}
		p.data = p.data[:0]
	}
}

func (l *lane) large(it *item) {
	for _, node := range l.worker.deps.Presence.Nodes() {
		p := l.parcel(node)
		l.out = message.Delivery{Kind: it.kind, Large: true, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body}
		p.data = l.out.Append(p.data)
	}
}

func (l *lane) parcel(node string) *parcel {
	p := l.nodes[node]
	if p == nil {
		p = &parcel{}
		l.nodes[node] = p
	}
	return p
}
