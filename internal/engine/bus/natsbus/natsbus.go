// Package natsbus is the bus between nodes over NATS. The server is either embedded in each node and clustered with those of the others,
// or external and given by its URL. Nothing is stored (no JetStream).
//
// It owns the embedded server, one connection, and the numbering of messages: each publisher counts its messages on a subject, and
// publishes that count once a second, so that subscribers find each gap (docs/formats/bus.md). Messages beyond the bounds of a slow
// subscriber are dropped, counted and reported as a gap. The connection is restored automatically. Meanwhile up to 8 MiB of published
// messages wait; more are refused. A node that is isolated on one of several external servers moves to another.
//
// All methods of Bus may be called from many goroutines.
package natsbus

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rialto-im/rialto/internal/engine/bus"
)

// Deps are the dependencies of a Bus.
type Deps struct {
	Logger *slog.Logger
	// Node is this node's unique name in the cluster.
	Node string
}

// Config of a bus. With the zero value, the server serves this node only and does not listen.
type Config struct {
	// URL of an external server, or several, separated by commas: nats://user:password@host:4222, or tls:// for TLS. If empty, the server
	// is embedded.
	URL string
	// Credentials is a file with a user's JWT and seed, if the external server requires it.
	Credentials string
	// Prefix of all subjects, so that an external server can be shared. Default rialto.
	Prefix string

	// Listen is the address, host:port, at which other nodes' servers reach the embedded one. If empty, none does.
	Listen string
	// Advertise is the address that other nodes get, if it differs from Listen.
	Advertise string
	// Peers are addresses of other nodes, host:port. One that is up is enough to find all. The node's own address may be among them.
	Peers []string
	// Secret with which nodes authenticate to each other: at least 16 characters, required with Listen.
	Secret string
	// TLS between nodes, or to the external server.
	TLS TLS
	// Identity between nodes, as returned by the function of that name, if TLS has no files.
	Identity *tls.Config

	// PendingMessages and PendingBytes limit the queue of a subscriber. Defaults 65,536 and 32 MiB.
	PendingMessages int
	PendingBytes    int
	// Tally is how often a publisher publishes its message counts. Default 1 s.
	Tally time.Duration
	// Drain is how long Close waits for work in progress. Default 5 s.
	Drain time.Duration
}

// Bus is a connection to NATS.
type Bus struct {
	deps    Deps
	config  Config
	server  *server.Server  // nil with an external one
	options *server.Options // the server's current options; guarded by joining
	conn    *nats.Conn
	ended   chan struct{} // closed when conn has ended permanently
	stop    context.CancelFunc
	tallies sync.WaitGroup // the goroutines that publish tallies and announcements

	ownSubjects string // begin with this
	subjects    subjects
	buffers     sync.Pool   // of *[]byte
	joining     sync.Mutex  // one Join at a time
	closed      atomic.Bool // changed under mu

	mu         sync.Mutex // guards the fields below
	subs       map[*subscription]bool
	local      map[string][]*subscription // of this node's subjects; the slices are replaced, never changed
	responders map[*responder]bool
	dropped    uint64 // by subscriptions that have been cancelled

	working sync.WaitGroup // requests in progress; none begins once all responders have ended
	asking  sync.WaitGroup // requests that wait for their answers; begun under mu while not closed

	received, gaps, odd, reconnects atomic.Uint64
}

// Stats are counts since the start.
type Stats struct {
	Received   uint64 // messages handled by subscribers
	Dropped    uint64 // messages dropped because a subscriber was too slow
	Gaps       uint64 // times that a subscriber was notified of a possible gap
	Odd        uint64 // messages of a kind that this version does not know
	Reconnects uint64
	Peers      int // nodes whose servers are connected to the embedded one
}

