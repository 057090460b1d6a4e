// Package cassandratest starts a real Cassandra of one or more nodes on loopback addresses, from its published Maven artifacts.
// For tests only.
//
// Each node has a small heap and its data in a temporary directory, in memory if possible. Nodes end with the process that started them (package javatest).
package cassandratest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/javatest"
)

// version of Cassandra that is tested; docs/operating/cassandra.md names it.
const version = "5.0.5"

var server = javatest.Server{Name: "Cassandra", Version: version, Artifacts: []string{"org.apache.cassandra:cassandra-all:" + version}}

// Cluster is a private cluster.
type Cluster struct {
	// Hosts are the nodes' addresses, 127.0.0.1 and up; clients connect to Port.
	Hosts []string
	Port  int
	// Fronts are the addresses at which clients and other nodes reach each node: its own, or 127.0.1.1 and up if Config.Front is set. Nodes
	// reach each other at StoragePort.
	Fronts      []string
	StoragePort int

	jars  string
	java  string
	dir   string
	sync  string // lines of the settings
	say   io.Writer
	nodes []*node
}

// Config of a cluster.
type Config struct {
	// Nodes, on 127.0.0.1 and up; 0 is 1.
	Nodes int
	// CommitLogSync has lines of the nodes' settings; "" is commitlog_sync: batch.
	CommitLogSync string
	// Front makes the nodes advertise Fronts to clients and to each other. The caller must forward connections to Port and StoragePort
	// there to Hosts.
	Front bool
	// Say is called with progress messages.
	Say io.Writer
}

// Start starts a cluster whose nodes own equal parts of the ring, and returns when all serve. It stops the nodes if the context ends earlier.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	c, err := Prepare(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := c.Serve(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Prepare chooses addresses for a cluster without starting it. The caller must Stop it.
func Prepare(ctx context.Context, config Config) (c *Cluster, err error) {
	nodes, say := max(config.Nodes, 1), config.Say
	if say == nil {
		say = io.Discard
	}
	c = &Cluster{say: say, sync: cmp.Or(config.CommitLogSync, "commitlog_sync: batch")}
	if c.java, c.jars, err = server.Fetch(ctx, say); err != nil {
		return nil, err
	}
	if c.dir, err = javatest.Directory("cassandra"); err != nil {
		return nil, err
	}
	for i := range nodes {
		c.Hosts = append(c.Hosts, "127.0.0."+strconv.Itoa(i+1))
	}
	if c.Fronts = c.Hosts; config.Front {
		c.Fronts = nil
		for i := range nodes {
			c.Fronts = append(c.Fronts, "127.0.1."+strconv.Itoa(i+1))
		}
	}
	if c.Port, c.StoragePort, err = c.ports(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	for i, host := range c.Hosts {
		part := uint64(math.MaxUint64)/uint64(nodes)*uint64(i) + 1
		c.nodes = append(c.nodes, &node{cluster: c, host: host, front: c.Fronts[i], token: int64(part - 1<<63), dir: fmt.Sprintf("%s/%d", c.dir, i+1)})
	}
	return c, nil
}

// Serve starts all nodes, and returns when they serve and consider one another up.
func (c *Cluster) Serve(ctx context.Context) error {
	fmt.Fprintf(c.say, "starting %d nodes of Cassandra %s\n", len(c.nodes), version)
	if err := c.each(func(n *node) error { return n.start(ctx) }); err != nil {
		return err
	}
	if err := c.each(func(n *node) error { return n.awaitPeers(ctx) }); err != nil {
		return err
	}
	fmt.Fprintln(c.say, "Cassandra serves")
	return nil
}

// each calls do for all nodes concurrently.
func (c *Cluster) each(do func(*node) error) error {
	failed := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for i, n := range c.nodes {
		wait.Go(func() { failed[i] = do(n) })
	}
	wait.Wait()
	return errors.Join(failed...)
}

// ports that are free on all addresses.
func (c *Cluster) ports() (client, storage int, err error) {
	for range 20 {
		var found []int
		var held []net.Listener
		for len(found) < 2 {
			l, err := net.Listen("tcp", c.Hosts[0]+":0")
			if err != nil {
				return 0, 0, err
			}
			held = append(held, l)
			port := l.Addr().(*net.TCPAddr).Port
			free, tried := true, []string{c.Hosts[0]}
			for _, h := range append(append([]string{}, c.Hosts...), c.Fronts...) {
				if slices.Contains(tried, h) {
					continue
				}
				tried = append(tried, h)
				other, err := net.Listen("tcp", net.JoinHostPort(h, strconv.Itoa(port)))
				if err != nil {
					free = false
					break
				}
				held = append(held, other)
			}
			if !free {
				break
			}
			found = append(found, port)
		}
		for _, l := range held {
			_ = l.Close()
		}
		if len(found) == 2 {
			return found[0], found[1], nil
		}
	}
	return 0, 0, errors.New("no port is free on all addresses of the cluster")
}

// Kill kills a node, numbered from 0. Its data remains.
func (c *Cluster) Kill(i int) error { return c.nodes[i].kill() }

// Restart starts a killed node, and returns when it serves.
func (c *Cluster) Restart(ctx context.Context, i int) error { return c.nodes[i].start(ctx) }

// Pause suspends a node, like a long garbage collection, until Resume.
func (c *Cluster) Pause(i int) error { return c.nodes[i].process.Load().Signal(syscall.SIGSTOP) }

// Resume continues a paused node.
func (c *Cluster) Resume(i int) error { return c.nodes[i].process.Load().Signal(syscall.SIGCONT) }

// PID returns the id of a node's process, or 0 if it was never started.
func (c *Cluster) PID(i int) int {
	if p := c.nodes[i].process.Load(); p != nil {
		return p.PID()
	}
	return 0
}

// Logs returns the last lines of each node's log, for failed tests.
func (c *Cluster) Logs() string {
	text := ""
	for _, n := range c.nodes {
		text += fmt.Sprintf("== Cassandra on %s\n%s", n.host, n.lastWords())
	}
	return text
}

// Stop ends all nodes and removes their data.
func (c *Cluster) Stop() error {
	return errors.Join(c.each(func(n *node) error { return n.kill() }), os.RemoveAll(c.dir))
}
