package cassandratest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/rialto-im/rialto/internal/base/backoff"
)

// peersQuery reads a table of Cassandra's own, which has three replicas in every cluster.
const peersQuery = `SELECT parent_id FROM system_distributed.parent_repair_history LIMIT 1`

// awaitPeers returns when the node considers the others up: it answers a read that needs two or three of them. A node accepts clients
// before that, and refuses what needs a quorum until then.
func (n *node) awaitPeers(ctx context.Context) error {
	level := gocql.Three
	switch len(n.cluster.nodes) {
	case 1:
		return nil
	case 2:
		level = gocql.Two
	}
	config := gocql.NewCluster(n.front)
	config.Port, config.DisableInitialHostLookup = n.cluster.Port, true
	config.Timeout, config.ConnectTimeout = 10*time.Second, 10*time.Second
	for {
		err := n.readPeers(ctx, config, level)
		if err == nil {
			return nil
		}
		if backoff.Sleep(ctx, 500*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("the node of Cassandra on %s does not reach the others: %w\n%s", n.host, err, n.lastWords()))
		}
	}
}

func (n *node) readPeers(ctx context.Context, config *gocql.ClusterConfig, level gocql.Consistency) error {
	s, err := config.CreateSession()
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Query(peersQuery).Consistency(level).IterContext(ctx).Close()
}
