package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
)

// openTransactions makes the service of messages that business servers prepare.
func (n *Node) openTransactions(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.transactions, err = messagetransaction.New(ctx, messagetransaction.Deps{DB: n.db, Chat: n.chat, Jobs: n.jobs, IDs: ids, IsCoordinator: n.isCoordinator, Calls: n.outgoing, Clock: n.clock, Logger: n.logger}, n.config.Transactions)
	return err
}

// registerTransactionMetrics registers the metrics of message transactions.
func (n *Node) registerTransactionMetrics() {
	for _, r := range messagetransaction.Results() {
		telemetry.CountBy(n.registry, "transactions_total", "Message transactions that ended on this node, by result.", "result", r.String(), func() float64 { return float64(n.transactions.Ended(r)) })
	}
}
