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

// Names of the engines that a cluster may have besides PostgreSQL.
const (
	WithCassandra = "cassandra" // three nodes, which have the timelines
	WithNATS      = "nats"      // three servers, instead of those in the nodes
	WithS3        = "s3"        // the files, and users who send and fetch some
)

// Kinds of faults of those engines; in a schedule only where the engine is part of the run.
const (
	CassandraKill  = "cassandra-kill"  // a node of Cassandra, which starts again
	CassandraPause = "cassandra-pause" // one is held, and goes on
	CassandraCut   = "cassandra-cut"   // one is cut off from its like and from all nodes
	CassandraAway  = "cassandra-away"  // all are held, and go on
	NATSKill       = "nats-kill"       // a server of NATS, which starts again
	NATSPause      = "nats-pause"      // one is held, and goes on
	NATSAway       = "nats-away"       // all are killed, and start again
	NATSCut        = "nats-cut"        // one is cut off from the other servers, and not from nodes
	NATSDeaf       = "nats-deaf"       // one hears nothing of the others, which hear it
	NATSMute       = "nats-mute"       // the others hear nothing of one, which hears them
	NATSWay        = "nats-way"        // a node is cut off from the one server that it is on, and from no other
	S3Away         = "s3-away"         // the server is killed, and starts again
	S3Pause        = "s3-pause"        // it is held, and goes on
	S3Slow         = "s3-slow"         // the ways to it are slow and narrow
)

// ofEngines gives how often the faults of some engines come.
func ofEngines(engines []string) map[string]int {
	often := map[string]map[string]int{
		WithCassandra: {CassandraKill: 4, CassandraPause: 4, CassandraCut: 4, CassandraAway: 2},
		WithNATS:      {NATSKill: 4, NATSPause: 4, NATSAway: 2, NATSCut: 4, NATSDeaf: 2, NATSMute: 2, NATSWay: 4},
		WithS3:        {S3Away: 3, S3Pause: 3, S3Slow: 3},
	}
	all := map[string]int{}
	for _, e := range engines {
		for kind, n := range often[e] {
			all[kind] = n
		}
	}
	return all
}

// copies of each engine but S3, of which there is one.
const copies = 3

// onCopy tells whether a kind is one's of several servers of an engine.
func onCopy(kind string) bool {
	return slices.Contains([]string{CassandraKill, CassandraPause, CassandraCut, NATSKill, NATSPause, NATSCut, NATSDeaf, NATSMute}, kind)
}

// onEngine gives the engine that a kind is on, "" where it is on none.
func onEngine(kind string) string {
	engine, _, _ := strings.Cut(kind, "-")
	if _, ok := ofEngines([]string{engine})[kind]; ok {
		return engine
	}
	return ""
}

// Engines of a run besides PostgreSQL; nil where they are not part of it.
type Engines struct {
	cassandra *Cassandra
	nats      *NATS
	s3        *S3

	proxies sync.WaitGroup
	stop    context.CancelFunc
}

// OpenEngines starts some, with their files in dir. The caller must Close them.
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

