package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A corrupt entry, or an entry of a corrupt conversation, cannot be dispatched however often it is tried, and all other conversations of
// its partition wait behind it. So its position is quarantined, where operators see it, and the partition goes on. Quarantined entries
// are tried again whenever the partition is acquired: after an upgrade or a restored backup they reach their members, late.

var errSuspected = errors.New("an entry looks corrupt; it is read again before it is quarantined")

// quarantine puts the position of an entry into quarantine if err is confirmed corruption. Otherwise, or if that fails, it returns the
// error that blocks the partition.
func (c *dispatcher) quarantine(ctx context.Context, p *partition, key timeline.Key, seq uint64, err error) error {
	w := c.worker
	if w.deps.Quarantine == nil || !errors.Is(err, timeline.ErrCorrupt) {
		return err
	}
	now := time.Now()
	suspect, confirmed := p.corruption.Observe(key, seq, now)
	if suspect.Handled {
		return nil // another entry of its record blocks
	}
	if !confirmed {
		return fmt.Errorf("%w: conversation %d, entry %d: %v", errSuspected, key.ID, seq, err) // not known to be corruption
	}
	if failure := w.deps.Quarantine.Put(ctx, key, seq, err.Error()); failure != nil {
		return failure
	}
	suspect.Handled = true
	p.corruption.Confirm(key, now)
	w.quarantined.Add(1)
	w.deps.Logger.Error("a corrupt entry is quarantined; its members do not get it: run rialto verify", "conversation", key.ID, "seq", seq, "error", err)
	return nil
}

// readSingly returns the entries of a record that can be read, and quarantines the others.
func (c *dispatcher) readSingly(ctx context.Context, p *partition, r timeline.FanoutRecord) ([]timeline.CommittedEntry, error) {
	committed := []timeline.CommittedEntry{}
	var suspected error
	for _, ref := range r.Refs {
		for seq := ref.From; seq <= ref.To; seq++ {
			one, err := c.worker.deps.Log.Get(ctx, []timeline.Ref{{Key: ref.Key, From: seq, To: seq}})
			if err != nil {
				err = c.quarantine(ctx, p, ref.Key, seq, err)
			}
			if errors.Is(err, errSuspected) {
				suspected = err // confirm all suspects of the record together
				continue
			}
			if err != nil {
				return nil, err
			}
			committed = appendCommitted(committed, ref, one)
		}
	}
	return committed, suspected
}

// quarantineRetries is the progress of retrying a partition's quarantined entries since it was acquired.
type quarantineRetries struct {
	done       bool              // all were tried
	after      timeline.Ref      // the last position that was tried
	since      time.Time         // when a retry failed; the next one is retryMax later
	dispatched []dispatchedRetry // and not known to be stored
}

type dispatchedRetry struct {
	ref   timeline.Ref
	puts  int64 // as it was listed: a failed post puts it again
	batch *batch
}

// quarantinePage bounds the entries that are tried in one time slice, and those in flight.
const quarantinePage = 16

// retryQuarantined dispatches some of a partition's quarantined entries that can be read by now. It does not wait for other nodes, and
// stops when the time slice is over or a store fails: new entries do not wait for old ones.
func (c *dispatcher) retryQuarantined(ctx context.Context, p *partition) {
	w, a := c.worker, &p.retries
	if w.deps.Quarantine == nil || a.done && len(a.dispatched) == 0 || time.Since(a.since) < retryMax {
		return
	}
	within, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	if err := c.retryQuarantinedPage(within, p, time.Now()); err != nil && ctx.Err() == nil {
		a.since = time.Now()
		w.deps.Logger.Warn("retrying quarantined entries failed", "partition", p.number, "error", err)
	}
}

func (c *dispatcher) retryQuarantinedPage(ctx context.Context, p *partition, began time.Time) error {
	w, a := c.worker, &p.retries
	for len(a.dispatched) > 0 && a.dispatched[0].batch.pending.Load() == 0 {
		if err := w.deps.Quarantine.Remove(ctx, a.dispatched[0].ref.Key, a.dispatched[0].ref.From, a.dispatched[0].puts); err != nil {
			return err
		}
		a.dispatched = a.dispatched[1:]
	}
	if a.done || len(a.dispatched) > 0 {
		return nil
	}
	refs, puts, err := w.deps.Quarantine.List(ctx, p.number, a.after, quarantinePage)
	if err != nil {
		return err
	}
	for i, r := range refs {
		if time.Since(began) > timeSlice {
			return nil
		}
		b, err := c.dispatchQuarantined(ctx, r)
		switch {
		case errors.Is(err, timeline.ErrCorrupt):
			w.deps.Logger.Error("a quarantined entry is still corrupt: run rialto verify", "conversation", r.Key.ID, "seq", r.From, "error", err)
		case err != nil:
			return err
		default:
			a.dispatched = append(a.dispatched, dispatchedRetry{r, puts[i], b})
		}
		a.after = r
	}
	if a.done = len(refs) < quarantinePage; !a.done {
		c.signal()
	}
	return nil
}

// dispatchQuarantined queues an entry, without changes of followers: later entries may have changed them since, and
// nodes compare them with the database.
func (c *dispatcher) dispatchQuarantined(ctx context.Context, r timeline.Ref) (*batch, error) {
	found, err := c.worker.deps.Log.Get(ctx, []timeline.Ref{r})
	if err != nil {
		return nil, err
	}
	b := &batch{}
	entries := appendCommitted(nil, r, found) // none if it has expired
	updates, err := c.applyUpdates(ctx, entries)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if b.items, err = c.appendItems(ctx, b.items, &entries[i], updates.of(&entries[i])); err != nil {
			return nil, err
		}
	}
	b.items = slices.DeleteFunc(b.items, func(it item) bool {
		return it.kind == message.DeliverFollow || it.kind == message.DeliverUnfollow
	})
	return b, c.worker.enqueue(ctx, b)
}
