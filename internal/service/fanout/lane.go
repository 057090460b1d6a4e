package fanout

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"golang.org/x/sync/semaphore"
)

// lane appends to the inboxes of its partitions that this node owns, and delivers to their users. It works on what waits in the queues of
// these partitions, and on parts that it is given: what other nodes send, and what has no inbox position.
type lane struct {
	worker     *Worker
	number     int
	partitions partitionSet
	wake       chan struct{} // signalled when a queue may have something for it
	given      chan part
	capacity   *semaphore.Weighted // free bytes for given parts
	delivering chan struct{}       // full from when a round looks for outdated entries until they are delivered

	// Used by the lane's goroutine only, and reused from round to round:
	queued    []part       // from the queues
	lost      partitionSet // not stored, because another node owns them
	tasks     []task
	completed []*batch // batches that were given to the lane, and whose last item is in tasks
	posts     []timeline.Post
	arena     []byte
	bytes     int    // approximate size of what tasks deliver
	fence     string // of all events in the round
	// corrupt are the inboxes that could not be posted to because they are corrupt, until a post succeeds.
	corrupt  map[timeline.Key]bool
	unposted map[timeline.Key]bool // inboxes that missed a post in this round
	// corruption covers all inboxes of the lane under the zero key, because a failed post does not name the corrupt inbox.
	corruption timeline.CorruptionDetector
	payloads   map[string]*payload
	delivery   message.Delivery
	records    []flightrecorder.Record
	traced     tracing.Batch // the round
	// newFollowers are the nodes that this round makes follow a conversation; presence does not know them yet.
	newFollowers map[id.Conversation][]string
}

// task is an item of the round, with the number of its posts.
type task struct {
	*item
	users []uint8 // partitions of the item's members
	part  part
	posts int
	// refreshed: its present form was asked for.
	refreshed bool
	fresh     []byte // of an entry that was edited or recalled meanwhile: the event that is pushed in its place
	// withheld: the entry is not pushed, because it has expired, or may be outdated and its present form is not known. Devices find the gap.
	withheld bool
}

// payload is what one bus message brings to one node.
type payload struct {
	data    []byte
	targets []message.Target
}

func newLane(w *Worker, number int) *lane {
	return &lane{worker: w, number: number, partitions: lanePartitions(number), wake: make(chan struct{}, 1), given: make(chan part, laneQueue), capacity: semaphore.NewWeighted(laneBytes), delivering: make(chan struct{}, 1),
		corrupt: map[timeline.Key]bool{}, unposted: map[timeline.Key]bool{}, payloads: map[string]*payload{}, newFollowers: map[id.Conversation][]string{}}
}

func (l *lane) signal() {
	wakeup.Signal(l.wake)
}

// enqueue gives the lane a part, and waits for capacity.
func (l *lane) enqueue(ctx context.Context, t part) error {
	if err := l.capacity.Acquire(ctx, t.cost()); err != nil {
		return err
	}
	select {
	case l.given <- t:
		return nil
	case <-ctx.Done():
		l.capacity.Release(t.cost())
		return ctx.Err()
	}
}

// tryEnqueue drops the part if there is no capacity.
func (l *lane) tryEnqueue(t part) {
	if !l.capacity.TryAcquire(t.cost()) {
		return
	}
	select {
	case l.given <- t:
	default:
		l.capacity.Release(t.cost())
	}
}

// cost is the share of a lane's capacity that a batch uses. A batch larger than the capacity waits alone.
func (b *batch) cost() int64 { return int64(min(b.bytes, laneBytes)) }

// A round is posted and published as one. Posts and bytes are bounded to limit memory.
const (
	maxRoundPosts = 32 << 10
	maxRoundBytes = 4 << 20
)

func (l *lane) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case t := <-l.given:
			if !l.addGiven(ctx, t) {
				return
			}
		}
		if !l.work(ctx) {
			return
		}
	}
}

// work posts and delivers what was given to the lane, and what waits in its queues. It returns false if ctx ended first.
func (l *lane) work(ctx context.Context) bool {
	for n := len(l.given); n > 0 && len(l.completed) < maxBatches; n-- {
		if !l.addGiven(ctx, <-l.given) {
			return false
		}
	}
	q := &l.worker.queues
	l.queued = q.take(l.queued[:0], l.worker.ready(q.waiting()&l.partitions), maxRoundBytes)
	for _, t := range l.queued {
		if !l.add(ctx, t, false) {
			return false
		}
	}
	if !l.round(ctx) {
		return false
	}
	l.worker.wakeOwners(q.settle(l.queued, l.lost))
	clear(l.queued)
	l.lost = 0
	return true
}

