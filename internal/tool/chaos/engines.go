package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
)

// Names of the engines that a cluster can have besides PostgreSQL.
const (
	WithCassandra = "cassandra" // three nodes, which store the timelines
	WithNATS      = "nats"      // three servers, instead of those embedded in the nodes
	WithS3        = "s3"        // stores the files; users send and fetch some
)

// Kinds of faults of those engines. A schedule contains them only if the run has the engine.
const (
	CassandraKill     = "cassandra-kill"      // kills a Cassandra node, which starts again
	CassandraPause    = "cassandra-pause"     // suspends a Cassandra node
	CassandraCut      = "cassandra-isolate"   // partitions a Cassandra node from the others and from all Rialto nodes
	CassandraPauseAll = "cassandra-pause-all" // suspends all Cassandra nodes
	NATSKill          = "nats-kill"           // kills a NATS server, which starts again
	NATSPause         = "nats-pause"          // suspends a NATS server
	NATSKillAll       = "nats-kill-all"       // kills all NATS servers, which start again
	NATSCut           = "nats-isolate"        // partitions a NATS server from the other servers, but not from nodes
	NATSInboundLost   = "nats-no-inbound"     // a NATS server receives nothing from the others, which receive what it sends
	NATSOutboundLost  = "nats-no-outbound"    // the other NATS servers receive nothing from one, which receives what they send
	NATSLinkLost      = "nats-link"           // partitions a node from the NATS server that it is connected to
	S3Kill            = "s3-kill"             // kills the S3 server, which starts again
	S3Pause           = "s3-pause"            // suspends the S3 server
	S3Slow            = "s3-slow"             // the links to the S3 server are slow
)

// engineWeights returns the weights of the faults of some engines.
func engineWeights(engines []string) map[string]int {
	often := map[string]map[string]int{
		WithCassandra: {CassandraKill: 4, CassandraPause: 4, CassandraCut: 4, CassandraPauseAll: 2},
		WithNATS:      {NATSKill: 4, NATSPause: 4, NATSKillAll: 2, NATSCut: 4, NATSInboundLost: 2, NATSOutboundLost: 2, NATSLinkLost: 4},
		WithS3:        {S3Kill: 3, S3Pause: 3, S3Slow: 3},
	}
	all := map[string]int{}
	for _, e := range engines {
		for kind, n := range often[e] {
			all[kind] = n
		}
	}
	return all
}

// copies is the number of servers of each engine except S3, which has one.
const copies = 3

// onEngineServer reports whether a kind affects one of several servers of an engine.
func onEngineServer(kind string) bool {
	return slices.Contains([]string{CassandraKill, CassandraPause, CassandraCut, NATSKill, NATSPause, NATSCut, NATSInboundLost, NATSOutboundLost}, kind)
}

// onEngine returns the engine that a kind affects, or "".
func onEngine(kind string) string {
	engine, _, _ := strings.Cut(kind, "-")
	if _, ok := engineWeights([]string{engine})[kind]; ok {
		return engine
	}
	return ""
}

// Engines of a run besides PostgreSQL; those that it does not have are nil.
type Engines struct {
	cassandra *Cassandra
	nats      *NATS
	s3        *S3

	proxies sync.WaitGroup
	stop    context.CancelFunc
}

