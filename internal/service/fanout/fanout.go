// Package fanout dispatches appended messages: to the inboxes of a conversation's members, and to the nodes where members are connected.
//
// It owns the progress through the fan-out records. The records of a partition are dispatched in order. The commit that wrote a record
// also announces its entries in memory (Committed); entries that were not announced, or did not fit, are read from the log. Each step may
// be repeated: after a crash the records above the checkpoint are dispatched again, and devices recognize entries by conversation and
// seq. A checkpoint is written only after the inbox entries that it covers, into the same write-ahead log.
//
// A dispatcher finds the audience of each entry of its partitions, and puts it into the queues of the partitions that the users are in.
// The order of a queue is the order of its users' streams. A lane appends to inboxes and delivers. A user has one lane, so a device is
// pushed events in the order of its inbox. Each queue is bounded: dispatchers wait for room, and drop announced entries, which
// they then read from the log.
//
// In a cluster, the node that owns a partition (Assigned, Revoked) dispatches its records and posts to its users' inboxes. A peer sends the queue of
// another node's partition to that node, and removes items when they are stored there. The owner is looked up for each attempt, so
// that a queue follows its partition when it moves. Nodes announce their commits on the bus. Announcements may be lost, so the log is
// read every second as well.
//
// The package uses timeline and bus, and chat, inbox and presence by small interfaces. All methods may be called from many goroutines.
package fanout

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// Chat resolves the audience of an entry. The members are shared and never change. If large, the conversation's timeline is the only
// copy, and members are reached through the nodes that follow it.
type Chat interface {
	Audience(ctx context.Context, conversation id.Conversation, seq uint64) (members []id.User, large bool, err error)
	// JoinedAfter returns those of some members who joined after the entry at seq, and may not read it, in their order.
	JoinedAfter(ctx context.Context, conversation id.Conversation, seq uint64, members []id.User) ([]id.User, error)
	// AwaitApplied returns when Audience knows the control entry at seq. Entries may be read before their sender is answered, and on any node.
	AwaitApplied(ctx context.Context, conversation id.Conversation, seq uint64) error
	// ApplyUpdates makes updates, and the mentions of messages, visible to all reads, unless they are already, and gives each its content as members see it. rejected has
	// the error of each that is corrupt.
	ApplyUpdates(ctx context.Context, list []*message.Stored) (rejected []error, err error)
	// MayBeOutdated reports whether a stored entry may have another text by now. It is called for each entry that is pushed.
	MayBeOutdated(stored []byte) bool
	// Refresh gives entries their present contents and states.
	Refresh(ctx context.Context, list []*message.Stored) error
}

// Directory knows which users are connected to which nodes.
type Directory interface {
	// Locate returns the nodes to which a user is connected. The slice must not be changed.
	Locate(user id.User) []string
	// Followers returns the nodes with connections that follow a large conversation, if this node owns its partition. The slice must
	// not be changed.
	Followers(conversation id.Conversation) []string
}

// Quarantine stores, durably and for operators to see, the positions of entries that cannot be dispatched because stored data is corrupt.
type Quarantine interface {
	// Put may be repeated.
	Put(ctx context.Context, key timeline.Key, seq uint64, why string) error
	// List returns at most limit positions of a partition after a given one, ordered by conversation and seq, one entry each, and how
	// often each was put again.
	List(ctx context.Context, partition uint16, after timeline.Ref, limit int) (refs []timeline.Ref, puts []int64, err error)
	// Remove forgets a position, unless it was put more often than puts.
	Remove(ctx context.Context, key timeline.Key, seq uint64, puts int64) error
}

