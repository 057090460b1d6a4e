package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/loopback"
)

// Limits for the start and stop of a node. They are long, because machines may be slow and databases unavailable.
const (
	startTime = 2 * time.Minute
	stopTime  = time.Minute
)

// Node of the cluster under test.
type Node struct {
	Name string
	// URL for clients, through the node's proxy.
	URL string
	// Clients is the link from clients to this node; Databases are the links from it to the PostgreSQL servers.
	Clients   *Link
	Databases []*Link

	roles       []string // nil: all
	engineLinks []*Link  // to Cassandra and S3, if the cluster has them
	natsLinks   []*Link  // to an external NATS

	process *Process
	logFile *os.File
	address string // of the server process, not of its proxy
	bus     string // address for other nodes
	build   string // the key of builds that it runs
	clock   string // a file with the offset of its clock in nanoseconds
}

// Cluster is a number of nodes on one PostgreSQL. They are connected by proxies, or each is in its own network namespace.
type Cluster struct {
	Nodes []*Node
	// buses are the links between nodes, by source and destination.
	buses [][]*Link
	// namespaces is the network that the nodes are in, node i on host i; nil if proxies connect them.
	namespaces *NamespaceNetwork

	database *Postgres
	engines  *Engines
	builds   map[string]string // paths; older may be missing
	layout   Layout
	dir      string
	proxies  sync.WaitGroup
	stop     context.CancelFunc
}