// New starts the server, if it is embedded, and connects. It retries in the background if an external server is down, and fails if the
// server refuses this node.
func New(deps Deps, config Config) (*Bus, error) {
	config.Prefix = cmp.Or(config.Prefix, "rialto")
	config.PendingMessages = cmp.Or(config.PendingMessages, 65_536)
	config.PendingBytes = cmp.Or(config.PendingBytes, 32<<20)
	config.Tally = cmp.Or(config.Tally, time.Second)
	config.Drain = cmp.Or(config.Drain, 5*time.Second)
	if err := config.check(); err != nil {
		return nil, err
	}
	b := &Bus{deps: deps, config: config, ended: make(chan struct{}), subjects: newSubjects(), ownSubjects: bus.NodeSubject(deps.Node, ""), subs: map[*subscription]bool{}, local: map[string][]*subscription{}, responders: map[*responder]bool{}}
	if config.URL == "" {
		s, options, err := startServer(deps, config)
		if err != nil {
			return nil, err
		}
		b.server, b.options = s, options
	}
	if err := b.connect(); err != nil {
		b.shutdown()
		return nil, err
	}
	var ctx context.Context
	ctx, b.stop = context.WithCancel(context.Background())
	b.tallies.Go(func() { b.tallyAll(ctx) })
	if b.server == nil {
		b.tallies.Go(func() { b.detectIsolation(ctx) })
	}
	return b, nil
}

func (c Config) check() error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	inside := c.Listen != "" || len(c.Peers) > 0 || c.Advertise != "" || c.Secret != ""
	fault(c.URL != "" && inside, "the bus has a url, of an external server; then listen, peers, advertise and secret must not be set")
	fault(c.URL == "" && c.Credentials != "", "the bus has credentials but no url of the external server that they are for")
	fault(c.Listen == "" && (len(c.Peers) > 0 || c.Advertise != ""), "the bus has peers or advertise but no listen: set the address where other nodes reach this one")
	fault(c.Listen != "" && len(c.Secret) < 16, "the bus listens for other nodes: set a secret of at least 16 characters, the same on all")
	fault(!bus.ValidSubject(c.Prefix), "the bus's prefix %q is no subject: use letters, digits, - and _", c.Prefix)
	fault(c.PendingMessages < 0 || c.PendingBytes < 0 || c.Tally < 0 || c.Drain < 0, "a bound or a time of the bus is negative")
	return errors.Join(faults...)
}

// Addr returns the address of the embedded server for other nodes, or "".
func (b *Bus) Addr() string {
	if b.server == nil || b.server.ClusterAddr() == nil {
		return ""
	}
	return b.server.ClusterAddr().String()
}

// Connected reports whether the bus is connected to its server.
func (b *Bus) Connected() bool { return b.conn.IsConnected() }

// Stats returns the counts.
func (b *Bus) Stats() Stats {
	s := Stats{Received: b.received.Load(), Gaps: b.gaps.Load(), Odd: b.odd.Load(), Reconnects: b.reconnects.Load(), Peers: peers(b.server)}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Dropped = b.dropped
	for sub := range b.subs {
		s.Dropped += sub.dropped()
	}
	return s
}

// Close handles what has arrived, finishes requests in progress, sends what was published, and ends. It stops waiting after Config.Drain.
func (b *Bus) Close() error {
	b.mu.Lock()
	if b.closed.Swap(true) {
		b.mu.Unlock()
		<-b.ended
		return nil
	}
	responders := slices.Collect(maps.Keys(b.responders))
	b.mu.Unlock()
	b.stop()
	b.tallies.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), b.config.Drain)
	defer cancel()
	err := b.finish(ctx, responders)
	if b.conn.Drain() != nil { // it is disconnected
		b.conn.Close()
	}
	select {
	case <-b.ended:
	case <-ctx.Done():
		b.conn.Close()
		<-b.ended
		err = errors.Join(err, errors.New("a subscriber of the bus did not end in time"))
	}
	b.shutdown()
	return err
}

func (b *Bus) shutdown() {
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}
