package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
)

// Cassandra is a private cluster of three nodes. Proxies are between Rialto's nodes and each Cassandra node, and between the Cassandra
// nodes. Only one goroutine at a time may inject a fault.
type Cassandra struct {
	cluster   *cassandratest.Cluster
	nodeLinks *linkSet
	// peers are the links between its nodes, by source and destination.
	peers [][]*Link
}

func (e *Engines) openCassandra(ctx, running context.Context) error {
	cluster, err := cassandratest.Prepare(ctx, cassandratest.Config{Nodes: copies, Front: true})
	if err != nil {
		return err
	}
	c := &Cassandra{cluster: cluster, nodeLinks: newLinkSet("cassandra", copies), peers: newPeers("cassandra")}
	e.cassandra = c
	for k, host := range cluster.Hosts {
		at := func(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }
		_, err := e.listen(running, at(cluster.Fronts[k], cluster.Port), func(from net.Addr) *Link { return c.nodeLinks.link(from, k) }, at(host, cluster.Port))
		if err != nil {
			return err
		}
		_, err = e.listen(running, at(cluster.Fronts[k], cluster.StoragePort), func(from net.Addr) *Link { return peerLink(c.peers, cluster.PID, from, k) }, at(host, cluster.StoragePort))
		if err != nil {
			return err
		}
	}
	return cluster.Serve(ctx)
}

func (c *Cassandra) settings() []string {
	return []string{"cassandra.hosts=" + strings.Join(c.cluster.Fronts, ","), fmt.Sprintf("cassandra.port=%d", c.cluster.Port)}
}

func (c *Cassandra) verify() []string {
	return []string{"--cassandra", strings.Join(c.cluster.Fronts, ","), "--cassandra-port", fmt.Sprint(c.cluster.Port)}
}

func (c *Cassandra) inject(ctx, whole context.Context, f Fault) error {
	switch k := f.Node; f.Kind {
	case CassandraKill:
		if err := c.cluster.Kill(k); err != nil {
			return err
		}
		pause(ctx, f.Duration)
		return c.cluster.Restart(whole, k)
	case CassandraPause:
		return c.pauseNodes(ctx, f, k)
	case CassandraPauseAll:
		return c.pauseNodes(ctx, f, 0, 1, 2)
	default:
		from, to := peerLinks(c.peers, k)
		holdLinks(ctx, slices.Concat(c.nodeLinks.toServer(k), from, to), f)
		return nil
	}
}

func (c *Cassandra) pauseNodes(ctx context.Context, f Fault, which ...int) error {
	var errs []error
	for _, k := range which {
		errs = append(errs, c.cluster.Pause(k))
	}
	pause(ctx, f.Duration)
	for _, k := range which {
		errs = append(errs, c.cluster.Resume(k))
	}
	return errors.Join(errs...)
}