// addGiven adds a part that was given to the lane.
func (l *lane) addGiven(ctx context.Context, t part) bool {
	l.capacity.Release(t.cost())
	if t.abandoned.Load() {
		t.finish(1)
		return true
	}
	if t.inbound {
		posts := t.of & t.partitions & l.partitions
		l.lost |= posts &^ l.worker.active(posts)
	}
	if !l.add(ctx, t, true) {
		return false
	}
	l.completed = append(l.completed, t.batch)
	return true
}

// add adds a part's items to the round, and runs the round when it is full. Items without an inbox position are only added if the part was
// given to the lane. It returns false if ctx ended first.
func (l *lane) add(ctx context.Context, t part, given bool) bool {
	ok := true
	t.each(func(it *item, users []uint8) {
		if posts := it.hasInboxPosition(); !ok || posts && given && !t.inbound || !posts && !given {
			return
		}
		if lane, fixed := it.lane(); fixed && lane != l.number {
			return
		}
		if len(l.posts) >= maxRoundPosts || l.bytes >= maxRoundBytes || it.fence != l.fence && len(l.posts) > 0 {
			if ok = l.round(ctx); !ok {
				return
			}
		}
		before := len(l.posts)
		if it.hasInboxPosition() {
			l.addPosts(it, users, t.of&l.partitions&^l.lost)
			if len(l.posts) == before {
				return
			}
			l.fence = it.fence
		}
		l.tasks = append(l.tasks, task{item: it, users: users, part: t, posts: len(l.posts) - before})
		l.bytes += len(it.body) + 16*len(it.members)
	})
	return ok
}

