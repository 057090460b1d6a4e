package app

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// openCounters makes the service of sets and their sizes.
func (n *Node) openCounters(ctx context.Context) (err error) {
	deps := counter.Deps{DB: n.db, Clock: n.clock, Logger: n.logger, Node: n.name, Nodes: n.counterNodes(), IsCoordinator: n.isCoordinator,
		OnChange: func(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
			return n.engagement.Changed(ctx, tx, changes)
		}}
	n.counters, err = counter.New(ctx, deps)
	return err
}

// counterNodes returns the names of the nodes that count in rows of their own; nil on a single node.
func (n *Node) counterNodes() func() []string {
	if n.config.Clustered() {
		return n.liveNodeNames
	}
	return nil
}

func (n *Node) registerCounterMetrics() {
	telemetry.Count(n.registry, "counter_changes_total", "Changes of sets that were answered.", func() float64 { return float64(n.counters.Changes()) })
	telemetry.Count(n.registry, "counter_transactions_total", "Merged writes of changes of sets.", func() float64 { return float64(n.counters.Transactions()) })
	telemetry.Count(n.registry, "counter_views_dropped_total", "Unique views that were not counted because too many waited to be written.", func() float64 { return float64(n.counters.DroppedViews()) })
}
