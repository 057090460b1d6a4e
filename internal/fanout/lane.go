package fanout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"golang.org/x/sync/semaphore"
)

// lane appends to the inboxes of its users, and delivers to them.
type lane struct {
	worker  *Worker
	number  int
	batches chan *batch
	room    *semaphore.Weighted // bytes of batches

	// Of the lane's goroutine alone, reused from round to round:
	tasks []task
	ends  []*batch // whose last item is among tasks
	posts []timeline.Post
	arena []byte
	bytes int    // of what tasks deliver, about
	turn  string // in which what is posted was handed over
	// broken are the inboxes that could not be posted to, since they are damaged, until they could be.
	broken map[timeline.Key]bool
	missed map[timeline.Key]bool // those to which something of this round could not be posted
	lost   time.Time             // when that was last
	nodes  map[string]*parcel
	out    message.Delivery
	// fresh are the nodes that this round tells to follow a conversation: presence does not know it yet.
	fresh map[id.Conversation][]string
}

// task is an item of the round, with the number of its posts.
type task struct {
	*item
	of    *batch
	posts int
}

// parcel is what goes to one node in one bus message.
type parcel struct {
	data    []byte
	targets []message.Target
}

func newLane(w *Worker, number int) *lane {
	return &lane{worker: w, number: number, batches: make(chan *batch, laneQueue), broken: map[timeline.Key]bool{}, missed: map[timeline.Key]bool{}, room: semaphore.NewWeighted(laneBytes), nodes: map[string]*parcel{}, fresh: map[id.Conversation][]string{}}
}

func laneOf(n uint64) int { return int(timeline.Key{ID: n}.Hash() >> 32 % bus.Lanes) }

// put waits for room.
func (l *lane) put(ctx context.Context, b *batch) error {
	if err := l.room.Acquire(ctx, b.room()); err != nil {
		return err
	}
	select {
	case l.batches <- b:
		return nil
	case <-ctx.Done():
		l.room.Release(b.room())
		return ctx.Err()
	}
}

// offer drops the batch where there is no room.
func (l *lane) offer(b *batch) {
	if !l.room.TryAcquire(b.room()) {
		return
	}
	select {
	case l.batches <- b:
	default:
		l.room.Release(b.room())
	}
}

// room that a batch takes in a lane: where it is more than there is, it waits alone.
func (b *batch) room() int64 { return int64(min(b.bytes, laneBytes)) }

// A round is what is posted and sent as one. It is bounded by batches, and, so that memory is, by posts and bytes.
const (
	together   = 256
	roundPosts = 32 << 10
	roundBytes = 4 << 20
)

func (l *lane) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-l.batches:
			if !l.take(ctx, b) {
				return
			}
		}
	more:
		for len(l.ends) > 0 && len(l.ends) < together {
			select {
			case b := <-l.batches:
				if !l.take(ctx, b) {
					return
				}
			default:
				break more
			}
		}
		if !l.round(ctx) {
			return
		}
	}
}

// take takes a batch's items into the round, and does the round when it is full; false when ctx ended first.
func (l *lane) take(ctx context.Context, b *batch) bool {
	l.room.Release(b.room())
	if b.abandoned.Load() {
		b.finish()
		return true
	}
	caught := l.worker.strays.catch(b)
	if caught != nil && len(l.tasks) > 0 { // the round may stray as well, and was before
		if !l.round(ctx) {
			return false
		}
		caught = l.worker.strays.catch(b)
	}
	if caught != nil {
		l.worker.strays.add(b, b.items, caught, func(u id.User) bool { return l.owns(b, u) })
	}
	for i := range b.items {
		it := &b.items[i]
		if len(l.posts) >= roundPosts || l.bytes >= roundBytes || it.turn != l.turn && len(l.posts) > 0 {
			if !l.round(ctx) {
				return false
			}
		}
		l.turn = it.turn
		before := len(l.posts)
		if it.placed() {
			l.addPosts(b, it, caught)
		}
		l.tasks = append(l.tasks, task{it, b, len(l.posts) - before})
		l.bytes += len(it.body) + 16*len(it.members)
	}
	l.ends = append(l.ends, b)
	return true
}

// owns tells whether a user of a batch is this lane's.
func (l *lane) owns(b *batch, u id.User) bool {
	return laneOf(uint64(u)) == l.number && b.at(l.worker.deps.Node, u)
}

