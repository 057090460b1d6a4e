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
	"time"
)

// startTime that a node has to become ready, and stopTime to end: long ones, as machines are slow and databases are away.
const (
	startTime = 2 * time.Minute
	stopTime  = time.Minute
)

// Node of the cluster under test.
type Node struct {
	Name string
	// URL for clients, through the node's proxy.
	URL string
	// Clients is the way from clients to this node, Databases those from it to the servers of PostgreSQL.
	Clients   *Link
	Databases []*Link

	engines []*Link // to Cassandra and S3, where they are part of the cluster
	bussed  []*Link // to an external NATS

	process *Process
	logFile *os.File
	address string // of the server itself
	bus     string // where other nodes reach it
	build   string // of builds: the one that it runs
	clock   string // the file with what its clock is ahead, in nanoseconds
}

// Cluster is a number of nodes on one PostgreSQL, with a proxy on every way between them, or each in a network namespace of its own.
type Cluster struct {
	Nodes []*Node
	// buses are the ways between nodes: from, to.
	buses [][]*Link
	// lab that nodes are in, each on the host of its number; nil: proxies are between them.
	lab *Lab

	database *Postgres
	engines  *Engines
	builds   map[string]string // paths; older may be missing
	dir      string
	proxies  sync.WaitGroup
	stop     context.CancelFunc
}

// OpenCluster starts nodes with a binary on a database and other engines, and returns when all are ready; with the one of the build before,
// where that is named, which rolling restarts exchange for the other. Their files are in dir. The caller must Close it.
func OpenCluster(ctx context.Context, binary, before, dir string, database *Postgres, engines *Engines, count int, settings []string) (_ *Cluster, err error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cluster{database: database, engines: engines, builds: map[string]string{newer: binary}, dir: dir, stop: stop, lab: database.lab}
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
	for _, n := range c.Nodes { // one after the other, as an operator would: the first makes the tables
		if err := c.Start(ctx, n); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return c, nil
}

func (c *Cluster) node(running context.Context, i int, settings []string) (*Node, error) {
	n := &Node{Name: fmt.Sprintf("n%d", i+1)}
	if c.lab != nil {
		return n, c.apart(n, i, settings)
	}
	n.Clients = NewLink("clients-" + n.Name)
	var ports [3]int
	for k := range ports {
		var err error
		if ports[k], err = FreePort(); err != nil {
			return nil, err
		}
	}
	n.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	n.bus = fmt.Sprintf("127.0.0.1:%d", ports[2])
	front, err := c.proxy(running, func(net.Addr) []Way { return []Way{{n.Clients, "tcp", n.address}} })
	if err != nil {
		return nil, err
	}
	n.URL = "http://" + front.Addr()
	var backs []string
	for k, host := range c.database.Hosts() {
		link := NewLink(fmt.Sprintf("%s-postgres%d", n.Name, k+1))
		back, err := c.proxy(running, func(net.Addr) []Way { return []Way{{link, "tcp", host}} })
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
		bus, err := c.proxy(running, func(from net.Addr) []Way { return []Way{{c.buses[c.caller(from)][i], "tcp", n.bus}} })
		if err != nil {
			return nil, err
		}
		reached = bus.Addr()
	}
	return n, c.assemble(n, fmt.Sprintf("127.0.0.1:%d", ports[1]), backs, reached, settings)
}

// assemble makes the process of a node, which is reached by the servers of PostgreSQL at some addresses, and by other nodes at another;
// "" where there are none.
func (c *Cluster) assemble(n *Node, admin string, backs []string, reached string, settings []string) (err error) {
	n.clock = filepath.Join(c.dir, n.Name+".clock")
	args := []string{"--data", filepath.Join(c.dir, n.Name), "--listen", n.address, "--admin", admin}
	settings = append([]string{"log.level=info", "postgres=" + c.database.Address(backs)}, settings...)
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

// caller gives the number of the node that a connection is from; one that cannot be told is taken for the first's.
func (c *Cluster) caller(from net.Addr) int {
	pids := make([]int, len(c.Nodes))
	for i, n := range c.Nodes {
		pids[i] = n.process.PID()
	}
	pid := owner(from, pids)
	for i := range pids {
		if pid != 0 && pids[i] == pid {
			return i
		}
	}
	return 0
}

func (c *Cluster) proxy(running context.Context, ways func(net.Addr) []Way) (*Proxy, error) {
	p, err := NewProxy(ways)
	if err == nil {
		c.proxies.Go(func() { p.Run(running) })
	}
	return p, err
}

// Start starts a node that does not run, and returns when it is ready. A node that ends before is tried again, as a supervisor
// would, until the time is up: its database may be away.
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

// Stop ends a node as an operator would.
func (c *Cluster) Stop(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	return n.process.Stop(ctx)
}

// Links of a node with others: to its bus and from it, but for its own. With an external NATS those to its servers are all.
func (c *Cluster) busLinks(i int) (to, from []*Link) {
	if c.engines.nats != nil {
		return nil, c.Nodes[i].bussed
	}
	for j := range c.Nodes {
		if j != i {
			to, from = append(to, c.buses[j][i]), append(from, c.buses[i][j])
		}
	}
	return to, from
}

// Close ends all nodes and proxies. The database is the caller's.
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

// Router sends each request of clients to a node: the one that the context names, else any. It is what a load balancer is that
// knows nothing of which node lives. It may be used by many goroutines.
type Router struct {
	nodes []*Node
	base  *http.Transport
}

// NewRouter makes a router to the nodes of a cluster.
func NewRouter(c *Cluster) *Router {
	r := &Router{nodes: c.Nodes, base: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second}}
	if c.lab != nil {
		r.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return c.lab.Dial(ctx, c.people(), network, address)
		}
	}
	return r
}

type toNode struct{}

// To has requests with this context go to a node.
func To(ctx context.Context, n *Node) context.Context { return context.WithValue(ctx, toNode{}, n) }

// Any node, by chance.
func (r *Router) Any() *Node { return r.nodes[rand.IntN(len(r.nodes))] }

// RoundTrip is http.RoundTripper's.
func (r *Router) RoundTrip(q *http.Request) (*http.Response, error) {
	n, ok := q.Context().Value(toNode{}).(*Node)
	if !ok {
		n = r.Any()
	}
	u, err := url.Parse(n.URL)
	if err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	q.URL.Host = u.Host
	q.Host = u.Host
	return r.base.RoundTrip(q)
}

// HTTP is a client that goes through the router.
func (r *Router) HTTP() *http.Client { return &http.Client{Transport: r, Timeout: callTime} }

// CloseIdle ends connections that nobody uses.
func (r *Router) CloseIdle() { r.base.CloseIdleConnections() }
