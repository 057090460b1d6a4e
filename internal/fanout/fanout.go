// Package fanout carries appended messages further: to the inboxes of a conversation's members and to the nodes where they are
// connected.
//
// It owns the fan-out records' progress. Records of a partition are carried in order; the commit that wrote a record hands
// its entries over in memory (Committed), and what was not handed over, or did not fit, is read from the log. Each step may
// be repeated: after a crash the records above the checkpoint are carried again, and devices know entries by conversation
// and seq. A checkpoint is written only after the inbox entries that it covers, into the same write-ahead log.
//
// Two kinds of goroutines do the work. A carrier finds the audience of each entry of its partitions; a lane appends to the
// inboxes of its users and delivers to them. A user has one lane, so that what a device is pushed is in the order of its
// inbox. Each queue is bounded: carriers stop at full lanes, and drop handed-over entries, which they then read from the log.
//
// Where there are several nodes, a partition is carried by the node that has it (Begin, End), which has its users' inboxes as well.
// What is carried for users of other nodes is given to those, and done when they have stored it; while partitions move, what was
// given to the wrong node waits, and all for those users behind it, so that each user's stream stays in order. What another node
// appended is told on the bus, and else found in the log, which is read every second. Nodes ask each other whether they are reached (Cut).
//
// It touches timeline, bus, and chat, inbox and presence by small interfaces. All methods may be called from many goroutines.
package fanout

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Chat says who gets an entry: the members, shared and never changed; large when the conversation's timeline is the only
// copy and members are reached through the nodes that follow it.
type Chat interface {
	Audience(ctx context.Context, conversation id.Conversation, seq uint64) (members []id.User, large bool, err error)
	// Applied returns when Audience knows the control entry at seq. Entries may be read before the one who appended them has
	// been told, and on any node.
	Applied(ctx context.Context, conversation id.Conversation, seq uint64) error
}

// Presence says where users are.
type Presence interface {
	// Locate gives the nodes on which a user has connections. The slice is shared.
	Locate(user id.User) []string
	// Followers gives the nodes on which connections follow a large conversation, where this node has its partition. The slice is
	// shared.
	Followers(conversation id.Conversation) []string
}

// Aside keeps the places of entries that cannot be carried, since something stored is damaged: durably, where an operator sees them.
type Aside interface {
	// Put may be repeated.
	Put(ctx context.Context, key timeline.Key, seq uint64, why string) error
	// List gives a partition's, one entry each, by conversation and seq, and how often each was put again: the first ones after a
	// place, at most limit.
	List(ctx context.Context, partition uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error)
	// Drop forgets one, unless it was put more often than puts.
	Drop(ctx context.Context, key timeline.Key, seq uint64, puts int64) error
}

// Deps are what a Worker needs.
type Deps struct {
	Log      timeline.Log
	Chat     Chat
	Presence Presence
	Bus      bus.Bus
	// Aside: what is damaged is put there, and the partition goes on; nil: the partition stops at it.
	Aside  Aside
	Logger *slog.Logger
	// Node is this node's name. Holder gives the node that has a partition, "" for none; nil where no other node is, and this one
	// has all that it was told to begin.
	Node   string
	Holder func(partition uint16) string
	// Nodes gives the other nodes that live and may have partitions; nil where there are none.
	Nodes func() []string
	// Taken is called when a partition was taken in the log, each time: from then on nobody else delivers what is in its users'
	// streams. It is not called after End. It must not block, nor call the worker; may be nil.
	Taken func(partition int)
	// Lasts tells whether a notice's turn lasts. May be nil where notices have none, here and on other nodes.
	Lasts func(ctx context.Context, turn string) (bool, error)
}

// Worker carries the fan-out of a node.
type Worker struct {
	deps     Deps
	carriers [carriers]*carrier
	shared   shared // by the carriers' partitions
	lanes    [bus.Lanes]*lane
	others   others
	flight   flight
	strays   strays
	telling  telling
	reach    reach
	carried  atomic.Uint64
	unknown  atomic.Uint64
	aside    atomic.Uint64
}

const (
	carriers = 2
	// laneQueue bounds the batches waiting for a lane; a carrier waits when it is full.
	laneQueue = 1024
	// laneBytes bounds their bytes, and those that wait for another node.
	laneBytes = 8 << 20
	// checkpointEvery so many records, or after idleCheckpoint; where other nodes are after sharedCheckpoint, since it is a commit of its
	// own there, for each partition.
	checkpointEvery  = 512
	idleCheckpoint   = 100 * time.Millisecond
	sharedCheckpoint = time.Second
	// saveTime that saving a place may take.
	saveTime   = 5 * time.Second
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Second
	// takeAgain so long after a partition was taken, and lost to another node which does not have it.
	takeAgain = 500 * time.Millisecond
	// mostInflight bounds the records of a partition that are not done.
	mostInflight = 4 * checkpointEvery
	// lastsTime that asking whether a turn lasts may take.
	lastsTime = 2 * time.Second
	// holeWait so long a record is awaited that is missing between others, before it is looked for in the log: nodes tell their own
	// on the bus, and of two the later may come first. Where much is under way it is late rather than lost, and to wait costs less than to read.
	holeWait = 100 * time.Millisecond
	// formingWait so long entries are awaited whose record is there already.
	formingWait = 20 * time.Millisecond
	// turnTime that a partition has before the others of its carrier.
	turnTime = 100 * time.Millisecond
	// lookEvery so often the log is read for what other nodes have appended: what they tell on the bus may be lost.
	lookEvery = time.Second
)

