package fanout

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/bus"
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

	mu      sync.Mutex // guards the handed-over records
	records []record   // in order, above seen
	entries int        // in records
	bytes   int        // of their payloads
	behind  bool       // the log has records that were not kept in memory
	reading bool       // they are being read: more may be found
	newest  uint64     // newest record known of

	// Of the carrier's goroutine alone:
	seen     uint64 // last record given to the lanes
	inflight []*batch
	saved    uint64        // last checkpoint written
	wait     time.Duration // after the last failure; 0: it went well
	again    time.Time     // when to try again
	settled  atomic.Uint64
}

type record struct {
	seq     uint64
	entries []timeline.Committed
}

func newCarrier(w *Worker, number uint16) *carrier {
	c := &carrier{worker: w, wake: make(chan struct{}, 1)}
	for p := number; p < timeline.Partitions; p += carriers {
		c.parts = append(c.parts, &part{partition: p, behind: true})
	}
	return c
}

// start sets where each partition was at the last stop.
func (c *carrier) start(ctx context.Context) error {
	for _, p := range c.parts {
		at, err := c.worker.deps.Log.Checkpoint(ctx, p.partition)
		if err != nil {
			return err
		}
		p.seen, p.saved = at, at
		p.settled.Store(at)
	}
	return nil
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
		bytes := 0
		for i := range commit.Entries {
			bytes += len(commit.Entries[i].Payload)
		}
		p.mu.Lock()
		p.newest = max(p.newest, commit.Record)
		if p.behind || p.entries+len(commit.Entries) > handedOver || p.bytes+bytes > handedOverBytes {
			p.behind = true
		} else {
			p.records = append(p.records, record{commit.Record, commit.Entries})
			p.entries += len(commit.Entries)
			p.bytes += bytes
		}
		p.mu.Unlock()
	}
}

func (c *carrier) idle() bool {
	for _, p := range c.parts {
		p.mu.Lock()
		open := p.behind || p.reading || len(p.records) > 0 || p.settled.Load() < p.newest
		p.mu.Unlock()
		if open {
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
		c.save(ctx)
		if ctx.Err() != nil {
			return
		}
	}
}

// save saves each partition's place: also at the end, so that the next start carries nothing again.
func (c *carrier) save(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	for _, p := range c.parts {
		if err := c.settle(ctx, p, 1); err != nil {
			c.worker.deps.Logger.Warn("fan-out cannot save its place", "partition", p.partition, "error", err)
		}
	}
}

// try carries a partition, unless it failed just now: the others do not wait for it.
func (c *carrier) try(ctx context.Context, p *part) {
	if p.wait > 0 && time.Now().Before(p.again) {
		return
	}
	err := c.carry(ctx, p)
	if err == nil || ctx.Err() != nil {
		p.wait = 0
		return
	}
	p.wait = min(max(2*p.wait, retryFirst), retryMost)
	p.again = time.Now().Add(p.wait)
	c.worker.deps.Logger.Warn("fan-out waits for the store", "partition", p.partition, "error", err)
}

// carry gives all records above seen to the lanes.
func (c *carrier) carry(ctx context.Context, p *part) error {
	for {
		p.mu.Lock()
		records := p.records
		p.records, p.entries, p.bytes = nil, 0, 0
		behind := p.behind
		p.mu.Unlock()

		for _, r := range records {
			if r.seq <= p.seen {
				continue // was read from the log before it was handed over
			}
			if r.seq != p.seen+1 {
				behind = true // a hole: the log has what is missing
				break
			}
			if err := c.hand(ctx, p, r.seq, r.entries); err != nil {
				p.mu.Lock()
				p.records, p.entries, p.bytes, p.behind = nil, 0, 0, true
				p.mu.Unlock()
				return err
			}
		}
		if !behind {
			if len(records) == 0 {
				return c.settle(ctx, p, checkpointEvery)
			}
			continue
		}
		if err := c.catchUp(ctx, p); err != nil {
			p.mu.Lock()
			p.behind = true
			p.mu.Unlock()
			return err
		}
	}
}

// catchUp reads from the log what was not handed over, until there is no more.
func (c *carrier) catchUp(ctx context.Context, p *part) error {
	defer func() {
		p.mu.Lock()
		p.reading = false
		p.mu.Unlock()
	}()
	for {
		// What is committed from here on is handed over again; the log is read until it has nothing above.
		p.mu.Lock()
		p.behind, p.reading = false, true
		p.newest = max(p.newest, p.seen)
		p.mu.Unlock()
		records, err := c.worker.deps.Log.Records(ctx, p.partition, p.seen, 64)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			entries, err := c.read(ctx, r)
			if err != nil {
				return err
			}
			if err := c.hand(ctx, p, r.Seq, entries); err != nil {
				return err
			}
		}
	}
}

// read gives a record's entries. Those that are no more are left out.
func (c *carrier) read(ctx context.Context, r timeline.Record) ([]timeline.Committed, error) {
	all := uint64(0)
	for _, ref := range r.Refs {
		all += ref.To - ref.From + 1
	}
	entries, err := c.worker.deps.Log.Get(ctx, r.Refs)
	if err != nil {
		return nil, err
	}
	committed := make([]timeline.Committed, 0, len(entries))
	whole := uint64(len(entries)) == all
	for _, ref := range r.Refs {
		of := entries
		if whole {
			n := ref.To - ref.From + 1
			of, entries = entries[:n], entries[n:]
		} else if of, err = c.worker.deps.Log.Get(ctx, []timeline.Ref{ref}); err != nil {
			return nil, err // by itself: entries do not say whose they are, and the next one's may have the seq of one that is missing
		}
		for i := range of {
			committed = append(committed, timeline.Committed{Key: ref.Key, Seq: of[i].Seq, Counted: of[i].Counted, Payload: of[i].Payload})
		}
	}
	return committed, nil
}

// hand gives one record's entries to the lanes, with their audiences.
func (c *carrier) hand(ctx context.Context, p *part, seq uint64, entries []timeline.Committed) error {
	b := &batch{record: seq, items: make([]item, 0, len(entries))}
	for i := range entries {
		e := &entries[i]
		conversation := id.Conversation(e.Key.ID)
		control := controlOf(e.Payload)
		if control != nil {
			if err := c.worker.deps.Chat.Applied(ctx, conversation, e.Seq); err != nil {
				return err
			}
		}
		if control.GetAction() == chatv1.Control_ACTION_ACCESS {
			continue // for nodes alone: it says nothing to members, and is not to tell that there was a block
		}
		members, large, err := c.worker.deps.Chat.Audience(ctx, conversation, e.Seq)
		if err != nil {
			return err
		}
		it := item{kind: message.DeliverEntry, conversation: conversation, seq: e.Seq, counted: e.Counted, body: e.Payload, members: members, large: large}
		b.items = append(b.items, it)
		b.items = follow(b.items, it, control)
	}
	b.left.Store(bus.Lanes)
	for _, l := range c.worker.lanes {
		if err := l.put(ctx, b); err != nil {
			return err
		}
	}
	p.seen = seq
	p.inflight = append(p.inflight, b)
	c.worker.carried.Add(uint64(len(entries)))
	if len(p.inflight) >= checkpointEvery {
		return c.settle(ctx, p, checkpointEvery)
	}
	return nil
}

// controlOf gives what a control entry says, nil for any other.
func controlOf(stored []byte) *chatv1.Control {
	var e message.Entry
	if !message.IsControl(stored) || e.Decode(stored) != nil {
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

// settle forgets batches that both lanes have finished, in order, and saves the checkpoint when it moved by at least step.
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
	p.saved = at
	return nil
}