// Deps are the dependencies of a Worker.
type Deps struct {
	Log       timeline.Log
	Chat      Chat
	Directory Directory
	Bus       bus.Bus
	// Quarantine takes corrupt entries, and the partition goes on. If nil, the partition stops at them.
	Quarantine Quarantine
	Logger     *slog.Logger
	// Node is this node's name. Owner returns the node that owns a partition, or "" if none does. It is nil on a single node, which owns
	// every partition that it was assigned.
	Node  string
	Owner func(partition uint16) string
	// Acquired is called with the grant of each partition that has been acquired in the log: from then on no other node delivers events of its users. It
	// is not called after Revoked. It must not block or call the worker. It may be nil.
	Acquired func(cluster.Grant)
	// Posted is called for each event that was posted to a user's inbox. It must not block. It may be nil.
	Posted func(u id.User)
	// Recorder gets what was posted and broadcast; nil: it is not recorded.
	Recorder *flightrecorder.Recorder
	// Tracer records the dispatch and the fan-out of sampled messages; nil: none.
	Tracer *tracing.Tracer
	// EventStreams: each dispatched entry is also named in the event stream of its partition (timeline.EventStream).
	EventStreams bool
	// IsCurrent reports whether a notice's fence is still current. It may be nil if notices have no fence on any node.
	IsCurrent func(ctx context.Context, fence string) (bool, error)
}

// Worker dispatches the fan-out records of a node.
type Worker struct {
	deps          Deps
	dispatchers   [dispatcherCount]*dispatcher
	shared        sharedBuffer // of all partitions
	lanes         [bus.Lanes]*lane
	queues        queues // of the partitions of users
	peers         peers
	announcements announcements
	eventStreams  [timeline.Partitions][]id.User // the members of items for event streams
	dispatched    atomic.Uint64
	unknown       atomic.Uint64
	quarantined   atomic.Uint64
}

const (
	dispatcherCount = 2
	// laneQueue bounds the parts that are given to a lane, and laneBytes their bytes. Senders wait when the lane is full.
	laneQueue = 1024
	laneBytes = 8 << 20
	// A checkpoint is written every checkpointRecords records, or after checkpointInterval. In a cluster the interval is
	// clusterCheckpointInterval, because each partition's checkpoint is a commit of its own.
	checkpointRecords         = 512
	checkpointInterval        = 100 * time.Millisecond
	clusterCheckpointInterval = time.Second
	// checkpointTimeout limits writing one checkpoint.
	checkpointTimeout = 5 * time.Second
	retryFirst        = 50 * time.Millisecond
	retryMax          = 5 * time.Second
	// reacquireDelay is the delay before acquiring a partition again under a grant whose term the log has rejected. Usually the grant ends
	// meanwhile, because the partition has moved.
	reacquireDelay = 500 * time.Millisecond
	// maxInflight bounds the records of a partition that are dispatched and not completed.
	maxInflight = 4 * checkpointRecords
	// fenceCheckTimeout limits a check whether a fence is current.
	fenceCheckTimeout = 2 * time.Second
	// gapWait is how long to wait for a missing record before reading the log. Announcements of several nodes may arrive out of order,
	// and under load a missing record is usually late, not lost.
	gapWait = 100 * time.Millisecond
	// shortWait is how long to wait for the entries of a record that is already visible, and for room in a queue.
	shortWait = 20 * time.Millisecond
	// timeSlice is how long a partition keeps its dispatcher while other partitions wait.
	timeSlice = 100 * time.Millisecond
	// readInterval is how often the log is read for other nodes' commits, whose announcements may be lost.
	readInterval = time.Second
)

// New returns a worker, which Run runs.
func New(deps Deps) *Worker {
	w := &Worker{deps: deps}
	for p := range w.eventStreams {
		w.eventStreams[p] = []id.User{id.User(timeline.EventStream(uint16(p)).ID)}
	}
	for i := range w.dispatchers {
		w.dispatchers[i] = newDispatcher(w, uint16(i))
	}
	for i := range w.lanes {
		w.lanes[i] = newLane(w, i)
	}
	w.announcements.wake, w.announcements.last = make(chan struct{}, 1), map[string]int{}
	w.peers.worker, w.peers.byNode = w, map[string]*peer{}
	return w
}

// Assigned makes this node the owner of a partition: the worker dispatches its records and posts to its inboxes until the grant ends.
func (w *Worker) Assigned(g cluster.Grant) {
	w.partition(g.Part).setGrant(g)
	w.dispatchers[g.Part%dispatcherCount].signal()
}

// Revoked is called after the grant of a partition has ended.
func (w *Worker) Revoked(partition int) {
	w.partition(partition).setGrant(cluster.Grant{})
	w.dispatchers[partition%dispatcherCount].signal()
}

