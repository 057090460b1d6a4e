package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/bridge"
	"github.com/rialto-im/rialto/internal/service/serverevent"
)

// openServerEvents makes the services of events for business servers, of the messages that they prepare, and of bridges.
func (n *Node) openServerEvents(ctx context.Context, ids *idgen.Snowflake) error {
	secret, err := n.accounts.Secret(ctx, "event cursors")
	if err != nil {
		return err
	}
	if err := n.openTransactions(ctx, ids); err != nil {
		return err
	}
	if n.bridges, err = bridge.New(ctx, bridge.Deps{DB: n.db, Chat: n.chat, Accounts: n.accounts, Audit: n.audit, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger}, n.config.Bridges); err != nil {
		return err
	}
	n.serverEvents, err = serverevent.New(ctx, serverevent.Deps{Bridges: n.bridges.Bots, DB: n.db, Log: n.log, Chat: n.chat, Accounts: n.accounts, IDs: ids, Secret: secret, Calls: n.outgoing, Clock: n.clock, Logger: n.logger}, n.config.ServerEvents)
	return err
}

// registerServerEventMetrics registers the metrics of events for business servers, and of the messages that they prepare.
func (n *Node) registerServerEventMetrics() {
	count := func(of func() uint64) func() float64 { return func() float64 { return float64(of()) } }
	n.registerTransactionMetrics()
	telemetry.Count(n.registry, "event_webhook_delivered_total", "Server events that webhooks have accepted.", count(n.serverEvents.Delivered))
	telemetry.Count(n.registry, "event_webhook_failures_total", "Deliveries of server events to webhooks that failed.", count(n.serverEvents.Failed))
	telemetry.Count(n.registry, "event_dead_total", "Dead letters: server events that a webhook did not accept in all attempts.", count(n.serverEvents.DeadLetters))
}
