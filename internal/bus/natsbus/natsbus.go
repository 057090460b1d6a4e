// Package natsbus is the bus between nodes: NATS, either a server inside each node, clustered with those of the others, or an
// external one by its URL. Nothing is stored (no JetStream).
//
// It owns the embedded server, one connection, and the numbering of messages: each publisher counts its messages on a subject,
// and says once a second how far it has come, so that a subscriber finds each hole (docs/formats/bus.md). What a slow subscriber
// does not take within its bounds is dropped, counted and a hole. The connection comes back by itself; what is published
// meanwhile waits in 8 MiB, and beyond that is refused. Of several external servers it leaves one on which it is alone.
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

	"github.com/rialto-im/rialto/internal/bus"
)

// Deps of a bus.
type Deps struct {
	Logger *slog.Logger
	// Node is this node's name, one among those of the cluster.
	Node string
}

// Config of a bus. The zero value is a server for this node alone, which listens nowhere.
type Config struct {
	// URL of an external server, or several, separated by commas: nats://user:password@host:4222, or tls:// for TLS. Empty: a
	// server in this process.
	URL string
	// Credentials is a file with a user's JWT and seed, where the external server asks for it.
	Credentials string
	// Prefix of all subjects, so that an external server can serve others too. Default rialto.
	Prefix string

	// Listen is the address where the servers of other nodes reach the one in this process, host:port. Empty: nobody does.
	Listen string
	// Advertise is the address that other nodes are told, where it is not Listen's.
	Advertise string
	// Peers are addresses of other nodes, host:port; one that is up is enough to find all. This node's own may be among them.
	Peers []string
	// Secret that the nodes show each other; at least 16 characters, needed with Listen.
	Secret string
	// TLS between nodes, or to the external server.
	TLS TLS
	// Identity between nodes, as the function of that name gives it, where TLS has no files.
	Identity *tls.Config

	// PendingMessages and PendingBytes are what may wait for one subscriber. Defaults 65,536 and 32 MiB.
	PendingMessages int
	PendingBytes    int
	// Tally is how often a publisher says how far it has come, as small messages. Default 1 s.
	Tally time.Duration
	// Drain is how long Close waits for what is under way. Default 5 s.
	Drain time.Duration
}

// Bus by NATS.
type Bus struct {
	deps    Deps
	config  Config
	server  *server.Server  // nil with an external one
	options *server.Options // that the server has; guarded by joining
	conn    *nats.Conn
	ended   chan struct{} // closed when conn has ended for good
	stop    context.CancelFunc
	tallies sync.WaitGroup // the goroutines that say how far the series have come, and that this node is there

	subjects subjects
	buffers  sync.Pool   // of *[]byte
	joining  sync.Mutex  // one Join at a time
	closed   atomic.Bool // changed under mu

	mu         sync.Mutex // guards what follows
	subs       map[*subscription]bool
	responders map[*responder]bool
	dropped    uint64 // by subscriptions that have been cancelled

	working sync.WaitGroup // requests that are worked at; none begins once all responders have ended
	asking  sync.WaitGroup // requests that wait for their answers; begun under mu while not closed

	received, holes, odd, reconnects atomic.Uint64
}

// Stats are counts since the start.
type Stats struct {
	Received   uint64 // messages that subscribers heard
	Dropped    uint64 // messages that a slow subscriber did not take
	Holes      uint64 // times that a subscriber was told that it may have missed something
	Odd        uint64 // messages of a form that this version does not know
	Reconnects uint64
	Peers      int // nodes whose servers are connected with the one in this process
}

// New starts the server, if it is to be inside, and connects. An external server that is down is no error: the bus goes on
// trying; one that refuses this node is.
func New(deps Deps, config Config) (*Bus, error) {
	config.Prefix = cmp.Or(config.Prefix, "rialto")
	config.PendingMessages = cmp.Or(config.PendingMessages, 65_536)
	config.PendingBytes = cmp.Or(config.PendingBytes, 32<<20)
	config.Tally = cmp.Or(config.Tally, time.Second)
	config.Drain = cmp.Or(config.Drain, 5*time.Second)
	if err := config.check(); err != nil {
		return nil, err
	}
	b := &Bus{deps: deps, config: config, ended: make(chan struct{}), subjects: newSubjects(), subs: map[*subscription]bool{}, responders: map[*responder]bool{}}
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
		b.tallies.Go(func() { b.keepCompany(ctx) })
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

// Addr is where other nodes reach the server in this process; empty where they do not.
func (b *Bus) Addr() string {
	if b.server == nil || b.server.ClusterAddr() == nil {
		return ""
	}
	return b.server.ClusterAddr().String()
}

// Connected tells whether the bus reaches its server at the moment.
func (b *Bus) Connected() bool { return b.conn.IsConnected() }

// Stats counts.
func (b *Bus) Stats() Stats {
	s := Stats{Received: b.received.Load(), Holes: b.holes.Load(), Odd: b.odd.Load(), Reconnects: b.reconnects.Load(), Peers: peers(b.server)}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Dropped = b.dropped
	for sub := range b.subs {
		s.Dropped += sub.dropped()
	}
	return s
}

// Close hears out what has arrived, finishes requests that are worked at, sends what was published, and ends. It gives up
// waiting after Config.Drain.
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
	if b.conn.Drain() != nil { // it has no server at the moment
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