// join makes the ways of a node to all engines, and gives the settings by which it finds them.
func (e *Engines) join(c *Cluster, running context.Context, n *Node) (settings []string, err error) {
	if e.cassandra != nil {
		n.engines = append(n.engines, e.cassandra.ways.add(n)...)
		settings = append(settings, e.cassandra.settings()...)
	}
	if e.nats != nil {
		n.bussed = e.nats.ways.add(n)
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

// verify gives the arguments by which rialto verify finds the timelines.
func (e *Engines) verify() []string {
	if e.cassandra == nil {
		return nil
	}
	return e.cassandra.verify()
}

// listen passes on, at an address, what comes over a link that depends on who calls.
func (e *Engines) listen(running context.Context, at string, link func(from net.Addr) *Link, to string) (*Proxy, error) {
	p, err := newProxyAt(at, func(from net.Addr) []Way { return []Way{{link(from), "tcp", to}} })
	if err == nil {
		e.proxies.Go(func() { p.Run(running) })
	}
	return p, err
}

// Close ends all and removes what they keep.
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

// ways from the nodes of the cluster to the servers of an engine. Who calls without being a node takes spare ones.
type ways struct {
	engine string
	spare  []*Link // to each server

	mu    sync.Mutex // guards all below
	nodes []*Node
	links [][]*Link // node, server
}

func newWays(engine string, servers int) *ways {
	return &ways{engine: engine, spare: newLinks("others-"+engine, servers)}
}

func newLinks(name string, count int) (links []*Link) {
	for k := range count {
		links = append(links, NewLink(fmt.Sprintf("%s%d", name, k+1)))
	}
	return links
}

// add makes the ways of a node.
func (w *ways) add(n *Node) []*Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes, w.links = append(w.nodes, n), append(w.links, newLinks(n.Name+"-"+w.engine, len(w.spare)))
	return w.links[len(w.links)-1]
}

// link to a server for one who calls from an address.
func (w *ways) link(from net.Addr, server int) *Link {
	w.mu.Lock()
	nodes, links := w.nodes, w.links
	w.mu.Unlock()
	pids := make([]int, len(nodes))
	for i, n := range nodes {
		pids[i] = n.process.PID()
	}
	if i := caller(from, pids); i >= 0 {
		return links[i][server]
	}
	return w.spare[server]
}

// to gives all ways to a server.
func (w *ways) to(server int) []*Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := []*Link{w.spare[server]}
	for _, links := range w.links {
		list = append(list, links[server])
	}
	return list
}

// inUse gives the ways of a node, by number, over which connections are open.
func (w *ways) inUse(node int) (list []*Link) {
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

// caller gives the number of the process, of some, that a connection is from; -1 where it is from none of them.
func caller(from net.Addr, pids []int) int {
	if pid := owner(from, pids); pid != 0 {
		return slices.Index(pids, pid)
	}
	return -1
}

// hurtEngine has a fault of an engine happen, and heals it.
func (n *nemesis) hurtEngine(ctx, whole context.Context, f Fault) error {
	e := n.cluster.engines
	switch onEngine(f.Kind) {
	case WithCassandra:
		return e.cassandra.hurt(ctx, whole, f)
	case WithNATS:
		return e.nats.hurt(ctx, whole, f)
	default:
		return e.s3.hurt(ctx, whole, f)
	}
}

// peer is the way to a server of an engine for one of its like that calls from an address, of the ways from, to; one that cannot be told
// is taken for the first.
func peer(peers [][]*Link, pid func(int) int, from net.Addr, to int) *Link {
	pids := make([]int, len(peers))
	for i := range pids {
		pids[i] = pid(i)
	}
	return peers[max(0, caller(from, pids))][to]
}

// newPeers makes the ways between the servers of an engine: from, to.
func newPeers(engine string) (peers [][]*Link) {
	for i := range copies {
		peers = append(peers, newLinks(fmt.Sprintf("%s%d-", engine, i+1), copies))
	}
	return peers
}

// others gives the ways of a server to its like, and theirs to it.
func others(peers [][]*Link, server int) (from, to []*Link) {
	for i := range peers {
		if i != server {
			from, to = append(from, peers[server][i]), append(to, peers[i][server])
		}
	}
	return from, to
}

// held has links hold all that they carry for as long as a fault lasts.
func held(ctx context.Context, links []*Link, f Fault) {
	troubled(ctx, links, Trouble{Forth: true, Back: true}, f)
}

// oneWay holds what goes to those to whom connections are opened over some links, and what comes back over others, for as long as a fault
// lasts.
func oneWay(ctx context.Context, forth, back []*Link, f Fault) {
	for _, l := range forth {
		l.Set(Trouble{Forth: true})
	}
	troubled(ctx, back, Trouble{Back: true}, f)
	for _, l := range forth {
		l.Set(Trouble{})
	}
}

func troubled(ctx context.Context, links []*Link, t Trouble, f Fault) {
	for _, l := range links {
		l.Set(t)
	}
	pause(ctx, f.For)
	for _, l := range links {
		l.Set(Trouble{})
	}
}