func (w *Worker) partition(partition int) *partition {
	return w.dispatchers[partition%dispatcherCount].partitions[partition/dispatcherCount]
}

// Run dispatches until ctx ends. The next start dispatches the rest.
func (w *Worker) Run(ctx context.Context) error {
	w.peers.start(ctx)
	defer w.peers.stop()
	stopListening, err := w.listen(ctx)
	if err != nil {
		return err
	}
	defer stopListening()
	var group sync.WaitGroup
	for _, c := range w.dispatchers {
		group.Go(func() { c.run(ctx) })
	}
	for _, l := range w.lanes {
		group.Go(func() { l.run(ctx) })
	}
	group.Go(func() { w.runAnnouncements(ctx) })
	group.Go(func() { w.resend(ctx) })
	group.Wait()
	return nil
}

// Committed is the log's listener. It buffers the entries of new records for their dispatchers, and announces them to the nodes that own
// their partitions. It never blocks, and does not wait for the bus.
func (w *Worker) Committed(commits []timeline.Commit) {
	for i := range commits {
		w.dispatchers[commits[i].Partition%dispatcherCount].offer(&commits[i])
	}
	w.announce(commits)
	for _, c := range w.dispatchers {
		c.signal()
	}
}

// Idle reports whether all records known so far have been dispatched and completed. Tests and clean shutdowns use it.
func (w *Worker) Idle() bool {
	for _, c := range w.dispatchers {
		if !c.idle() {
			return false
		}
	}
	return true
}

// Dispatched counts the entries dispatched since the start.
func (w *Worker) Dispatched() uint64 { return w.dispatched.Load() }

// UnknownDeliveries counts the deliveries of other nodes since the start whose kind this release does not know.
func (w *Worker) UnknownDeliveries() uint64 { return w.unknown.Load() }

// Quarantined counts the entries put into quarantine since the start.
func (w *Worker) Quarantined() uint64 { return w.quarantined.Load() }

// StoppedPartitions is the number of this node's partitions that cannot advance because their records are corrupt.
func (w *Worker) StoppedPartitions() (n int) {
	for _, c := range w.dispatchers {
		for _, p := range c.partitions {
			if p.stopped.Load() {
				n++
			}
		}
	}
	return n
}

// Notify appends an event (a body as made by message.AppendBody) to users' inboxes and delivers it. It returns when everything is
// appended. After an error the caller must repeat the call; only the caller has the event in durable form.
func (w *Worker) Notify(ctx context.Context, notices []Notice) error {
	b := &batch{done: make(chan struct{}), items: make([]item, len(notices))}
	for i, n := range notices {
		b.items[i] = item{kind: message.DeliverEvent, body: n.Body, members: []id.User{n.User}, fence: n.Fence}
	}
	if err := w.enqueue(ctx, b); err != nil {
		return err
	}
	select {
	case <-b.done:
		if b.stale.Load() {
			return errStaleTerm
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Notice is an event for one user's stream. Fence is the fencing token of the outbox lease that the event was dispatched under; it is
// empty on a single node. The event is appended only while the fence is current (Deps.IsCurrent), so that it never follows events of a
// later lease.
type Notice struct {
	User  id.User
	Body  []byte
	Fence string
}

// Follow makes the sessions of users follow a large conversation, whose newest entry is at seq, or no longer. It may be lost: gateways compare
// with the rows from time to time.
func (w *Worker) Follow(c id.Conversation, seq uint64, users []id.User, follows bool) {
	kind := message.DeliverFollow
	if !follows {
		kind = message.DeliverUnfollow
	}
	w.tryEnqueue(&batch{items: []item{{kind: kind, conversation: c, seq: seq, members: users}}})
}

// TransientLarge delivers the bytes of a ServerFrame to the connections that follow a large conversation. It may be lost.
func (w *Worker) TransientLarge(c id.Conversation, frame []byte) {
	w.tryEnqueue(&batch{items: []item{{kind: message.DeliverFrame, large: true, conversation: c, body: frame}}})
}

// Transient delivers the bytes of a ServerFrame to connected users. It may be lost.
func (w *Worker) Transient(users []id.User, frame []byte) {
	w.tryEnqueue(&batch{items: []item{{kind: message.DeliverFrame, body: frame, members: users}}})
}
