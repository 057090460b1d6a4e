package plan

import (
	"math"
)

// cpu returns the cores that all nodes need if there are n of them.
func (c *count) cpu(n float64) float64 {
	l := c.load
	cores := l.messages * c.perMessage()
	cores += c.further() * c.by["cpu_entry"]
	cores += l.largeDeliveries * c.by["cpu_large"]
	switch c.plan.Engine {
	case Postgres:
		cores += l.messages*c.by["postgres_client_message"] + l.entries*c.by["postgres_client_entry"]
	case Cassandra:
		cores += l.messages*c.by["cassandra_client_message"] + l.entries*c.by["cassandra_client_entry"]
	}
	cores += c.bus(n) * c.by["cpu_bus"]
	return cores/1e6 + c.feedNodes()
}

// perMessage is the CPU time of a message to one user. With several nodes it includes the bus and smaller batches.
func (c *count) perMessage() float64 {
	if c.plan.Engine == Embedded {
		return c.by["cpu_message"]
	}
	return c.by["cluster_message"]
}

// shared describes the additional costs of shared engines.
func (c *count) shared() string {
	if c.plan.Engine == Embedded {
		return ""
	}
	return words(", %v a million messages of the bus, and %v and %v for giving messages and entries to the engine", c.by["cpu_bus"], c.by[string(c.plan.Engine)+"_client_message"], c.by[string(c.plan.Engine)+"_client_entry"])
}

// further is the inbox work beyond the two entries and two deliveries of a message to one user.
func (c *count) further() float64 {
	l := c.load
	entries := l.entries - 2*l.direct
	devices := l.direct * 2 * max(0, c.in.Online*c.in.Devices-1)
	return entries*max(1, c.in.Online*c.in.Devices) + devices
}

// nodes computes the number of nodes from the scarcest resource. More nodes exchange more messages, so it is repeated until the number is
// stable.
func (c *count) nodes() {
	const section = "Nodes"
	in, l := c.in, c.load
	if c.plan.Engine == Embedded {
		in.Zones, in.Spare = 1, 0
	}
	type ask struct {
		name, how string
		amount    float64
		unit      string
		nodes     float64
	}
	var asks []ask
	least, n := 1.0, 1.0
	for range 1000 {
		cores := c.cpu(n)
		each := c.by["memory_rest"] + c.by["memory_caches"] + c.feedMemory()
		kb := c.by["kb_connection"] + c.by["kb_socket"]
		free := in.Memory*in.Use - each*1e6
		asks = []ask{
			{"CPU", words("%v CPU s a million messages, %v a million entries more, %v in large groups%v%v; ÷ %v of %v cores",
				c.perMessage(), c.by["cpu_entry"], c.by["cpu_large"], c.shared(), c.ofFeed(c.feedNodes()), percent(in.Use), in.Cores), cores, "cores", cores / (in.Cores * in.Use)},
			{"memory of connections", words("%v KB each in the process, %v KB in the kernel; a node has %v of %v, less %v MB of its own", c.by["kb_connection"], c.by["kb_socket"], percent(in.Use), bytesWord(in.Memory), each),
				l.connections * kb * 1e3, "B", l.connections * kb * 1e3 / max(free, 1)},
			{"connections", words("%v on a node at most", in.Connections), l.connections, "", l.connections / in.Connections},
			{"network", words("what nodes send, to clients and to each other; ÷ %v of %vbit/s", percent(in.Use), in.Network), c.wire(n), "bit/s", c.wire(n) / (in.Network * in.Use)},
		}
		least = 1
		for _, a := range asks {
			least = max(least, math.Ceil(a.nodes-1e-9))
		}
		next := withSpare(least, in.Zones, in.Spare)
		if next <= n {
			break
		}
		n = next
	}
	for _, a := range asks {
		c.line(section, a.name, a.amount, a.unit, words("%v; asks for %v", a.how, nodesWord(a.nodes)))
	}
	c.plan.Nodes = int(n)
	how := "a single node with all data"
	switch {
	case c.plan.Engine == Embedded:
		if least > 1 {
			c.fits = false
			c.warn(words("one node is not enough: this needs %v; use --engine postgres", nodesWord(least)))
			how = words("embedded engines have one node, and this needs %v", nodesWord(least))
			c.plan.Nodes = 1
		}
	case in.Zones > 1:
		how = words("%v for the peak; one zone of %v may be down, or %v", nodesWord(least), in.Zones, nodesWord(in.Spare))
	default:
		how = words("%v for the peak; %v may be down", nodesWord(least), nodesWord(in.Spare))
	}
	c.line(section, "nodes", float64(c.plan.Nodes), "", how)
	if c.plan.Engine != Embedded {
		c.line(section, "messages on the bus", c.bus(n), "/s", words("to each node with a recipient, and to each with a recipient's inbox and back, for %v nodes; less where batches carry several", n))
	}
}

// withSpare returns the number of nodes such that need of them remain when a zone, or spare nodes, are down.
func withSpare(need, zones, spare float64) float64 {
	if zones > 1 {
		return zones * max(math.Ceil(need/(zones-1)), math.Ceil((need+spare)/zones))
	}
	return need + spare
}

// warnOfLimits warns where a plan exceeds what was built or measured.
func (c *count) warnOfLimits() {
	n := float64(c.plan.Nodes)
	if each := c.load.connections / n; each > c.by["connections_tried"] {
		c.warn(words("%v connections on a node are more than the %v that were measured: test it with rialto bench idle", math.Ceil(each), c.by["connections_tried"]))
	}
	if n > partitions {
		c.warn(words("fan-out has %v partitions, so %v of %v nodes dispatch messages and write inboxes, %v entries/s each; the others serve connections",
			float64(partitions), float64(partitions), n, c.load.entries/partitions))
	}
	if each := c.load.entries * c.by[string(c.plan.Engine)+"_client_entry"] / 1e6 / min(n, partitions); each > c.in.Cores*c.in.Use {
		c.warn(words("the %v nodes that write inboxes would need %v cores each for that, and may use %v: this load cannot be distributed further yet", min(n, partitions), each, c.in.Cores*c.in.Use))
	}
	if n > 3 {
		c.warn(words("clusters were tested with three nodes; with %v, each is connected to all others", n))
	}
	if c.plan.Engine == Embedded {
		c.warn("a single node has no failover: while it is down nobody is served, and only a backup protects against the loss of its disk")
	} else if c.in.Zones == 2 {
		c.warn("with two zones, no majority remains when one is down: engines that need a majority, such as Cassandra, need three zones")
	} else if c.in.Zones == 1 {
		c.warn("all machines are in one zone, and fail with it")
	}
	if c.in.Users < c.in.DailyUsers {
		c.warn("there are fewer registered users than daily users")
	}
}