// OpenEngines starts engines with their files in dir. The caller must Close them.
func OpenEngines(ctx context.Context, dir string, names []string, say func(format string, args ...any)) (_ *Engines, err error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &Engines{stop: stop}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	for _, name := range names {
		say("starting %s", name)
		switch name {
		case WithCassandra:
			err = e.openCassandra(ctx, running)
		case WithNATS:
			err = e.openNATS(ctx, running, dir)
		case WithS3:
			err = e.openS3(ctx)
		default:
			err = fmt.Errorf("there is no engine %q; there are %s, %s and %s", name, WithCassandra, WithNATS, WithS3)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// join creates the links of a node to all engines, and returns the settings that the node needs.
func (e *Engines) join(c *Cluster, running context.Context, n *Node) (settings []string, err error) {
	if e.cassandra != nil {
		n.engineLinks = append(n.engineLinks, e.cassandra.nodeLinks.add(n)...)
		settings = append(settings, e.cassandra.settings()...)
	}
	if e.nats != nil {
		n.natsLinks = e.nats.nodeLinks.add(n)
		settings = append(append(settings, "node="+n.Name), e.nats.settings()...)
	}
	if e.s3 != nil {
		more, err := e.s3.join(c, running, n)
		if err != nil {
			return nil, err
		}
		settings = append(settings, more...)
	}
	return settings, nil
}

// verify returns the arguments of rialto verify for the timelines.
func (e *Engines) verify() []string {
	if e.cassandra == nil {
		return nil
	}
	return e.cassandra.verify()
}

// listen starts a proxy at an address. link chooses a link by the caller.
func (e *Engines) listen(running context.Context, at string, link func(from net.Addr) *Link, to string) (*Proxy, error) {
	p, err := newProxyAt(at, func(from net.Addr) []Route { return []Route{{link(from), "tcp", to}} })
	if err == nil {
		e.proxies.Go(func() { p.Run(running) })
	}
	return p, err
}

// Close ends all engines and removes their files.
func (e *Engines) Close() error {
	var errs []error
	if e.cassandra != nil {
		errs = append(errs, e.cassandra.cluster.Stop())
	}
	if e.nats != nil {
		e.nats.close()
		errs = append(errs, os.Remove(e.nats.program)) // it is large, and can be built again
	}
	if e.s3 != nil {
		errs = append(errs, e.s3.server.Close())
	}
	e.stop()
	e.proxies.Wait()
	return errors.Join(errs...)
}

// linkSet has the links from the cluster's nodes to the servers of an engine. Callers that are not nodes use spare links.
type linkSet struct {
	engine string
	spare  []*Link // to each server

	mu    sync.Mutex // guards the fields below
	nodes []*Node
	links [][]*Link // by node and server
}

func newLinkSet(engine string, servers int) *linkSet {
	return &linkSet{engine: engine, spare: newLinks("others-"+engine, servers)}
}

func newLinks(name string, count int) (links []*Link) {
	for k := range count {
		links = append(links, NewLink(fmt.Sprintf("%s%d", name, k+1)))
	}
	return links
}

// add creates the links of a node.
func (w *linkSet) add(n *Node) []*Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes, w.links = append(w.nodes, n), append(w.links, newLinks(n.Name+"-"+w.engine, len(w.spare)))
	return w.links[len(w.links)-1]
}

// link returns the link to a server for a caller.
func (w *linkSet) link(from net.Addr, server int) *Link {
	w.mu.Lock()
	nodes, links := w.nodes, w.links
	w.mu.Unlock()
	pids := make([]int, len(nodes))
	for i, n := range nodes {
		pids[i] = n.process.PID()
	}
	if i := callerIndex(from, pids); i >= 0 {
		return links[i][server]
	}
	return w.spare[server]
}

// toServer returns all links to a server.
func (w *linkSet) toServer(server int) []*Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []*Link{w.spare[server]}
	for _, links := range w.links {
		list = append(list, links[server])
	}
	return list
}

// inUse returns the links of a node, by number, that have open connections.
func (w *linkSet) inUse(node int) (list []*Link) {
	w.mu.Lock()
	links := w.links[node]
	w.mu.Unlock()
	for _, l := range links {
		if l.inUse() {
			list = append(list, l)
		}
	}
	return list
}

// callerIndex returns the index of the process that opened a connection, or -1.
func callerIndex(from net.Addr, pids []int) int {
	if pid := socketOwner(from, pids); pid != 0 {
		return slices.Index(pids, pid)
	}
	return -1
}

// injectEngine injects a fault of an engine, and heals it.
func (n *nemesis) injectEngine(ctx, whole context.Context, f Fault) error {
	e := n.cluster.engines
	switch onEngine(f.Kind) {
	case WithCassandra:
		return e.cassandra.inject(ctx, whole, f)
	case WithNATS:
		return e.nats.inject(ctx, whole, f)
	default:
		return e.s3.inject(ctx, whole, f)
	}
}

// peerLink returns the link to a server of an engine for another server of the same engine. An unknown caller counts as the first one.
func peerLink(peers [][]*Link, pid func(int) int, from net.Addr, to int) *Link {
	pids := make([]int, len(peers))
	for i := range pids {
		pids[i] = pid(i)
	}
	return peers[max(0, callerIndex(from, pids))][to]
}

// newPeers creates the links between the servers of an engine, by source and destination.
func newPeers(engine string) (peers [][]*Link) {
	for i := range copies {
		peers = append(peers, newLinks(fmt.Sprintf("%s%d-", engine, i+1), copies))
	}
	return peers
}

// peerLinks returns the links of a server to the others, and those of the others to it.
func peerLinks(peers [][]*Link, server int) (from, to []*Link) {
	for i := range peers {
		if i != server {
			from, to = append(from, peers[server][i]), append(to, peers[i][server])
		}
	}
	return from, to
}

// holdLinks holds all bytes on some links for the duration of a fault.
func holdLinks(ctx context.Context, links []*Link, f Fault) {
	impairWhile(ctx, links, Impairment{HoldToServer: true, HoldFromServer: true}, f)
}

// holdOneWay holds the bytes towards the accepting side of some links, and the bytes from the accepting side of others, for the duration
// of a fault.
func holdOneWay(ctx context.Context, toAcceptor, fromAcceptor []*Link, f Fault) {
	for _, l := range toAcceptor {
		l.Set(Impairment{HoldToServer: true})
	}
	impairWhile(ctx, fromAcceptor, Impairment{HoldFromServer: true}, f)
	for _, l := range toAcceptor {
		l.Set(Impairment{})
	}
}

func impairWhile(ctx context.Context, links []*Link, t Impairment, f Fault) {
	for _, l := range links {
		l.Set(t)
	}
	pause(ctx, f.Duration)
	for _, l := range links {
		l.Set(Impairment{})
	}
}