func (l *lane) addPosts(b *batch, it *item, caught *[timeline.Partitions]bool) {
	start := len(l.arena)
	for _, u := range it.members {
		if !l.owns(b, u) || caught != nil && caught[partitionOf(u)] {
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

// round posts and delivers what was added; false when ctx ended first.
func (l *lane) round(ctx context.Context) bool {
	if !l.post(ctx) {
		return false
	}
	l.deliver()
	for _, b := range l.ends {
		b.finish()
	}
	clear(l.ends) // nothing of the round is kept alive
	clear(l.tasks)
	l.ends, l.tasks, l.posts, l.arena, l.bytes = l.ends[:0], l.tasks[:0], l.posts[:0], l.arena[:0], 0
	return true
}

// post appends to the inboxes.
func (l *lane) post(ctx context.Context) bool {
	if len(l.posts) == 0 {
		return true
	}
	failpoint.Hit("inbox/before-post")
	err := l.store(ctx, l.posts)
	if errors.Is(err, timeline.ErrTaken) {
		err = l.storeApart(ctx)
	}
	if errors.Is(err, errOver) {
		l.refuse()
		return true
	}
	if err != nil || l.asideBroken(ctx) != nil {
		return false
	}
	failpoint.Hit("inbox/after-post")
	return true
}

// storeWhole posts until the log has taken it, or ctx ends, or another node has taken a partition of it, or an inbox looked damaged for
// as long as at may take.
func (l *lane) storeWhole(ctx context.Context, posts []timeline.Post, at *doubt) error {
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := l.try(ctx, posts)
		if err == nil || errors.Is(err, timeline.ErrTaken) || errors.Is(err, errOver) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, timeline.ErrDamaged) {
			if at.tries++; at.lasts() {
				return err
			}
		}
		l.worker.deps.Logger.Warn("inboxes wait for the store", "entries", len(posts), "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// storeApart posts partition by partition. What is for one that another node has taken strays from here to there.
func (l *lane) storeApart(ctx context.Context) error {
	var of [timeline.Partitions][]int
	for i := range l.posts {
		p := l.posts[i].Key.Partition()
		of[p] = append(of[p], i)
	}
	var lost [timeline.Partitions]bool
	for p, indexes := range of {
		var err error
		if len(indexes) > 0 {
			err = some(l.posts, indexes, func(posts []timeline.Post) (err error) {
				lost[p], err = l.storeHere(ctx, l.worker.part(p), posts)
				return err
			})
		}
		if err != nil {
			return err
		}
		if lost[p] {
			for _, i := range indexes {
				l.posts[i].Seq = 0
			}
		}
	}
	for n := 0; n < len(l.tasks); {
		b := l.tasks[n].of
		var items []item
		for ; n < len(l.tasks) && l.tasks[n].of == b; n++ {
			items = append(items, *l.tasks[n].item)
		}
		l.worker.strays.add(b, items, &lost, func(u id.User) bool { return l.owns(b, u) })
	}
	return nil
}

// storeHere posts to one partition, and tells whether another node has it.
func (l *lane) storeHere(ctx context.Context, p *part, posts []timeline.Post) (lost bool, err error) {
	for {
		takes := p.taken()
		if err := l.store(ctx, posts); !errors.Is(err, timeline.ErrTaken) {
			return false, err
		}
		if p.lose(takes) {
			return true, nil
		}
	}
}

// deliver sends each node what is for its users, in one bus message.
func (l *lane) deliver() {
	next := 0
	for _, t := range l.tasks {
		switch it := t.item; {
		case it.followed():
			if laneOf(uint64(it.conversation)) == l.number {
				l.large(it)
			}
		case it.placed():
			for i := range l.posts[next : next+t.posts] {
				p := &l.posts[next+i]
				if p.Seq == 0 {
					continue // it strays
				}
				l.target(message.Target{User: id.User(p.Key.ID), At: message.Position(p.Seq), Prev: message.Position(p.Prev)})
			}
			next += t.posts
			l.pack(it)
		default:
			l.targets(t.of, it)
			l.follow(it)
			l.pack(it)
		}
	}
	l.publish()
	clear(l.fresh)
}

// follow notes the nodes that an item tells to follow its conversation.
func (l *lane) follow(it *item) {
	if it.kind != message.DeliverFollow {
		return
	}
	for node, p := range l.nodes {
		if len(p.targets) > 0 {
			l.fresh[it.conversation] = append(l.fresh[it.conversation], node)
		}
	}
}

// targets of what has no place in a stream. Who follows a large conversation changes in the order of the conversation's own lane.
func (l *lane) targets(b *batch, it *item) {
	if it.conversation != 0 && laneOf(uint64(it.conversation)) != l.number {
		return
	}
	for _, u := range it.members {
		if it.conversation != 0 && b.at(l.worker.deps.Node, u) || it.conversation == 0 && l.owns(b, u) {
			l.target(message.Target{User: u})
		}
	}
}

func (l *lane) target(t message.Target) {
	for _, node := range l.worker.deps.Presence.Locate(t.User) {
		p := l.parcel(node)
		p.targets = append(p.targets, t)
	}
}

// pack puts an item into the parcels of the nodes that have targets of it.
func (l *lane) pack(it *item) {
	for node, p := range l.nodes {
		if len(p.targets) > 0 {
			l.out = message.Delivery{Kind: it.kind, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body, Targets: p.targets}
			l.load(node, p)
			p.targets = p.targets[:0]
		}
	}
}

func (l *lane) publish() {
	for node, p := range l.nodes {
		if len(p.data) == 0 {
			continue
		}
		l.send(node, p.data)
		if cap(p.data) > 4<<20 {
			p.data = nil
		}
		p.data = p.data[:0]
	}
}

func (l *lane) large(it *item) {
	nodes := l.worker.deps.Presence.Followers(it.conversation)
	if fresh := l.fresh[it.conversation]; len(fresh) > 0 {
		nodes = slices.Concat(nodes, fresh)
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
	}
	for _, node := range nodes {
		p := l.parcel(node)
		l.out = message.Delivery{Kind: it.kind, Large: true, Conversation: it.conversation, Seq: it.seq, Counted: it.counted, Body: it.body}
		l.load(node, p)
	}
}

// load puts the delivery at hand into a parcel. One that gets too large for the bus leaves in parts.
func (l *lane) load(node string, p *parcel) {
	before := len(p.data)
	p.data = l.out.Append(p.data)
	if before > 0 && len(p.data) > bus.MaxData {
		l.send(node, p.data[:before])
		p.data = append(p.data[:0], p.data[before:]...)
	}
}

func (l *lane) send(node string, data []byte) {
	if err := l.worker.deps.Bus.Publish(bus.Node(node, l.number), data); err != nil {
		l.worker.deps.Logger.Warn("a delivery was lost on the bus; devices will find the gap", "node", node, "error", err)
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
