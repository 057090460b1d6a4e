package fanout

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// dispatcher works on its own partitions, one after the other.
type dispatcher struct {
	worker     *Worker
	wake       chan struct{}
	partitions []*partition
	applying   sync.WaitGroup // its applications
}

func newDispatcher(w *Worker, number uint16) *dispatcher {
	c := &dispatcher{worker: w, wake: make(chan struct{}, 1)}
	for p := number; p < timeline.Partitions; p += dispatcherCount {
		c.partitions = append(c.partitions, &partition{number: p, shared: &w.shared, retry: backoff.New(retryFirst, retryMax)})
	}
	return c
}

func (c *dispatcher) signal() {
	wakeup.Signal(c.wake)
}

// offer buffers the entries of a record if there is room. Otherwise the dispatcher reads them from the log.
func (c *dispatcher) offer(commit *timeline.Commit) {
	for _, p := range c.partitions {
		if p.number != commit.Partition {
			continue
		}
		p.mu.Lock()
		if !p.active { // acquire reads the log
			p.mu.Unlock()
			continue
		}
		p.newestSeq = max(p.newestSeq, commit.RecordSeq)
		p.mustRead = p.mustRead || len(commit.Entries) == 0 || !p.bufferRecord(record{commit.RecordSeq, commit.Entries})
		p.mu.Unlock()
	}
}

func (c *dispatcher) idle() bool {
	for _, p := range c.partitions {
		p.mu.Lock()
		busy := p.grant.Held() && (!p.active || p.mustRead || p.reading || len(p.records) > 0 || p.completedSeq.Load() < p.newestSeq)
		p.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

func (c *dispatcher) run(ctx context.Context) {
	tick := time.NewTicker(checkpointInterval)
	defer tick.Stop()
	for {
		for _, p := range c.partitions {
			c.try(ctx, p)
		}
		select {
		case <-ctx.Done():
		case <-c.wake:
			continue
		case <-tick.C:
		}
		if ctx.Err() != nil {
			c.checkpointAll(ctx)
			c.applying.Wait()
			return
		}
		for _, p := range c.partitions {
			c.checkpoint(ctx, p, c.checkpointStep(p))
		}
	}
}

// checkpointAll writes the checkpoints of all partitions after ctx has ended, so that the next start repeats nothing. It writes them in
// parallel, within checkpointTimeout: a store that hangs must not keep the node from stopping.
func (c *dispatcher) checkpointAll(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	var group sync.WaitGroup
	for _, p := range c.partitions {
		group.Go(func() { c.checkpoint(ctx, p, 1) })
	}
	group.Wait()
}

// checkpointStep returns by how many records the checkpoint must advance to be written now.
func (c *dispatcher) checkpointStep(p *partition) uint64 {
	if c.worker.deps.Owner != nil && time.Since(p.savedAt) < clusterCheckpointInterval {
		return checkpointRecords
	}
	return 1
}

// checkpoint writes the partition's checkpoint if it advanced by step. From time to time it also has the log read, because announcements
// of other nodes may be lost.
func (c *dispatcher) checkpoint(ctx context.Context, p *partition, step uint64) {
	if !p.isActive() || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, checkpointTimeout)
	defer cancel()
	if err := c.advance(within, p, step); err != nil && ctx.Err() == nil {
		c.report(p, "fan-out cannot write its checkpoint", err)
	}
	if c.worker.deps.Owner != nil && time.Since(p.lastRead) > readInterval {
		p.mu.Lock()
		p.mustRead = p.active
		p.mu.Unlock()
	}
}

// report deactivates a partition that another node has acquired. Other errors are logged.
func (c *dispatcher) report(p *partition, what string, err error) {
	if errors.Is(err, timeline.ErrFenced) {
		p.deactivate()
		return
	}
	level := slog.LevelWarn
	if errors.Is(err, timeline.ErrCorrupt) {
		level = slog.LevelError
	}
	c.worker.deps.Logger.Log(context.Background(), level, what, "partition", p.number, "error", err)
}

// try dispatches a partition, unless it failed a moment ago: other partitions do not wait for it.
func (c *dispatcher) try(ctx context.Context, p *partition) {
	p.mu.Lock()
	term := p.grant.Term
	p.mu.Unlock()
	if p.failed && p.failedTerm == term && time.Now().Before(p.retryAt) {
		return
	}
	open, err := c.acquire(ctx, p)
	if open {
		if err = c.dispatch(ctx, p); err == nil {
			c.retryQuarantined(ctx, p)
		}
	}
	p.stopped.Store(errors.Is(err, timeline.ErrCorrupt))
	if err == nil || ctx.Err() != nil {
		if open {
			p.failed = false
			p.retry.Reset()
		}
		return
	}
	if p.failedTerm != term {
		p.retry.Reset()
	}
	p.failed, p.failedTerm = true, term
	if errors.Is(err, timeline.ErrRecordIncomplete) || errors.Is(err, errQueueFull) {
		p.retryAt = time.Now().Add(shortWait)
		time.AfterFunc(shortWait, c.signal)
		return
	}
	p.retryAt = time.Now().Add(p.retry.Next())
	c.report(p, "fan-out of a partition failed; it is tried again", err)
}

// dispatch queues the entries of all records above dispatchedSeq, or of as many as its time slice allows.
func (c *dispatcher) dispatch(ctx context.Context, p *partition) error {
	if p.isApplying() {
		return c.advance(ctx, p, checkpointRecords)
	}
	for began := time.Now(); ; {
		if time.Since(began) > timeSlice { // the other partitions wait
			c.signal()
			return c.advance(ctx, p, checkpointRecords)
		}
		p.mu.Lock()
		records := p.records
		p.dropRecords()
		behind := p.mustRead
		p.mu.Unlock()

		slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.seq, b.seq) }) // records of one node are in order; those of several may not be
		for i, r := range records {
			if r.seq <= p.dispatchedSeq {
				continue // was read from the log before it was announced
			}
			if r.seq != p.dispatchedSeq+1 {
				if !behind && c.awaitMissing(p) {
					p.putBack(records[i:])
					return c.advance(ctx, p, checkpointRecords)
				}
				behind = true // the missing records are in the log
				break
			}
			p.gapSince = time.Time{}
			p.lastRead = time.Now()
			if err := c.dispatchRecord(ctx, p, r.seq, r.entries); errors.Is(err, errApplying) {
				p.putBack(records[i:])
				return c.advance(ctx, p, checkpointRecords)
			} else if err != nil {
				c.retain(p, records[i:], err)
				return err
			}
		}
		if !behind {
			if len(records) == 0 {
				return c.advance(ctx, p, checkpointRecords)
			}
			continue
		}
		if err := c.catchUp(ctx, p, began); err != nil {
			p.mu.Lock()
			p.mustRead = true
			p.mu.Unlock()
			return err
		}
	}
}

