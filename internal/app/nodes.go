package app

import (
	"context"
	"net"
	"os"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/bus/natsbus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/directory"
)

// partitionWork is the kind of work that is assigned by partition. The owner of a partition dispatches the messages of its
// conversations, writes the inboxes of its users, and owns their directory entries.
const partitionWork = "partition"

// openBus opens the bus: NATS in a cluster, in memory on a single node.
func (n *Node) openBus(ctx context.Context) error {
	if !n.config.Clustered() {
		b := membus.New()
		n.bus = b
		n.closers = append(n.closers, b.Close)
		return nil
	}
	set := natsbus.Config{URL: n.config.Bus.URL, Credentials: n.config.Bus.Credentials, Prefix: n.config.Bus.Prefix, TLS: natsbus.TLS{CA: n.config.Bus.CA}}
	if set.URL == "" {
		shared, err := n.accounts.Secret(ctx, "bus")
		if err != nil {
			return err
		}
		if set.Listen = n.config.Bus.Listen; set.Listen == "" {
			host, _, err := net.SplitHostPort(n.config.Listen)
			if err != nil {
				return err
			}
			set.Listen = net.JoinHostPort(host, "0")
		}
		set.Advertise = n.config.Bus.Advertise
		if set.Secret, set.Identity, err = natsbus.Identity(shared, ownHosts(set.Listen, set.Advertise)); err != nil {
			return err
		}
	}
	b, err := natsbus.New(natsbus.Deps{Logger: n.logger, Node: n.name}, set)
	if err != nil {
		return err
	}
	n.bus, n.nats = b, b
	n.closers = append(n.closers, b.Close)
	return nil
}

// busAddress is where other nodes reach this node's NATS server; empty if all use an external one.
func (n *Node) busAddress() string {
	if n.nats == nil || n.config.Bus.URL != "" {
		return ""
	}
	if a := n.config.Bus.Advertise; a != "" {
		return a
	}
	host, port, err := net.SplitHostPort(n.nats.Addr())
	if err != nil || !net.ParseIP(host).IsUnspecified() {
		return n.nats.Addr()
	}
	return net.JoinHostPort(localAddressTowards(n.config.Postgres), port)
}

// localAddressTowards is the address of this machine on the route to the database: other nodes, which reach the database, reach it too.
func localAddressTowards(database string) string {
	c, err := pgconn.ParseConfig(database)
	if err != nil {
		return "127.0.0.1" // not reached: the database has been opened with this address
	}
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		// Connecting a datagram socket chooses its route, and sends nothing.
		if c, err := net.Dial("udp", net.JoinHostPort(host, "9")); err == nil {
			defer c.Close()
			if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
				return a.IP.String()
			}
		}
	}
	return "127.0.0.1" // a database at a Unix socket: all its nodes are on this machine
}

// ownHosts are the names and addresses of this node, for its certificate.
func ownHosts(addresses ...string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	add := func(h string) {
		if ip := net.ParseIP(h); h != "" && (ip == nil || !ip.IsUnspecified() && !ip.IsLoopback()) {
			hosts = append(hosts, h)
		}
	}
	for _, a := range addresses {
		if host, _, err := net.SplitHostPort(a); err == nil {
			add(host)
		}
	}
	if name, err := os.Hostname(); err == nil {
		add(name)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return hosts // the names above are enough
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			add(n.IP.String())
		}
	}
	return hosts
}

// joinCluster registers the node as a member of the cluster that shares its database.
func (n *Node) joinCluster(ctx context.Context, works ...cluster.Work) (err error) {
	var shared *sqldb.DB
	if n.config.Clustered() {
		shared = n.db
	}
	set := n.config.Cluster
	set.Node, set.Address, set.Idle = n.name, n.busAddress(), !n.config.Has(config.RoleWorker)
	n.prober = n.newProber()
	n.cluster, err = cluster.New(ctx, cluster.Deps{DB: shared, Logger: n.logger, Work: works, OnMembers: n.onMembers, Unreachable: n.prober.Unreachable, Gateway: n.publicGateway}, set)
	return err
}

// newProber makes what finds out which nodes answer.
func (n *Node) newProber() *cluster.Prober {
	deps := cluster.ProberDeps{Bus: n.bus, Logger: n.logger, Node: n.name, Topics: []cluster.Topic{{ID: 1, Ask: n.directory.Ask, Answer: n.directory.Answer}, n.clocks.Topic(2)}}
	if n.config.Clustered() {
		deps.Peers = n.peerWorkers
	}
	return cluster.NewProber(deps)
}

