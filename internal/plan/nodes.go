package plan

import (
	"math"
)

// cpu of all nodes in cores, while there are n of them.
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
	return cores / 1e6
}

// perMessage is the CPU that a message to one costs: with several nodes it goes over the bus, and batches are smaller.
func (c *count) perMessage() float64 {
	if c.plan.Engine == Embedded {
		return c.by["cpu_message"]
	}
	return c.by["cluster_message"]
}

// shared engines ask for more.
func (c *count) shared() string {
	if c.plan.Engine == Embedded {
		return ""
	}
	return words(", %v a million messages of the bus, and %v and %v for giving messages and entries to the engine", c.by["cpu_bus"], c.by[string(c.plan.Engine)+"_client_message"], c.by[string(c.plan.Engine)+"_client_entry"])
}

// further work of inboxes, beyond the two entries and two deliveries that a message to one has.
func (c *count) further() float64 {
	l := c.load
	entries := l.entries - 2*l.direct
	devices := l.direct * 2 * max(0, c.in.Online*c.in.Devices-1)
	return entries*max(1, c.in.Online*c.in.Devices) + devices
}

// nodes finds how many there must be, by what asks for most. More nodes make more messages between them, so it is asked again
// until the answer stays.
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
		each := c.by["memory_rest"] + c.by["memory_caches"]
		kb := c.by["kb_connection"] + c.by["kb_socket"]
		room := in.Memory*in.Use - each*1e6
		asks = []ask{
			{"CPU", words("%v CPU s a million messages, %v a million entries more, %v in large groups%v; ÷ %v of %v cores",
				c.perMessage(), c.by["cpu_entry"], c.by["cpu_large"], c.shared(), percent(in.Use), in.Cores), cores, "cores", cores / (in.Cores * in.Use)},
			{"memory of connections", words("%v KB each in the process, %v KB in the kernel; a node has %v of %v, less %v MB of its own", c.by["kb_connection"], c.by["kb_socket"], percent(in.Use), bytesWord(in.Memory), each),
				l.connections * kb * 1e3, "B", l.connections * kb * 1e3 / max(room, 1)},
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
	how := "one that has all"
	switch {
	case c.plan.Engine == Embedded:
		if least > 1 {
			c.fits = false
			c.warn(words("one node cannot carry this: it asks for %v; take --engine postgres", nodesWord(least)))
			how = words("embedded engines are one node's alone, and this asks for %v", nodesWord(least))
			c.plan.Nodes = 1
		}
	case in.Zones > 1:
		how = words("%v carry the peak; a zone of %v may be lost, or %v", nodesWord(least), in.Zones, nodesWord(in.Spare))
	default:
		how = words("%v carry the peak; %v may be lost", nodesWord(least), nodesWord(in.Spare))
	}
	c.line(section, "nodes", float64(c.plan.Nodes), "", how)
	if c.plan.Engine != Embedded {
		c.line(section, "messages on the bus", c.bus(n), "/s", words("to each node with a recipient, and to each with a recipient's inbox and back, for %v nodes; less where batches carry several", n))
	}
}

// withSpare nodes that are left when a zone, or so many nodes, are lost.
func withSpare(need, zones, spare float64) float64 {
	if zones > 1 {
		return zones * max(math.Ceil(need/(zones-1)), math.Ceil((need+spare)/zones))
	}
	return need + spare
}

// doubts are where a plan goes beyond what was built or tried.
func (c *count) doubts() {
	n := float64(c.plan.Nodes)
	if each := c.load.connections / n; each > c.by["connections_tried"] {
		c.warn(words("%v connections on a node are more than the %v that were measured on one: try it with rialto bench idle", math.Ceil(each), c.by["connections_tried"]))
	}
	if n > partitions {
		c.warn(words("messages are carried in %v partitions, so %v of %v nodes carry them and write inboxes, %v entries/s each; the others hold connections and take what is sent",
			float64(partitions), float64(partitions), n, c.load.entries/partitions))
	}
	if each := c.load.entries * c.by[string(c.plan.Engine)+"_client_entry"] / 1e6 / min(n, partitions); each > c.in.Cores*c.in.Use {
		c.warn(words("the %v nodes that write inboxes would need %v cores each for that alone, and may use %v: this load cannot be spread further yet", min(n, partitions), each, c.in.Cores*c.in.Use))
	}
	if n > 3 {
		c.warn(words("clusters were tried with three nodes; each of %v is connected with each other", n))
	}
	if c.plan.Engine == Embedded {
		c.warn("nothing takes over from one node: while it is down nobody is served, and what its disk loses only a backup has")
	} else if c.in.Zones == 2 {
		c.warn("of two zones no majority is left when one is lost: whoever decides by majority, as Cassandra does, needs three")
	} else if c.in.Zones == 1 {
		c.warn("all machines are in one zone, and are lost with it")
	}
	if c.in.Users < c.in.DailyUsers {
		c.warn("fewer users are registered than come in a day")
	}
}