// awaitMissing reports whether to wait a little longer for a missing record: another node's announcement may be on its way.
func (c *dispatcher) awaitMissing(p *partition) bool {
	if p.gapSince.IsZero() {
		p.gapSince = time.Now()
		time.AfterFunc(gapWait, c.signal)
	}
	return time.Since(p.gapSince) < gapWait
}

// retain buffers records again if they found a queue full. Otherwise they are read from the log later.
func (c *dispatcher) retain(p *partition, records []record, err error) {
	if errors.Is(err, errQueueFull) {
		p.putBack(records)
		return
	}
	p.mu.Lock()
	p.dropRecords()
	p.mustRead = true
	p.mu.Unlock()
}

// dispatchRecord queues the entries of one record for their audiences.
func (c *dispatcher) dispatchRecord(ctx context.Context, p *partition, seq uint64, entries []timeline.CommittedEntry) error {
	if len(p.inflight) >= maxInflight {
		if err := c.advance(ctx, p, checkpointRecords); err != nil {
			return err
		}
		if len(p.inflight) >= maxInflight {
			return errQueueFull
		}
	}
	began := c.worker.deps.Tracer.Now()
	if p.application != nil {
		began = p.application.began
	}
	updates, err := c.updatesOf(ctx, p, seq, entries)
	if err != nil {
		return err
	}
	b := &batch{record: seq, items: make([]item, 0, len(entries))}
	var suspected error
	for i := range entries {
		items, err := c.appendItems(ctx, b.items, &entries[i], updates.of(&entries[i]))
		if err != nil {
			err = c.quarantine(ctx, p, entries[i].Key, entries[i].Seq, err)
		}
		if errors.Is(err, errSuspected) {
			suspected = err
			continue
		}
		if err != nil {
			return err
		}
		b.items = items
	}
	if suspected != nil {
		return suspected
	}
	if err := c.worker.enqueue(ctx, b); err != nil {
		return err
	}
	c.worker.traceDispatch(began, entries)
	p.dispatchedSeq = seq
	p.corruption.ForgetSuspects()
	p.inflight = append(p.inflight, b)
	c.worker.dispatched.Add(uint64(len(entries)))
	if len(p.inflight) >= checkpointRecords {
		return c.advance(ctx, p, checkpointRecords)
	}
	return nil
}

