package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

// If several nodes share an outbox, one of them dispatches at a time, so that each user's events stay in order. The cluster assigns the work
// by grants (Assigned, Revoked). A grant may end in the middle of a step, so a row of the database names the lease holder, whose step may be
// in progress. The next holder waits until the row is released or its holder is dead.
//
// A node that was declared dead but only paused may continue a step, and dispatch events that others have dispatched since. So the row
// has the term of the holder's grant, which only rises, and the number of the step. That rises when the lease is acquired again under the
// same grant, and at the end of each step, in the transaction that deletes the dispatched events. Each event carries a fencing token with
// both (Event.Fence), and stores check that it is current (IsCurrent).

const (
	acquireInterval    = 50 * time.Millisecond // how often a waiting node checks whether the lease is free
	leasedPollInterval = 500 * time.Millisecond
	notifyDelay        = 10 * time.Millisecond // how long wake-ups are gathered before peers are notified
	releaseTimeout     = 5 * time.Second       // how long a step may continue when the node stops
)

// OutboxLease is one node's participation in a shared outbox.
type OutboxLease struct {
	node        string
	alive       func(node string) bool
	notifyPeers func()
	token       string // identifies this process

	// Used by RunLeased's goroutine only:
	mustRelease bool      // the row may name this process
	row         lease.Row // of the current step

	grant   atomic.Pointer[cluster.Grant] // nil: none
	changed chan struct{}
	woken   chan struct{}
}

// leases is the table with the outbox's lease. A mark is the number of a step.
const leases = lease.Table("outbox_leases")

var leaseKey = lease.Key{Kind: "outbox"}

// NewOutboxLease returns the lease of a node. alive reports whether a node is alive. notifyPeers notifies the other nodes of new events
// (Wake). Notices may be lost. It may be nil. Neither may block.
func NewOutboxLease(node string, alive func(node string) bool, notifyPeers func()) *OutboxLease {
	if notifyPeers == nil {
		notifyPeers = func() {}
	}
	return &OutboxLease{node: node, alive: alive, notifyPeers: notifyPeers, token: rand.Text(), changed: make(chan struct{}, 1), woken: make(chan struct{}, 1)}
}

// Assigned makes this node dispatch the outbox until the grant ends. The grant is of cluster.Work with one part.
func (t *OutboxLease) Assigned(g cluster.Grant) {
	t.grant.Store(&g)
	wakeup.Signal(t.changed)
}

// Revoked is called after the grant has ended. A step in progress is completed.
func (t *OutboxLease) Revoked(int) {
	t.grant.Store(nil)
	wakeup.Signal(t.changed)
}

// isAssigned reports whether this node is to dispatch.
func (t *OutboxLease) isAssigned() bool {
	g := t.grant.Load()
	return g != nil && g.Held()
}

// Wake is called when another node has added events.
func (t *OutboxLease) Wake() { wakeup.Signal(t.woken) }

