package app

import (
	"context"
	"net"
	"os"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rialto-im/rialto/internal/bus/membus"
	"github.com/rialto-im/rialto/internal/bus/natsbus"
	"github.com/rialto-im/rialto/internal/cluster"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/presence"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/telemetry"
	"github.com/rialto-im/rialto/internal/timeline"
)

// carry is the work that is shared by partitions: a conversation's node carries its messages, a user's writes its inbox and is the
// home of its presence.
const carry = "carry"

// connect opens the bus: by NATS where there are others, or could be.
func (h *House) connect(ctx context.Context) error {
	if !h.config.Clustered() {
		b := membus.New()
		h.bus = b
		h.closers = append(h.closers, b.Close)
		return nil
	}
	set := natsbus.Config{URL: h.config.Bus.URL, Credentials: h.config.Bus.Credentials, Prefix: h.config.Bus.Prefix, TLS: natsbus.TLS{CA: h.config.Bus.CA}}
	if set.URL == "" {
		shared, err := h.accounts.Secret(ctx, "bus")
		if err != nil {
			return err
		}
		if set.Listen = h.config.Bus.Listen; set.Listen == "" {
			host, _, err := net.SplitHostPort(h.config.Listen)
			if err != nil {
				return err
			}
			set.Listen = net.JoinHostPort(host, "0")
		}
		set.Advertise = h.config.Bus.Advertise
		if set.Secret, set.Identity, err = natsbus.Identity(shared, ownHosts(set.Listen, set.Advertise)); err != nil {
			return err
		}
	}
	b, err := natsbus.New(natsbus.Deps{Logger: h.logger, Node: h.node}, set)
	if err != nil {
		return err
	}
	h.bus, h.nats = b, b
	h.closers = append(h.closers, b.Close)
	return nil
}

// busAddress at which other nodes reach this one's bus; "" where they meet on an external server.
func (h *House) busAddress() string {
	if h.nats == nil || h.config.Bus.URL != "" {
		return ""
	}
	if a := h.config.Bus.Advertise; a != "" {
		return a
	}
	host, port, err := net.SplitHostPort(h.nats.Addr())
	if err != nil || !net.ParseIP(host).IsUnspecified() {
		return h.nats.Addr()
	}
	return net.JoinHostPort(outward(h.config.Postgres), port)
}

// outward is this machine's address on the way to a database: others who reach that one are on the same side.
func outward(database string) string {
	c, err := pgconn.ParseConfig(database)
	if err != nil {
		return "127.0.0.1" // it is open by now: this is not reached
	}
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, host := range hosts {
		// No packet is sent: to connect a datagram socket is only to choose its route.
		if c, err := net.Dial("udp", net.JoinHostPort(host, "9")); err == nil {
			defer c.Close()
			if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
				return a.IP.String()
			}
		}
	}
	return "127.0.0.1" // a database by a socket file: its nodes are on this machine
}

// ownHosts are the names and addresses by which others may reach this node.
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
		return hosts // a node that lists none is still reached by the ones above
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			add(n.IP.String())
		}
	}
	return hosts
}

// join makes the node one among those with the same database.
func (h *House) join(ctx context.Context, works ...cluster.Work) (err error) {
	var shared *sqldb.DB
	if h.config.Clustered() {
		shared = h.db
	}
	set := h.config.Cluster
	set.Node, set.Address, set.Idle = h.node, h.busAddress(), !h.config.Has(config.RoleWorker)
	h.cluster, err = cluster.New(ctx, cluster.Deps{DB: shared, Logger: h.logger, Work: works, Met: h.met, Cut: h.fanout.Cut}, set)
	return err
}

// met has the bus connect with the nodes that live. Of each two the one with the greater name does it: where both did at once, one
// of the connections would be given up with what is on it.
func (h *House) met(nodes []cluster.Node) {
	var at []string
	for _, n := range nodes {
		if n.Name < h.node && n.Address != "" {
			at = append(at, n.Address)
		}
	}
	if h.nats == nil || h.config.Bus.URL != "" {
		return
	}
	if err := h.nats.Join(at); err != nil {
		h.logger.Warn("the bus does not reach all nodes", "error", err)
	}
}

