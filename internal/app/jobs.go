package app

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/feed"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	"github.com/rialto-im/rialto/internal/service/notification"
	"github.com/rialto-im/rialto/internal/service/privacy"
	"github.com/rialto-im/rialto/internal/service/push"
	"github.com/rialto-im/rialto/internal/service/video"
)

const jobsSubject = "jobs" // on the bus: there are new jobs; it may be lost

// openJobs makes the service of durable jobs.
func (n *Node) openJobs(ctx context.Context) (err error) {
	deps := job.Deps{DB: n.db, Clock: n.clock, Logger: n.logger, Node: n.name, Tracer: n.tracer}
	if n.config.Clustered() {
		deps.WorkerNodes = n.workerNodes
		deps.Alive = func(node string) bool {
			return slices.ContainsFunc(n.cluster.Nodes(), func(live cluster.Node) bool { return live.Name == node })
		}
		deps.NotifyPeers = func() { _ = n.bus.Publish(jobsSubject, nil) }
	}
	n.jobs, err = job.New(ctx, deps, n.config.Jobs)
	return err
}

// workerNodes are the live nodes with the role worker, ordered by name.
func (n *Node) workerNodes() (names []string) {
	for _, live := range n.cluster.Nodes() {
		if !live.Idle {
			names = append(names, live.Name)
		}
	}
	return names
}

// jobWorkers are the queues of jobs, and a worker for each kind.
func (n *Node) jobWorkers() *job.Workers {
	queues := map[string]int{job.DefaultQueue: n.jobs.DefaultConcurrency(), feed.Queue: n.feed.Concurrency(), notification.Queue: notification.Concurrency, account.Queue: account.Concurrency, push.Queue: n.pushes.Concurrency(), messagetransaction.Queue: messagetransaction.Concurrency, privacy.Queue: privacy.Concurrency}
	if n.videos.Processes() {
		queues[video.Queue] = n.videos.Concurrency()
	}
	w := job.NewWorkers(queues)
	n.accounts.AddWorkers(w)
	n.reconciliation.AddWorkers(w)
	n.feed.AddWorkers(w)
	n.notifications.AddWorkers(w)
	n.pushes.AddWorkers(w)
	n.transactions.AddWorkers(w)
	n.privacy.AddWorkers(w)
	n.videos.AddWorkers(w)
	return w
}

// runJobs runs jobs until ctx ends, if this node has the role worker. Other nodes only notify workers of new jobs.
func (n *Node) runJobs(ctx context.Context) error {
	if !n.config.Has(config.RoleWorker) {
		return n.jobs.Run(ctx, nil)
	}
	if n.config.Clustered() {
		cancel, err := n.bus.Subscribe(jobsSubject, func([]byte) { n.jobs.HandleWake() }, n.jobs.HandleWake)
		if err != nil {
			return err
		}
		defer cancel()
	}
	return n.jobs.Run(ctx, n.jobWorkers())
}
