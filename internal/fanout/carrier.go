package fanout

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/failpoint"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

// carrier works the partitions that are its own, one after the other.
type carrier struct {
	worker *Worker
	wake   chan struct{}
	parts  []*part
}

// part is the progress of one partition.
type part struct {
	partition uint16
	shared    *shared

	// term is held to take the partition in the log, and for reading by what must not be posted if the partition was another's meanwhile.
	// Of several, in the order of the partitions.
	term sync.RWMutex

	mu      sync.Mutex // guards all to newest
	life    uint64     // counts how often it was begun here
	begun   bool       // and not ended since
	open    bool       // taken, in this life: records are kept
	takes   uint64     // counts how often it was taken
	records []record   // in order, above seen
	entries int        // in records
	bytes   int        // of their payloads
	behind  bool       // the log has records that were not kept in memory
	reading bool       // they are being read: more may be found
	newest  uint64     // newest record known of

	// Of the carrier's goroutine alone:
	lives    uint64 // the life in which it was taken, 0: it is not
	seen     uint64 // last record given to the lanes
	inflight []*batch
	saved    uint64        // last checkpoint written
	savedAt  time.Time     // when that was
	wait     time.Duration // after the last failure; 0: it went well
	again    time.Time     // when to try again
	failedIn uint64        // the life of the last failure
	looked   time.Time     // when the log was read, or the last record came
	hole     time.Time     // since when a record is missing below those handed over; zero: none is
	took     time.Time     // when it was taken
	aside    again         // of what was set aside
	doubts   doubts
	settled  atomic.Uint64
	stopped  atomic.Bool // by damage
}

type record struct {
	seq     uint64
	entries []timeline.Committed
}

func newCarrier(w *Worker, number uint16) *carrier {
	c := &carrier{worker: w, wake: make(chan struct{}, 1)}
	for p := number; p < timeline.Partitions; p += carriers {
		c.parts = append(c.parts, &part{partition: p, shared: &w.shared})
	}
	return c
}

// begin and end are told whether the partition is this node's.
func (p *part) begin() {
	p.mu.Lock()
	p.life++
	p.begun = true
	p.mu.Unlock()
}

func (p *part) end() {
	p.mu.Lock()
	p.begun = false
	p.mu.Unlock()
}

// take makes the partition this node's in the log as well, and goes to where it was left. It tells whether there is work to do.
func (c *carrier) take(ctx context.Context, p *part) (bool, error) {
	p.mu.Lock()
	life, begun := p.life, p.begun
	open := p.open && begun && p.lives == life
	p.mu.Unlock()
	if open {
		return true, nil
	}
	p.close()
	if !begun || p.lives == life && time.Since(p.took) < takeAgain {
		return false, nil
	}
	p.took = time.Now()
	p.term.Lock()
	err := c.worker.deps.Log.Take(ctx, p.partition)
	p.term.Unlock()
	if err != nil {
		return false, err
	}
	at, err := c.worker.deps.Log.Checkpoint(ctx, p.partition)
	if err != nil {
		return false, err
	}
	p.lives, p.seen, p.saved = life, at, at
	p.doubts, p.aside = doubts{}, again{}
	p.settled.Store(at)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun || p.life != life {
		return false, nil // it ended meanwhile
	}
	p.open, p.behind, p.newest = true, true, at
	p.takes++
	if c.worker.deps.Taken != nil {
		c.worker.deps.Taken(int(p.partition)) // before End returns, or not at all
	}
	return true, nil
}

// taken counts how often the partition was taken.
func (p *part) taken() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takes
}

// lose is told when another node has taken the partition in the log, after this one had so many times. This node takes it again, a
// bit later, if it still has it then: the other one may have been late. It tells whether the partition is lost: not where it was
// taken again since.
func (p *part) lose(takes uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.takes != takes {
		return false
	}
	p.open = false
	return true
}

// close forgets the work at hand.
func (p *part) close() {
	p.inflight = nil
	p.mu.Lock()
	p.open, p.behind = false, false
	p.drop()
	p.mu.Unlock()
}

func (c *carrier) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// offer keeps the entries of a record while there is room; else the carrier will read them.
func (c *carrier) offer(commit *timeline.Commit) {
	for _, p := range c.parts {
		if p.partition != commit.Partition {
			continue
		}
		p.mu.Lock()
		if !p.open { // it will be read when it is taken
			p.mu.Unlock()
			continue
		}
		p.newest = max(p.newest, commit.Record)
		p.behind = p.behind || len(commit.Entries) == 0 || !p.hold(record{commit.Record, commit.Entries})
		p.mu.Unlock()
	}
}