// addPosts adds posts for the item's members in some partitions.
func (l *lane) addPosts(it *item, users []uint8, of partitionSet) {
	start := len(l.arena)
	for i, u := range it.members {
		if !of.has(uint16(users[i])) {
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

// round posts and delivers the tasks. It returns false if ctx ended first.
func (l *lane) round(ctx context.Context) bool {
	l.traced = l.worker.deps.Tracer.Batch("fanout.round")
	if !l.post(ctx) {
		return false
	}
	l.record()
	l.trace()
	l.delivering <- struct{}{}
	l.refresh(ctx) // last, because posts may have waited
	l.deliver()
	<-l.delivering
	l.traced.End(len(l.tasks))
	for _, b := range l.completed {
		if b.inbound {
			b.lost.Or(uint64(l.lost & b.partitions & l.partitions))
		}
		b.finish(1)
	}
	clear(l.completed) // release the memory of the round
	clear(l.tasks)
	l.completed, l.tasks, l.posts, l.arena, l.bytes = l.completed[:0], l.tasks[:0], l.posts[:0], l.arena[:0], 0
	return true
}

// post appends to the inboxes.
func (l *lane) post(ctx context.Context) bool {
	if len(l.posts) == 0 {
		return true
	}
	failpoint.Hit("inbox/before-post")
	err := l.postAll(ctx, l.posts)
	if errors.Is(err, timeline.ErrFenced) {
		err = l.postByPartition(ctx)
	}
	if errors.Is(err, errStaleTerm) {
		l.rejectStale()
		return true
	}
	if err != nil || l.quarantineUnposted(ctx) != nil {
		return false
	}
	failpoint.Hit("inbox/after-post")
	l.announcePosts()
	return true
}

// announcePosts tells whoever waits for posts about those of the round.
func (l *lane) announcePosts() {
	if l.worker.deps.Posted == nil {
		return
	}
	for i := range l.posts {
		if p := &l.posts[i]; p.Seq != 0 { // else its partition is lost, or its inbox is corrupt
			l.worker.deps.Posted(id.User(p.Key.ID))
		}
	}
}

// postWithRetry posts until the log has accepted the posts, ctx ends, another node has acquired one of the partitions, the fence is
// stale, or an inbox is corrupt. If retryCorrupt, corruption is confirmed first.
func (l *lane) postWithRetry(ctx context.Context, posts []timeline.Post, retryCorrupt bool) error {
	for retry := backoff.New(retryFirst, retryMax); ; {
		err := l.postIfCurrent(ctx, posts)
		if err == nil || errors.Is(err, timeline.ErrFenced) || errors.Is(err, errStaleTerm) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, timeline.ErrCorrupt) {
			_, confirmed := l.corruption.Observe(timeline.Key{}, 0, time.Now())
			if confirmed || !retryCorrupt {
				return err
			}
		}
		l.worker.deps.Logger.Warn("posting to inboxes failed; it is tried again", "entries", len(posts), "error", err)
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
}

// postByPartition posts partition by partition. Those that another node has acquired are lost.
func (l *lane) postByPartition(ctx context.Context) error {
	var of [timeline.Partitions][]int
	for i := range l.posts {
		p := l.posts[i].Key.Partition()
		of[p] = append(of[p], i)
	}
	for p, indexes := range of {
		if len(indexes) == 0 {
			continue
		}
		lost := false
		err := postSubset(l.posts, indexes, func(posts []timeline.Post) (err error) {
			lost, err = l.postToPartition(ctx, l.worker.partition(p), posts)
			return err
		})
		if err != nil {
			return err
		}
		if lost {
			l.lost |= setOf(uint16(p))
			for _, i := range indexes {
				l.posts[i].Seq = 0
			}
		}
	}
	return nil
}

// postToPartition posts to one partition, and reports whether another node has acquired it.
func (l *lane) postToPartition(ctx context.Context, p *partition, posts []timeline.Post) (lost bool, err error) {
	for {
		acquisitions := p.acquisitionCount()
		if err := l.postAll(ctx, posts); !errors.Is(err, timeline.ErrFenced) {
			return false, err
		}
		if p.markLost(acquisitions) {
			return true, nil
		}
	}
}

// deliver sends each node the deliveries for its users, in one bus message.
func (l *lane) deliver() {
	next := 0
	for i := range l.tasks {
		t := &l.tasks[i]
		switch it := t.item; {
		case it.isBroadcast():
			if !t.withheld {
				l.packBroadcast(t)
			}
		case it.hasInboxPosition():
			posts := l.posts[next : next+t.posts]
			next += t.posts
			if t.withheld {
				continue
			}
			for i := range posts {
				p := &posts[i]
				if p.Seq == 0 {
					continue // its partition is lost, or its inbox is corrupt
				}
				l.addTarget(message.Target{User: id.User(p.Key.ID), At: message.Position(p.Seq), Prev: message.Position(p.Prev)})
			}
			l.pack(t)
		default:
			l.addTargets(t)
			l.noteFollowers(it)
			l.pack(t)
		}
	}
	l.publish()
	clear(l.newFollowers)
}

// deliveryOf is the delivery of a task, without targets.
func (t *task) deliveryOf() message.Delivery {
	d := message.Delivery{Kind: t.kind, Large: t.isBroadcast(), Conversation: t.conversation, Seq: t.seq, Counted: t.counted, Body: t.body}
	if t.fresh != nil {
		d.Kind, d.Body = message.DeliverEvent, t.fresh
	}
	return d
}

// noteFollowers records the nodes that an item makes follow its conversation.
func (l *lane) noteFollowers(it *item) {
	if it.kind != message.DeliverFollow {
		return
	}
	for node, p := range l.payloads {
		if len(p.targets) > 0 {
			l.newFollowers[it.conversation] = append(l.newFollowers[it.conversation], node)
		}
	}
}

// addTargets adds the targets of a task without an inbox position. Followers of a large conversation change in the order of the
// conversation's own lane.
func (l *lane) addTargets(t *task) {
	of := t.part.of
	if _, ok := t.lane(); !ok {
		of &= l.partitions
	} else if !t.part.inbound {
		of = l.worker.owned(l.worker.deps.Node, of&t.part.partitions)
	}
	for i, u := range t.members {
		if of.has(uint16(t.users[i])) {
			l.addTarget(message.Target{User: u})
		}
	}
}

func (l *lane) addTarget(t message.Target) {
	for _, node := range l.worker.deps.Directory.Locate(t.User) {
		p := l.payloadFor(node)
		p.targets = append(p.targets, t)
	}
}

// pack appends a task to the payloads of the nodes that have targets of it.
func (l *lane) pack(t *task) {
	for node, p := range l.payloads {
		if len(p.targets) > 0 {
			l.delivery = t.deliveryOf()
			l.delivery.Targets = p.targets
			l.appendDelivery(node, p)
			p.targets = p.targets[:0]
		}
	}
}

func (l *lane) publish() {
	for node, p := range l.payloads {
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

func (l *lane) packBroadcast(t *task) {
	nodes := l.worker.deps.Directory.Followers(t.conversation)
	if added := l.newFollowers[t.conversation]; len(added) > 0 {
		nodes = slices.Concat(nodes, added)
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
	}
	for _, node := range nodes {
		p := l.payloadFor(node)
		l.delivery = t.deliveryOf()
		l.appendDelivery(node, p)
	}
}

// appendDelivery appends the current delivery to a payload. A payload that becomes too large for the bus is sent in parts.
func (l *lane) appendDelivery(node string, p *payload) {
	before := len(p.data)
	p.data = l.delivery.Append(p.data)
	if before > 0 && len(p.data) > bus.MaxData {
		l.send(node, p.data[:before])
		p.data = append(p.data[:0], p.data[before:]...)
	}
}

func (l *lane) send(node string, data []byte) {
	began := l.worker.deps.Tracer.Now()
	err := l.worker.deps.Bus.Publish(bus.Node(node, l.number), data)
	l.publishTraced(began, node, len(data), err)
	if err != nil {
		l.worker.deps.Logger.Warn("a delivery was lost on the bus; devices will find the gap", "node", node, "error", err)
	}
}

func (l *lane) payloadFor(node string) *payload {
	p := l.payloads[node]
	if p == nil {
		p = &payload{}
		l.payloads[node] = p
	}
	return p
}