// workers are the other nodes that may have partitions.
func (h *House) workers() (names []string) {
	for _, n := range h.cluster.Nodes() {
		if n.Name != h.node && !n.Idle {
			names = append(names, n.Name)
		}
	}
	return names
}

// holder of a partition, as this node saw it last.
func (h *House) holder(partition uint16) string { return h.cluster.Holder(carry, int(partition)) }

// neighbours are the other nodes, as presence needs them; nil where there can be none.
func (h *House) neighbours() *presence.Cluster {
	if !h.config.Clustered() {
		return nil
	}
	return &presence.Cluster{Bus: h.bus, Partition: partition, Partitions: timeline.Partitions,
		Holder:  func(p int) string { return h.holder(uint16(p)) },
		Recheck: func(p int) { h.gateway.Recheck(p) },
		Nodes: func() []string {
			var names []string
			for _, n := range h.cluster.Nodes() {
				names = append(names, n.Name)
			}
			return names
		}}
}

// partition of a user's inbox, or a conversation.
func partition(of uint64) int { return int(timeline.Key{ID: of}.Partition()) }

// held is how many partitions are some node's, and own how many are this one's.
func (h *House) held() float64 { return h.partitions(func(node string) bool { return node != "" }) }
func (h *House) own() float64  { return h.partitions(func(node string) bool { return node == h.node }) }

// partitions counts those with such a holder.
func (h *House) partitions(such func(node string) bool) float64 {
	n := 0
	for p := range timeline.Partitions {
		if such(h.holder(uint16(p))) {
			n++
		}
	}
	return float64(n)
}

// measureNodes registers the figures of the cluster.
func (h *House) measureNodes() {
	telemetry.Gauge(h.registry, "nodes", "Nodes that live, as this one sees it.", func() float64 { return float64(len(h.cluster.Nodes())) })
	telemetry.Gauge(h.registry, "nodes_cut_off", "Nodes that live, and have not answered this one on the bus for some seconds.", func() float64 { return float64(len(h.fanout.Cut())) })
	telemetry.Gauge(h.registry, "partitions_held", "Partitions that some node works; below all of them, messages wait.", h.held)
	telemetry.Gauge(h.registry, "partitions", "Partitions that this node works.", h.own)
	telemetry.Gauge(h.registry, "presence_users", "Users who are online, on any node, and whose presence this node keeps.", func() float64 { return float64(h.presence.HomeUsers()) })
	telemetry.Gauge(h.registry, "presence_followed", "Large groups of which this node knows on which nodes they are followed.", func() float64 { return float64(h.presence.HomeFollowed()) })
	telemetry.Count(h.registry, "presence_moved_total", "Times that a partition's presence came to be kept here.", func() float64 { return float64(h.presence.HomesBegun()) })
	telemetry.Count(h.registry, "presence_rebuilt_total", "Times that another node told this one anew of all its connections in a partition.", func() float64 { return float64(h.presence.HomesTold()) })
	if h.nats == nil {
		return
	}
	telemetry.Gauge(h.registry, "bus_peers", "Nodes to which this one's bus is connected.", func() float64 { return float64(h.nats.Stats().Peers) })
	telemetry.Count(h.registry, "bus_received_total", "Messages of other nodes that were heard.", func() float64 { return float64(h.nats.Stats().Received) })
	telemetry.Count(h.registry, "bus_dropped_total", "Messages of other nodes that came too fast.", func() float64 { return float64(h.nats.Stats().Dropped) })
	telemetry.Count(h.registry, "bus_holes_total", "Times that messages of other nodes may have been missed.", func() float64 { return float64(h.nats.Stats().Holes) })
	telemetry.Count(h.registry, "bus_reconnects_total", "Times that the bus lost its connection and found it again.", func() float64 { return float64(h.nats.Stats().Reconnects) })
}
