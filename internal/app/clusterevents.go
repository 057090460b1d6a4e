package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/transport/edge"
)

// Subjects on the bus that only say that there is something to read. They may be lost, since the database is polled every second too.
const (
	eventsSubject = "events"
	outboxSubject = "outbox"
)

// openEvents subscribes this node to the events of the others.
func (n *Node) openEvents(ctx context.Context) (err error) {
	n.events, err = clusterevent.New(ctx, clusterevent.Deps{DB: n.db, Logger: n.logger, SingleNode: !n.config.Clustered(),
		Handle: func(i clusterevent.Event) {
			n.accounts.HandleEvent(i)
			n.organizations.HandleEvent(i)
			n.feed.HandleEvent(i)
			n.switches.HandleEvent(i)
			n.moderation.HandleEvent(i)
			n.caches.invalidations.HandleEvent(i)
			n.handlePurge(i)
		},
		Missed: func() {
			n.purges.Reset()
			n.missed.signal()
		},
		WakeOthers: func() { _ = n.bus.Publish(eventsSubject, nil) },
	})
	if err != nil {
		return err
	}
	n.purges = edge.NewPurges(n.config.Edge.Secret, n.events.Sync)
	n.edges = edge.NewRegistry(n.purges, n.clock, func() { n.cluster.AnnounceGateway() })
	return nil
}

// runEvents handles the events of other nodes until ctx ends.
func (n *Node) runEvents(ctx context.Context) error {
	cancel, err := n.bus.Subscribe(eventsSubject, func([]byte) { n.events.Wake() }, n.events.Wake)
	if err != nil {
		return err
	}
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { n.missed.run(ctx, n.endRevokedSessions, n.logger) })
	return n.events.Run(ctx)
}

// endRevokedSessions closes the connections of sessions that have ended while this node missed events.
func (n *Node) endRevokedSessions(ctx context.Context) error {
	n.organizations.Missed()
	n.switches.Missed()
	n.moderation.Missed()
	n.caches.invalidations.Missed()
	if err := n.accounts.LoadErasing(ctx); err != nil {
		return err
	}
	callers := n.gateway.Callers()
	sessions := make([]id.Session, len(callers))
	for i, c := range callers {
		sessions[i] = c.Session
	}
	ended, err := n.accounts.EndedSessions(ctx, sessions)
	if err != nil {
		return err
	}
	for _, c := range callers {
		if slices.Contains(ended, c.Session) {
			n.gateway.EndSession(c.User, c.Session, "revoked")
		}
	}
	return nil
}

// missedEvents is signalled when this node missed events that are no longer stored.
type missedEvents chan struct{}

func (m missedEvents) signal() {
	wakeup.Signal(m)
}

// retryDelay is the time between two tries to load the state after missed events.
const retryDelay = 5 * time.Second

// run loads the state after each signal, and retries until that succeeds or ctx ends.
func (m missedEvents) run(ctx context.Context, load func(context.Context) error, logger *slog.Logger) {
	for {
		select {
		case <-m:
		case <-ctx.Done():
			return
		}
		err := load(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		logger.Warn("sessions that ended on other nodes could not be loaded; retrying", "error", err, "retry_after", retryDelay)
		m.signal()
		_ = backoff.Sleep(ctx, retryDelay) // the loop sees the context's end
	}
}

// outboxWork makes the outbox work that one node at a time is assigned.
func (n *Node) outboxWork() cluster.Work {
	n.outboxLease = job.NewOutboxLease(n.name, func(node string) bool {
		return slices.ContainsFunc(n.cluster.Nodes(), func(live cluster.Node) bool { return live.Name == node })
	}, func() { _ = n.bus.Publish(outboxSubject, nil) })
	return cluster.Work{Kind: "outbox", Parts: 1, Assigned: n.outboxLease.Assigned, Revoked: n.outboxLease.Revoked}
}

// runOutbox delivers the events of the outbox until ctx ends: always on a single node, otherwise while the outbox is assigned to it.
func (n *Node) runOutbox(ctx context.Context) error {
	if !n.config.Clustered() {
		return n.outbox.Run(ctx, n.deliverEvents)
	}
	cancel, err := n.bus.Subscribe(outboxSubject, func([]byte) { n.outboxLease.Wake() }, n.outboxLease.Wake)
	if err != nil {
		return err
	}
	defer cancel()
	return n.outbox.RunLeased(ctx, n.outboxLease, n.deliverEvents)
}

// isCoordinator reports whether this node does the maintenance work that one node of a cluster does.
func (n *Node) isCoordinator() bool { return !n.config.Clustered() || n.partitionOwner(0) == n.name }

// ownsPartition reports whether this node owns the conversations and inboxes of a partition.
func (n *Node) ownsPartition(partition uint16) bool {
	return !n.config.Clustered() || n.partitionOwner(partition) == n.name
}