func (c *carrier) idle() bool {
	for _, p := range c.parts {
		p.mu.Lock()
		busy := p.begun && (!p.open || p.behind || p.reading || len(p.records) > 0 || p.settled.Load() < p.newest)
		p.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

func (c *carrier) run(ctx context.Context) {
	tick := time.NewTicker(idleCheckpoint)
	defer tick.Stop()
	for {
		for _, p := range c.parts {
			c.try(ctx, p)
		}
		select {
		case <-ctx.Done():
		case <-c.wake:
			continue
		case <-tick.C:
		}
		if ctx.Err() != nil {
			c.last(ctx)
			return
		}
		for _, p := range c.parts {
			c.save(ctx, p, c.due(p))
		}
	}
}

// last saves the places of all partitions when ctx has ended, so that the next start carries nothing again: together, and in saveTime
// for all, since a store that hangs must not keep the node from stopping.
func (c *carrier) last(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var group sync.WaitGroup
	for _, p := range c.parts {
		group.Go(func() { c.save(ctx, p, 1) })
	}
	group.Wait()
}

// due is by how many records a partition's place has to have moved to be saved now.
func (c *carrier) due(p *part) uint64 {
	if c.worker.deps.Holder != nil && time.Since(p.savedAt) < sharedCheckpoint {
		return checkpointEvery
	}
	return 1
}

// save saves a partition's place where it has moved by step. It has the log read from time to time: where other nodes append, what
// they tell may be lost.
func (c *carrier) save(ctx context.Context, p *part, step uint64) {
	if !p.held() || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	if err := c.settle(within, p, step); err != nil && ctx.Err() == nil {
		c.failed(p, "fan-out cannot save its place", err)
	}
	if c.worker.deps.Holder != nil && time.Since(p.looked) > lookEvery {
		p.mu.Lock()
		p.behind = p.open
		p.mu.Unlock()
	}
}

// held tells whether the partition is taken.
func (p *part) held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// failed closes a partition that another node has taken; else it says why nothing goes on.
func (c *carrier) failed(p *part, what string, err error) {
	if errors.Is(err, timeline.ErrTaken) {
		p.close()
		return
	}
	level := slog.LevelWarn
	if errors.Is(err, timeline.ErrDamaged) {
		level = slog.LevelError
	}
	c.worker.deps.Logger.Log(context.Background(), level, what, "partition", p.partition, "error", err)
}

// try carries a partition, unless it failed just now: the others do not wait for it.
func (c *carrier) try(ctx context.Context, p *part) {
	p.mu.Lock()
	life := p.life
	p.mu.Unlock()
	if p.wait > 0 && p.failedIn == life && time.Now().Before(p.again) {
		return
	}
	open, err := c.take(ctx, p)
	if open {
		if err = c.carry(ctx, p); err == nil {
			c.tryAside(ctx, p)
		}
	}
	p.stopped.Store(errors.Is(err, timeline.ErrDamaged))
	if err == nil || ctx.Err() != nil {
		if open {
			p.wait = 0
		}
		return
	}
	if p.failedIn != life {
		p.wait = 0
	}
	if errors.Is(err, timeline.ErrForming) {
		p.wait, p.again, p.failedIn = formingWait, time.Now().Add(formingWait), life
		time.AfterFunc(formingWait, c.poke)
		return
	}
	p.wait = min(max(2*p.wait, retryFirst), retryMost)
	if soon(err) {
		p.wait = retryFirst // it is soon over
	}
	p.again, p.failedIn = time.Now().Add(p.wait), life
	c.failed(p, "fan-out waits", err)
}

// carry gives all records above seen to the lanes, or as many as it can in its turn.
func (c *carrier) carry(ctx context.Context, p *part) error {
	for began := time.Now(); ; {
		if time.Since(began) > turnTime { // the other partitions wait
			c.poke()
			return c.settle(ctx, p, checkpointEvery)
		}
		p.mu.Lock()
		records := p.records
		p.drop()
		behind := p.behind
		p.mu.Unlock()

		slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.seq, b.seq) }) // of each node they came in order
		for i, r := range records {
			if r.seq <= p.seen {
				continue // was read from the log before it was handed over
			}
			if r.seq != p.seen+1 {
				if !behind && c.await(p) {
					p.putBack(records[i:])
					return c.settle(ctx, p, checkpointEvery)
				}
				behind = true // the log has what is missing
				break
			}
			p.hole = time.Time{}
			p.looked = time.Now()
			if err := c.hand(ctx, p, r.seq, r.entries); err != nil {
				c.keep(p, records[i:], err)
				return err
			}
		}
		if !behind {
			if len(records) == 0 {
				return c.settle(ctx, p, checkpointEvery)
			}
			continue
		}
		if err := c.catchUp(ctx, p, began); err != nil {
			p.mu.Lock()
			p.behind = true
			p.mu.Unlock()
			return err
		}
	}
}

// await tells whether to wait a moment for a record that is missing: what another node has appended may be on its way.
func (c *carrier) await(p *part) bool {
	if p.hole.IsZero() {
		p.hole = time.Now()
		time.AfterFunc(holeWait, c.poke)
	}
	return time.Since(p.hole) < holeWait
}

// keep keeps records that could not be handed on for a moment; otherwise they are read again.
func (c *carrier) keep(p *part, records []record, err error) {
	if soon(err) {
		p.putBack(records)
		return
	}
	p.mu.Lock()
	p.drop()
	p.behind = true
	p.mu.Unlock()
}

