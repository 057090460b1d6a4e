package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/timeline/cassandralog/cassandratest"
)

// Cassandra is a private one of three nodes, each behind proxies: nodes of the cluster reach it by them, and so do its nodes each
// other. One goroutine at a time may hurt it.
type Cassandra struct {
	cluster *cassandratest.Cluster
	ways    *ways
	// peers are the ways between its nodes: from, to.
	peers [][]*Link
}

func (e *Engines) openCassandra(ctx, running context.Context) error {
	cluster, err := cassandratest.Prepare(ctx, cassandratest.Config{Nodes: copies, Front: true})
	if err != nil {
		return err
	}
	c := &Cassandra{cluster: cluster, ways: newWays("cassandra", copies), peers: newPeers("cassandra")}
	e.cassandra = c
	for k, host := range cluster.Hosts {
		at := func(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }
		_, err := e.listen(running, at(cluster.Fronts[k], cluster.Port), func(from net.Addr) *Link { return c.ways.link(from, k) }, at(host, cluster.Port))
		if err != nil {
			return err
		}
		_, err = e.listen(running, at(cluster.Fronts[k], cluster.StoragePort), func(from net.Addr) *Link { return peer(c.peers, cluster.PID, from, k) }, at(host, cluster.StoragePort))
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

func (c *Cassandra) hurt(ctx, whole context.Context, f Fault) error {
	switch k := f.Node; f.Kind {
	case CassandraKill:
		if err := c.cluster.Kill(k); err != nil {
			return err
		}
		pause(ctx, f.For)
		return c.cluster.Restart(whole, k)
	case CassandraPause:
		return c.hold(ctx, f, k)
	case CassandraAway:
		return c.hold(ctx, f, 0, 1, 2)
	default:
		from, to := others(c.peers, k)
		held(ctx, slices.Concat(c.ways.to(k), from, to), f)
		return nil
	}
}

func (c *Cassandra) hold(ctx context.Context, f Fault, which ...int) error {
	var errs []error
	for _, k := range which {
		errs = append(errs, c.cluster.Pause(k))
	}
	pause(ctx, f.For)
	for _, k := range which {
		errs = append(errs, c.cluster.Resume(k))
	}
	return errors.Join(errs...)
}
