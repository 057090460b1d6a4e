package fanout

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Updates are applied in a transaction of the database, which takes milliseconds. Meanwhile the dispatcher works on its other partitions: otherwise the messages of half of all conversations would
// wait for each edit. The records of the partition wait, since they are dispatched in order. While a partition catches up from the log, its dispatcher waits.

// application is the application of a record's updates.
type application struct {
	record, term uint64 // term: in which the partition was acquired
	began        time.Time
	done         chan struct{} // closed when the results below are set
	updates      updateSet
	err          error
}

// appliedUpdate is an update, or a message with mentions, after it was applied, or why it is corrupt.
type appliedUpdate struct {
	stored message.Stored
	err    error
}

// errApplying means that the record is to be dispatched again when its updates are applied: the dispatcher is woken then.
var errApplying = errors.New("the updates of the record are being applied")

// isApplying reports whether updates of the partition's next record are being applied.
func (p *partition) isApplying() bool {
	a := p.application
	if a == nil {
		return false
	}
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// awaitApplication returns when no updates of the partition are being applied.
func (p *partition) awaitApplication() {
	if p.application != nil {
		<-p.application.done // it ends with the dispatcher's ctx
	}
}

// entryRef names an entry of a conversation.
type entryRef struct {
	conversation id.Conversation
	seq          uint64
}

// updateSet has the updates among some entries. It names them, and not their indexes: a record that is read again may have fewer entries.
type updateSet map[entryRef]*appliedUpdate

// of returns the update that an entry is, nil for any other entry.
func (s updateSet) of(e *timeline.CommittedEntry) *appliedUpdate {
	return s[entryRef{id.Conversation(e.Key.ID), e.Seq}]
}

// covers reports whether each update of other is in s.
func (s updateSet) covers(other updateSet) bool {
	for ref := range other {
		if s[ref] == nil {
			return false
		}
	}
	return true
}

// updatesOf returns the applied updates of a record. If one is not applied yet, it begins to apply them, and returns errApplying.
func (c *dispatcher) updatesOf(ctx context.Context, p *partition, record uint64, entries []timeline.CommittedEntry) (updateSet, error) {
	if p.isApplying() {
		return nil, errApplying
	}
	a := p.application
	p.application = nil
	updates, list := updatesAmong(entries)
	if a != nil && a.record == record && a.term == p.acquiredTerm && (a.err != nil || a.updates.covers(updates)) {
		return a.updates, a.err
	}
	if len(list) == 0 {
		return nil, nil
	}
	a = &application{record: record, term: p.acquiredTerm, began: c.worker.deps.Tracer.Now(), done: make(chan struct{})}
	p.application = a
	c.applying.Go(func() { // ends with ctx
		a.updates, a.err = updates, c.applyTogether(ctx, updates, list)
		close(a.done)
		c.signal()
	})
	return nil, errApplying
}

// applyUpdates applies the updates, and the mentions of messages, among some entries, and returns them.
func (c *dispatcher) applyUpdates(ctx context.Context, entries []timeline.CommittedEntry) (updateSet, error) {
	updates, list := updatesAmong(entries)
	if len(list) == 0 {
		return nil, nil
	}
	return updates, c.applyTogether(ctx, updates, list)
}

// updatesAmong returns the updates, and the messages with mentions, among some entries: also in a list, in the order of these.
func updatesAmong(entries []timeline.CommittedEntry) (updates updateSet, list []*message.Stored) {
	for i := range entries {
		e := &entries[i]
		var stored message.Entry
		if stored.Decode(e.Payload) != nil {
			continue // appendItems reports it
		}
		if !message.IsUpdate(e.Payload) && !message.HasEffect(stored.Content) {
			continue
		}
		u := &appliedUpdate{stored: message.Stored{Conversation: id.Conversation(e.Key.ID), Seq: e.Seq, Counted: e.Counted, Entry: stored}}
		if updates == nil {
			updates = updateSet{}
		}
		updates[entryRef{u.stored.Conversation, u.stored.Seq}] = u
		list = append(list, &u.stored)
	}
	return updates, list
}

// applyTogether applies updates in one transaction: before the members learn of one, everything that they read then must show it.
func (c *dispatcher) applyTogether(ctx context.Context, updates updateSet, list []*message.Stored) error {
	rejected, err := c.worker.deps.Chat.ApplyUpdates(ctx, list)
	for i, u := range list[:len(rejected)] {
		updates[entryRef{u.Conversation, u.Seq}].err = rejected[i]
	}
	return err
}