// New makes a worker; Run starts it.
func New(deps Deps) *Worker {
	w := &Worker{deps: deps}
	for i := range w.carriers {
		w.carriers[i] = newCarrier(w, uint16(i))
	}
	for i := range w.lanes {
		w.lanes[i] = newLane(w, i)
	}
	w.strays.worker = w
	w.telling.wake, w.telling.last = make(chan struct{}, 1), map[string]int{}
	w.others.worker, w.others.to = w, map[string]*other{}
	return w
}

// Begin has the worker carry a partition, and post to its inboxes, until End.
func (w *Worker) Begin(partition int) {
	w.part(partition).begin()
	w.carriers[partition%carriers].poke()
}

// End is told when the partition is this node's no longer.
func (w *Worker) End(partition int) {
	w.part(partition).end()
	w.carriers[partition%carriers].poke()
}

func (w *Worker) part(partition int) *part {
	return w.carriers[partition%carriers].parts[partition/carriers]
}

// Run carries until ctx ends; what was not carried then is carried at the next start.
func (w *Worker) Run(ctx context.Context) error {
	w.others.start(ctx)
	defer w.others.stop()
	w.strays.start(ctx)
	defer w.strays.stop()
	deaf, err := w.listen(ctx)
	if err != nil {
		return err
	}
	defer deaf()
	var group sync.WaitGroup
	for _, c := range w.carriers {
		group.Go(func() { c.run(ctx) })
	}
	for _, l := range w.lanes {
		group.Go(func() { l.run(ctx) })
	}
	group.Go(func() { w.runTelling(ctx) })
	group.Go(func() { w.askAround(ctx) })
	group.Wait()
	return nil
}

// Committed is the log's listener: it hands the entries of new records over, to another node where that has the partition. It
// never blocks, and does not wait for the bus.
func (w *Worker) Committed(commits []timeline.Commit) {
	for i := range commits {
		w.carriers[commits[i].Partition%carriers].offer(&commits[i])
	}
	w.tell(commits)
	for _, c := range w.carriers {
		c.poke()
	}
}

// Idle tells whether all records handed over so far have been carried. For tests and a clean stop.
func (w *Worker) Idle() bool {
	for _, c := range w.carriers {
		if !c.idle() {
			return false
		}
	}
	return true
}

// Carried is the number of entries carried since the start.
func (w *Worker) Carried() uint64 { return w.carried.Load() }

// Unknown is the number of things that other nodes gave and told since the start, of kinds that this release does not know.
func (w *Worker) Unknown() uint64 { return w.unknown.Load() }

// SetAside is the number of entries that could not be carried since the start, and were put to Aside.
func (w *Worker) SetAside() uint64 { return w.aside.Load() }

// Stopped is the number of partitions that this node works and that go no further, since their records are damaged.
func (w *Worker) Stopped() (n int) {
	for _, c := range w.carriers {
		for _, p := range c.parts {
			if p.stopped.Load() {
				n++
			}
		}
	}
	return n
}

// Notify appends an event (a body as message.AppendBody makes) to users' inboxes and delivers it. It returns when all
// is appended; the caller repeats it after an error, since the event's durable cause is the caller's.
func (w *Worker) Notify(ctx context.Context, notices []Notice) error {
	b := &batch{done: make(chan struct{}), items: make([]item, len(notices))}
	for i, n := range notices {
		b.items[i] = item{kind: message.DeliverEvent, body: n.Body, members: []id.User{n.User}, turn: n.Turn}
	}
	if err := w.give(ctx, b); err != nil {
		return err
	}
	select {
	case <-b.done:
		if b.refused.Load() {
			return errOver
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Notice is an event for one user's stream. Where another node may hand over later events while this one is still at it, Turn says when it
// may: it is appended only while that lasts (Deps.Lasts), so that nothing is appended behind what came after it.
type Notice struct {
	User id.User
	Body []byte
	Turn string
}

// Transient delivers a ServerFrame's bytes to users who are connected; it may be lost.
func (w *Worker) Transient(users []id.User, frame []byte) {
	w.offer(&batch{items: []item{{kind: message.DeliverFrame, body: frame, members: users}}})
}