// OpenCluster starts nodes on a database and other engines, and returns when all are ready. If before is not empty, the nodes start with
// that build, and rolling restarts replace it. The nodes have the roles of a layout, and their files are in dir. The caller must Close the
// cluster.
func OpenCluster(ctx context.Context, binary, before, dir string, database *Postgres, engines *Engines, count int, layout Layout, settings []string) (_ *Cluster, err error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cluster{database: database, engines: engines, builds: map[string]string{newer: binary}, dir: dir, layout: layout, stop: stop, namespaces: database.namespaces}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if before != "" {
		c.builds[older] = before
	}
	for i := range count {
		c.buses = append(c.buses, make([]*Link, count))
		for j := range count {
			c.buses[i][j] = NewLink(fmt.Sprintf("n%d-n%d", i+1, j+1))
		}
	}
	for i := range count {
		n, err := c.node(running, i, settings)
		if n != nil {
			c.Nodes = append(c.Nodes, n)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range c.Nodes { // one after the other, as an operator would: the first one creates the tables
		if err := c.Start(ctx, n); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return c, nil
}

func (c *Cluster) node(running context.Context, i int, settings []string) (*Node, error) {
	n := &Node{Name: fmt.Sprintf("n%d", i+1), roles: c.layout.of(i)}
	settings = append(c.layout.roleSettings(n.roles, c.origins()), settings...)
	if c.namespaces != nil {
		return n, c.prepareInNamespace(n, i, settings)
	}
	n.Clients = NewLink("clients-" + n.Name)
	var ports [3]int
	for k := range ports {
		var err error
		if ports[k], err = loopback.FreePort(); err != nil {
			return nil, err
		}
	}
	n.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	n.bus = fmt.Sprintf("127.0.0.1:%d", ports[2])
	front, err := c.proxy(running, func(net.Addr) []Route { return []Route{{n.Clients, "tcp", n.address}} })
	if err != nil {
		return nil, err
	}
	n.URL = "http://" + front.Addr()
	admin := fmt.Sprintf("127.0.0.1:%d", ports[1])
	if n.isEdge() {
		return n, c.prepareProcess(n, admin, nil, "", settings)
	}
	var backs []string
	for k, host := range c.database.Hosts() {
		link := NewLink(fmt.Sprintf("%s-postgres%d", n.Name, k+1))
		back, err := c.proxy(running, func(net.Addr) []Route { return []Route{{link, "tcp", host}} })
		if err != nil {
			return nil, err
		}
		n.Databases, backs = append(n.Databases, link), append(backs, back.Addr())
	}
	more, err := c.engines.join(c, running, n)
	if err != nil {
		return nil, err
	}
	reached := ""
	if settings = append(more, settings...); c.engines.nats == nil && len(c.buses) > 1 {
		bus, err := c.proxy(running, func(from net.Addr) []Route { return []Route{{c.buses[c.callerNode(from)][i], "tcp", n.bus}} })
		if err != nil {
			return nil, err
		}
		reached = bus.Addr()
	}
	return n, c.prepareProcess(n, admin, backs, reached, settings)
}

// isEdge reports whether the node reaches no engine and no node but by HTTP.
func (n *Node) isEdge() bool { return servesRole(n.roles, roleEdge) }

// origins returns the addresses of the nodes so far that edges use.
func (c *Cluster) origins() (list []string) {
	for _, n := range c.Nodes {
		if servesRole(n.roles, roleAPI) {
			list = append(list, n.URL)
		}
	}
	return list
}

// prepareProcess prepares the process of a node. backs are the addresses of the PostgreSQL servers; reached is the bus address for other nodes,
// "" if there is none.
func (c *Cluster) prepareProcess(n *Node, admin string, backs []string, reached string, settings []string) (err error) {
	n.clock = filepath.Join(c.dir, n.Name+".clock")
	args := []string{"--data", filepath.Join(c.dir, n.Name), "--listen", n.address, "--admin", admin}
	settings = append([]string{"log.level=info"}, settings...)
	if !n.isEdge() {
		settings = append(settings, "postgres="+c.database.Address(backs))
	}
	if reached != "" {
		settings = append(settings, "node="+n.Name, "bus.listen="+n.bus, "bus.advertise="+reached)
	}
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	if n.logFile, err = os.Create(filepath.Join(c.dir, n.Name+".log")); err != nil {
		return err
	}
	if n.build = newer; c.builds[older] != "" {
		n.build = older
	}
	n.process = &Process{Path: c.builds[n.build], Args: args, Env: []string{"CHAOS_CLOCK=" + n.clock}, Log: n.logFile}
	return nil
}

// callerNode returns the number of the node that opened a connection, or 0 if it is unknown.
func (c *Cluster) callerNode(from net.Addr) int {
	pids := make([]int, len(c.Nodes))
	for i, n := range c.Nodes {
		pids[i] = n.process.PID()
	}
	pid := socketOwner(from, pids)
	for i := range pids {
		if pid != 0 && pids[i] == pid {
			return i
		}
	}
	return 0
}

func (c *Cluster) proxy(running context.Context, routes func(net.Addr) []Route) (*Proxy, error) {
	p, err := NewProxy(routes)
	if err == nil {
		c.proxies.Go(func() { p.Run(running) })
	}
	return p, err
}

// Start starts a node that is not running, and returns when it is ready. A node that ends before, for example because its database is
// unavailable, is started again until the timeout, as a service manager would.
func (c *Cluster) Start(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := n.process.Start(ctx)
		if !errors.Is(err, ErrNotReady) {
			return err
		}
		if !pause(ctx, time.Second) {
			return err
		}
	}
}

// Stop stops a node in order.
func (c *Cluster) Stop(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	return n.process.Stop(ctx)
}

// busLinks returns the links between a node and the others. With an external NATS these are the links to its servers.
func (c *Cluster) busLinks(i int) (to, from []*Link) {
	if c.engines.nats != nil {
		return nil, c.Nodes[i].natsLinks
	}
	for j := range c.Nodes {
		if j != i {
			to, from = append(to, c.buses[j][i]), append(from, c.buses[i][j])
		}
	}
	return to, from
}

// Close ends all nodes and proxies. The caller owns the database.
func (c *Cluster) Close() error {
	var errs []error
	for _, n := range c.Nodes {
		if n.process != nil {
			n.process.Kill()
		}
		if n.logFile != nil {
			errs = append(errs, n.logFile.Close())
		}
	}
	c.stop()
	c.proxies.Wait()
	return errors.Join(errs...)
}

// Router sends each request of a client to the node in its context, or to a random one, like a load balancer without health checks. A node
// that does not have the role for a request gets none. It is safe for concurrent use.
type Router struct {
	nodes []*Node
	base  *http.Transport
}

// NewRouter returns a router to the nodes of a cluster.
func NewRouter(c *Cluster) *Router {
	r := &Router{nodes: c.Nodes, base: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second}}
	if c.namespaces != nil {
		r.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.namespaces.Dial(ctx, c.clientsHost(), network, address)
		}
	}
	return r
}

type toNode struct{}

// target is the node that requests should go to, and the one that the last of them went to.
type target struct {
	node *Node
	used atomic.Pointer[Node]
}

// WithNode makes requests with the returned context go to a node, if it serves them.
func WithNode(ctx context.Context, n *Node) context.Context {
	return context.WithValue(ctx, toNode{}, &target{node: n})
}

// RandomNode returns a random node.
func (r *Router) RandomNode() *Node { return r.nodes[rand.IntN(len(r.nodes))] }

// RoundTrip implements http.RoundTripper.
func (r *Router) RoundTrip(q *http.Request) (*http.Response, error) {
	to, ok := q.Context().Value(toNode{}).(*target)
	if !ok {
		to = &target{}
	}
	n := r.route(q, to.node)
	to.used.Store(n)
	u, err := url.Parse(n.URL)
	if err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	q.URL.Host = u.Host
	q.Host = u.Host
	return r.base.RoundTrip(q)
}

// HTTP returns a client that uses the router.
func (r *Router) HTTP() *http.Client { return &http.Client{Transport: r, Timeout: callTime} }

// CloseIdle closes idle connections.
func (r *Router) CloseIdle() { r.base.CloseIdleConnections() }