// RunLeased is Run for one of several nodes.
func (o *Outbox) RunLeased(ctx context.Context, t *OutboxLease, dispatch func(context.Context, []Event) error) error {
	retry := backoff.New(retryFirst, retryMax)
	for ctx.Err() == nil {
		if t.isAssigned() {
			o.dispatchWhileAssigned(ctx, t, dispatch)
			retry.Reset()
			continue
		}
		if t.mustRelease { // nobody dispatches before the lease is released: peers wait for this node as long as it is alive
			_ = backoff.SleepOrWake(ctx, retry.Next(), t.changed)
			if !t.isAssigned() {
				o.release(ctx, t)
			}
			continue
		}
		select {
		case <-o.wake:
			t.notifyPeers()
			_ = backoff.SleepOrWake(ctx, notifyDelay, t.changed)
		case <-t.woken: // the assigned node handles these events
		case <-t.changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// dispatchWhileAssigned dispatches while this node is assigned.
func (o *Outbox) dispatchWhileAssigned(ctx context.Context, t *OutboxLease, dispatch func(context.Context, []Event) error) {
	// The end of ctx does not cancel a step at once: events of a half-finished step would be repeated behind later ones.
	stepCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(releaseTimeout, cancel) })()
	retry, acquired := backoff.New(retryFirst, retryMax), false
	for t.isAssigned() && ctx.Err() == nil {
		n, err := 0, error(nil)
		if !acquired {
			t.mustRelease = true // even if the answer of the database is lost
			acquired, err = o.acquire(stepCtx, t)
		}
		if acquired && err == nil {
			n, err = o.fencedStep(stepCtx, t, dispatch)
		}
		switch {
		case errors.Is(err, errLeaseLost):
			acquired = false
		case err != nil && stepCtx.Err() != nil: // cancelled in the middle: the row keeps this node's name until it is dead
			return
		case err != nil:
			acquired = false // start a new term: the events may still arrive, or the end of the step may be stored
			o.logger.Warn("dispatching outbox events failed; it is tried again", "error", err)
			_ = retry.Wait(ctx)
		case !acquired:
			_ = backoff.SleepOrWake(ctx, acquireInterval, t.changed)
		case n == 0:
			retry.Reset()
			o.waitForEvents(ctx, t)
		}
	}
	if t.mustRelease {
		o.release(ctx, t)
	}
}

// release releases the lease, also when ctx has ended.
func (o *Outbox) release(ctx context.Context, t *OutboxLease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := o.clearLease(ctx, t); err != nil {
		o.logger.Warn("the outbox lease cannot be released; other nodes wait until it is, or this node is dead", "error", err)
		return
	}
	t.mustRelease = false
}

// waitForEvents waits until there may be events.
func (o *Outbox) waitForEvents(ctx context.Context, t *OutboxLease) {
	timer := time.NewTimer(leasedPollInterval)
	defer timer.Stop()
	select {
	case <-o.wake:
	case <-t.woken:
	case <-t.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

var errLeaseLost = errors.New("another node holds the outbox lease")

// fencedStep is a step of the lease holder.
func (o *Outbox) fencedStep(ctx context.Context, t *OutboxLease, dispatch func(context.Context, []Event) error) (int, error) {
	fence := fenceOf(t.row)
	n, err := o.step(ctx, func(ctx context.Context, events []Event) error {
		if current, err := o.IsCurrent(ctx, fence); err != nil || !current {
			return cmp.Or(err, errLeaseLost)
		}
		for i := range events {
			events[i].Fence = fence
		}
		return dispatch(ctx, events)
	}, func(ctx context.Context, tx *sql.Tx) error {
		ended, err := leases.Swap(ctx, tx, leaseKey, t.row, nextStep(t.row))
		if err == nil && !ended {
			err = errLeaseLost
		}
		return err
	})
	if err == nil && n > 0 {
		t.row = nextStep(t.row)
	}
	return n, err
}

func nextStep(r lease.Row) lease.Row {
	r.Mark++
	return r
}

func fenceOf(r lease.Row) string { return fmt.Sprintf("%s.%d.%d", r.Token, r.Term, r.Mark) }

// IsCurrent reports whether the step of an Event's Fence may still be in progress, so that no later events have been dispatched. A store
// checks it after the point from which no other node can have stored in its place: then it never stores older events behind newer ones.
func (o *Outbox) IsCurrent(ctx context.Context, fence string) (bool, error) {
	row, err := leases.Get(ctx, o.db.Read(), leaseKey)
	return err == nil && row.Token != "" && fenceOf(row) == fence, err
}

// acquire writes this process and its grant's term into the row, unless the row names a live node, which may be in a step, or a later
// term. A former process of the same node is gone.
func (o *Outbox) acquire(ctx context.Context, t *OutboxLease) (acquired bool, err error) {
	g := t.grant.Load()
	if g == nil {
		return false, nil
	}
	var next lease.Row
	err = o.db.Write(ctx, func(tx *sql.Tx) error {
		acquired = false
		old, err := leases.Get(ctx, tx, leaseKey)
		if err != nil || old.Holder != "" && old.Holder != t.node && t.alive(old.Holder) {
			return err
		}
		next = lease.Row{Holder: t.node, Token: t.token, Term: g.Term}
		if old.Term == g.Term && old.Token == t.token {
			next.Mark = old.Mark + 1
		} else if old.Term >= g.Term {
			g.Superseded(old.Term)
			return nil
		}
		acquired, err = leases.Swap(ctx, tx, leaseKey, old, next)
		return err
	})
	if err != nil || !acquired {
		return false, err
	}
	t.row = next
	return true, nil
}

// clearLease clears the row if it names this process. It may be repeated.
func (o *Outbox) clearLease(ctx context.Context, t *OutboxLease) error {
	return o.db.Write(ctx, func(tx *sql.Tx) error {
		old, err := leases.Get(ctx, tx, leaseKey)
		if err != nil || old.Token != t.token {
			return err
		}
		_, err = leases.Swap(ctx, tx, leaseKey, old, lease.Row{Term: old.Term, Mark: old.Mark})
		return err
	})
}
