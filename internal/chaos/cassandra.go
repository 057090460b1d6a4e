package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	c := &Cassandra{cluster: cluster, ways: newWays("cassandra", copies)}
	e.cassandra = c
	for i := range copies {
		c.peers = append(c.peers, newLinks(fmt.Sprintf("cassandra%d-", i+1), copies))
	}
	for k, host := range cluster.Hosts {
		at := func(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }
		_, err := e.listen(running, at(cluster.Fronts[k], cluster.Port), func(from net.Addr) *Link { return c.ways.link(from, k) }, at(host, cluster.Port))
		if err != nil {
			return err
		}
		_, err = e.listen(running, at(cluster.Fronts[k], cluster.StoragePort), func(from net.Addr) *Link { return c.peer(from, k) }, at(host, cluster.StoragePort))
		if err != nil {
			return err
		}
	}
	return cluster.Serve(ctx)
}

// peer is the way to a node for one of its like that calls from an address; one that cannot be told is taken for the first.
func (c *Cassandra) peer(from net.Addr, to int) *Link {
	pids := make([]int, copies)
	for i := range pids {
		pids[i] = c.cluster.PID(i)
	}
	return c.peers[max(0, caller(from, pids))][to]
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
		links := append(c.ways.to(k), c.peers[k]...)
		for i := range c.peers {
			links = append(links, c.peers[i][k])
		}
		held(ctx, links, f)
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