// soon tells whether what fails by an error is to be expected to go well in a moment.
func soon(err error) bool {
	return errors.Is(err, errMoving) || errors.Is(err, errNobody) || errors.Is(err, errFull)
}

// hand gives one record's entries to the lanes, with their audiences.
func (c *carrier) hand(ctx context.Context, p *part, seq uint64, entries []timeline.Committed) error {
	if len(p.inflight) >= mostInflight {
		if err := c.settle(ctx, p, checkpointEvery); err != nil {
			return err
		}
		if len(p.inflight) >= mostInflight {
			return errFull
		}
	}
	b := &batch{record: seq, items: make([]item, 0, len(entries))}
	var doubtful error
	for i := range entries {
		items, err := c.address(ctx, b.items, &entries[i])
		if err != nil {
			err = c.setAside(ctx, p, entries[i].Key, entries[i].Seq, err)
		}
		if errors.Is(err, errDoubtful) {
			doubtful = err
			continue
		}
		if err != nil {
			return err
		}
		b.items = items
	}
	if doubtful != nil {
		return doubtful
	}
	if err := c.worker.give(ctx, b); err != nil {
		return err
	}
	p.seen, p.doubts.at = seq, nil
	p.inflight = append(p.inflight, b)
	c.worker.carried.Add(uint64(len(entries)))
	if len(p.inflight) >= checkpointEvery {
		return c.settle(ctx, p, checkpointEvery)
	}
	return nil
}

// address adds to items what an entry says to whom.
func (c *carrier) address(ctx context.Context, items []item, e *timeline.Committed) ([]item, error) {
	var stored message.Entry
	if err := stored.Decode(e.Payload); err != nil { // who has it in their stream could not sync
		return items, errors.Join(timeline.ErrDamaged, err)
	}
	conversation := id.Conversation(e.Key.ID)
	control := controlOf(&stored)
	if control != nil {
		if err := c.worker.deps.Chat.Applied(ctx, conversation, e.Seq); err != nil {
			return items, err
		}
	}
	if control.GetAction() == chatv1.Control_ACTION_ACCESS {
		return items, nil // for nodes alone: it says nothing to members, and is not to tell that there was a block
	}
	members, large, err := c.worker.deps.Chat.Audience(ctx, conversation, e.Seq)
	if err != nil {
		return items, err
	}
	it := item{kind: message.DeliverEntry, conversation: conversation, seq: e.Seq, counted: e.Counted, body: e.Payload, members: members, large: large}
	return follow(append(items, it), it, control), nil
}

// controlOf gives what a control entry says, nil for any other.
func controlOf(e *message.Entry) *chatv1.Control {
	if !e.Control {
		return nil
	}
	var content chatv1.Content
	if proto.Unmarshal(e.Content, &content) != nil || content.GetControl() == nil {
		return &chatv1.Control{} // of no action that we know
	}
	return content.GetControl()
}

// follow adds what a control entry of a large conversation changes for the nodes: who follows it. To those who come or go, the
// entry is told in their streams too: else a device that is away would not learn of it, and of a new group not even one that is
// there.
func follow(items []item, of item, control *chatv1.Control) []item {
	users := make([]id.User, len(control.GetUsers()))
	for i, u := range control.GetUsers() {
		users[i] = id.User(u)
	}
	own := of
	own.large, own.members = false, users
	switch control.GetAction() {
	case chatv1.Control_ACTION_JOINED:
		if of.large {
			return append(items, own, item{kind: message.DeliverFollow, conversation: of.conversation, seq: of.seq, members: users})
		}
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
		if of.large {
			items = append(items, own)
		}
		return append(items, item{kind: message.DeliverUnfollow, conversation: of.conversation, seq: of.seq, members: users})
	case chatv1.Control_ACTION_LARGE:
		return append(items, item{kind: message.DeliverFollow, conversation: of.conversation, seq: of.seq, members: of.members})
	case chatv1.Control_ACTION_SMALL:
		return append(items, item{kind: message.DeliverUnfollow, conversation: of.conversation, seq: of.seq, members: of.members})
	}
	return items
}

// settle forgets batches that are done, in order, and saves the checkpoint when it moved by at least step.
func (c *carrier) settle(ctx context.Context, p *part, step uint64) error {
	n := 0
	for n < len(p.inflight) && p.inflight[n].left.Load() == 0 {
		p.settled.Store(p.inflight[n].record)
		n++
	}
	p.inflight = p.inflight[:copy(p.inflight, p.inflight[n:])]
	at := p.settled.Load()
	if at < p.saved+step {
		return nil
	}
	failpoint.Hit("fanout/before-checkpoint")
	if err := c.worker.deps.Log.PutCheckpoint(ctx, p.partition, at); err != nil {
		return err
	}
	failpoint.Hit("fanout/after-checkpoint")
	p.saved, p.savedAt = at, time.Now()
	return nil
}
