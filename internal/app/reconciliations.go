package app

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// openReconciliation makes the service that compares stores, with the comparisons of all services.
func (n *Node) openReconciliation(ctx context.Context) (err error) {
	files := reconciliation.UnreferencedFiles{Store: n.files, Owners: []reconciliation.FileOwner{n.cold, n.media.FileOwner(), n.videos.FileOwner()}, Clock: n.clock}
	comparisons := slices.Concat(n.media.Comparisons(), []reconciliation.Comparison{files, n.cold.Comparison(), n.videos.Comparison(), n.counters.Comparison(), n.inbox.Comparison(n.chat.Audience)}, n.search.Comparisons())
	n.reconciliation, err = reconciliation.New(ctx, reconciliation.Deps{DB: n.db, Jobs: n.jobs, Audit: n.audit, Comparisons: comparisons, IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger}, n.config.Reconciliation)
	return err
}