// appendItems appends the deliveries that an entry causes. An update was applied before.
func (c *dispatcher) appendItems(ctx context.Context, items []item, e *timeline.CommittedEntry, update *appliedUpdate) ([]item, error) {
	var stored message.Entry
	if err := stored.Decode(e.Payload); err != nil { // clients that have it in their stream could not sync
		return items, errors.Join(timeline.ErrCorrupt, err)
	}
	conversation := id.Conversation(e.Key.ID)
	control := controlOf(&stored)
	if control != nil {
		if err := c.worker.deps.Chat.AwaitApplied(ctx, conversation, e.Seq); err != nil {
			return items, err
		}
	}
	if control.GetAction() == chatv1.Control_ACTION_ACCESS {
		return items, nil // it serves nodes only, and must not tell members that somebody was blocked
	}
	body := e.Payload
	if update != nil {
		if update.err != nil {
			return items, update.err
		}
		if stored.Updates != 0 { // the mentions of a message do not change it
			body = update.stored.Entry.Append(nil)
		}
	}
	if !stored.Limited && !stored.Sender.IsCanary() && !id.User(control.GetActor()).IsCanary() { // business servers get nothing of delivery canaries
		items = c.appendEventItem(items, e)
	}
	members, large, err := c.worker.deps.Chat.Audience(ctx, conversation, e.Seq)
	if err != nil {
		return items, err
	}
	if stored.Limited {
		members, large = onlySender(members, stored.Sender), false
	}
	it := item{kind: message.DeliverEntry, conversation: conversation, seq: e.Seq, counted: e.Counted, body: body, members: members, large: large}
	if update != nil && stored.Updates != 0 && !large {
		return c.appendUpdate(ctx, items, it, &update.stored)
	}
	return appendMembershipItems(append(items, it), it, control), nil
}

// onlySender returns the sender of an entry that nobody else sees, if it is among its members.
func onlySender(members []id.User, sender id.User) []id.User {
	if slices.Contains(members, sender) {
		return []id.User{sender}
	}
	return nil
}

// appendEventItem appends an entry to the event stream of its partition. The stream has no connections: the item has no body.
func (c *dispatcher) appendEventItem(items []item, e *timeline.CommittedEntry) []item {
	if !c.worker.deps.EventStreams {
		return items
	}
	return append(items, item{kind: message.DeliverEntry, conversation: id.Conversation(e.Key.ID), seq: e.Seq, counted: e.Counted, members: c.worker.eventStreams[e.Key.Partition()]})
}

// controlOf returns the content of a control entry, nil for any other entry.
func controlOf(e *message.Entry) *chatv1.Control {
	if !e.Control {
		return nil
	}
	var content chatv1.Content
	if proto.Unmarshal(e.Content, &content) != nil || content.GetControl() == nil {
		return &chatv1.Control{} // of an unknown action
	}
	return content.GetControl()
}

// appendMembershipItems appends what a control entry of a large conversation changes for the nodes: who follows it. Users who join or
// leave also get the entry in their own streams. Otherwise a device that is offline would not learn of it, and of a new group not even a
// connected one.
func appendMembershipItems(items []item, of item, control *chatv1.Control) []item {
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

// advance forgets batches that are completed, in order, and writes the checkpoint if it advanced by at least step.
func (c *dispatcher) advance(ctx context.Context, p *partition, step uint64) error {
	n := 0
	for n < len(p.inflight) && p.inflight[n].pending.Load() == 0 {
		p.completedSeq.Store(p.inflight[n].record)
		n++
	}
	p.inflight = p.inflight[:copy(p.inflight, p.inflight[n:])]
	at := p.completedSeq.Load()
	if at < p.savedSeq+step {
		return nil
	}
	failpoint.Hit("fanout/before-checkpoint")
	if err := c.worker.deps.Log.PutCheckpoint(ctx, p.number, at); err != nil {
		return err
	}
	failpoint.Hit("fanout/after-checkpoint")
	p.savedSeq, p.savedAt = at, time.Now()
	return nil
}