// onMembers connects the bus to the live nodes. Of each pair the node with the greater name connects: if both did at once, one of the two
// connections would be closed with the messages on it.
func (n *Node) onMembers(nodes []cluster.Node) {
	var at, names []string
	for _, peer := range nodes {
		names = append(names, peer.Name)
		if peer.Name < n.name && peer.Address != "" {
			at = append(at, peer.Address)
		}
	}
	n.traces.NodesChanged(names)
	if n.nats == nil || n.config.Bus.URL != "" {
		return
	}
	if err := n.nats.Join(at); err != nil {
		n.logger.Warn("the bus does not reach all nodes", "error", err)
	}
}

// peerWorkers are the other nodes that may own partitions.
func (n *Node) peerWorkers() (names []string) {
	for _, peer := range n.cluster.Nodes() {
		if peer.Name != n.name && !peer.Idle {
			names = append(names, peer.Name)
		}
	}
	return names
}

// partitionOwner is the owner of a partition, as this node saw it last.
func (n *Node) partitionOwner(partition uint16) string {
	return n.cluster.Owner(partitionWork, int(partition))
}

// directoryCluster returns the directory its view of the cluster; nil on a single node.
func (n *Node) directoryCluster() *directory.Cluster {
	if !n.config.Clustered() {
		return nil
	}
	return &directory.Cluster{Bus: n.bus, Partition: partition, Partitions: timeline.Partitions,
		Owner:   func(p int) string { return n.partitionOwner(uint16(p)) },
		Recheck: func(p int) { n.gateway.Recheck(p) },
		Nodes: func() []string {
			var names []string
			for _, live := range n.cluster.Nodes() {
				names = append(names, live.Name)
			}
			return names
		}}
}

// partition of a conversation, or of a user's inbox.
func partition(of uint64) int { return int(timeline.Key{ID: of}.Partition()) }

// heldPartitions counts the partitions that have an owner, and ownedPartitions those that this node owns.
func (n *Node) heldPartitions() float64 {
	return n.countPartitions(func(node string) bool { return node != "" })
}
func (n *Node) ownedPartitions() float64 {
	return n.countPartitions(func(node string) bool { return node == n.name })
}

// countPartitions counts the partitions whose owner fulfils a condition.
func (n *Node) countPartitions(is func(node string) bool) float64 {
	count := 0
	for p := range timeline.Partitions {
		if is(n.partitionOwner(uint16(p))) {
			count++
		}
	}
	return float64(count)
}

// registerClusterMetrics registers the metrics of the cluster.
func (n *Node) registerClusterMetrics() {
	telemetry.Gauge(n.registry, "nodes", "Nodes that live, as this one sees it.", func() float64 { return float64(len(n.cluster.Nodes())) })
	telemetry.Gauge(n.registry, "nodes_unreachable", "Nodes that live, and have not answered this one on the bus for some seconds.", func() float64 { return float64(len(n.prober.Unreachable())) })
	telemetry.Gauge(n.registry, "partitions_held", "Partitions that some node works; below all of them, messages wait.", n.heldPartitions)
	telemetry.Gauge(n.registry, "partitions", "Partitions that this node works.", n.ownedPartitions)
	telemetry.Gauge(n.registry, "directory_users", "Users who are online on any node, and whose directory entry this node owns.", func() float64 { return float64(n.directory.OwnedUsers()) })
	telemetry.Gauge(n.registry, "directory_followed_groups", "Large groups that are followed on any node, and whose directory entry this node owns.", func() float64 { return float64(n.directory.OwnedFollowed()) })
	telemetry.Count(n.registry, "directory_takeovers_total", "Times that this node became the owner of a partition of the directory.", func() float64 { return float64(n.directory.Takeovers()) })
	telemetry.Count(n.registry, "directory_full_syncs_total", "Times that another node reported all its connections in a partition to this owner.", func() float64 { return float64(n.directory.FullSyncs()) })
	if n.nats == nil {
		return
	}
	telemetry.Gauge(n.registry, "bus_peers", "Nodes to which this one's bus is connected.", func() float64 { return float64(n.nats.Stats().Peers) })
	telemetry.Count(n.registry, "bus_received_total", "Messages of other nodes that were received.", func() float64 { return float64(n.nats.Stats().Received) })
	telemetry.Count(n.registry, "bus_dropped_total", "Messages of other nodes that came too fast.", func() float64 { return float64(n.nats.Stats().Dropped) })
	telemetry.Count(n.registry, "bus_gaps_total", "Gaps in messages of other nodes.", func() float64 { return float64(n.nats.Stats().Gaps) })
	telemetry.Count(n.registry, "bus_reconnects_total", "Reconnects of the bus.", func() float64 { return float64(n.nats.Stats().Reconnects) })
}

// liveNodes is the number of live nodes.
func (n *Node) liveNodes() int { return len(n.cluster.Nodes()) }

// liveNodeNames are the names of the live nodes.
func (n *Node) liveNodeNames() (names []string) {
	for _, live := range n.cluster.Nodes() {
		names = append(names, live.Name)
	}
	return names
}
