// Package gateway is the door for sockets: it accepts WebSocket connections, authenticates them, decodes frames and hands them
// to the rooms, and brings receipts and deliveries back.
//
// The protocol (conn.go and the files beside it) is pure: bytes go in, bytes come out. Two transports carry it. Plain connections live on an event
// loop (poll_linux.go) with neither goroutine nor buffer while they are idle; connections whose TLS ends in this process,
// and others without a file descriptor, have two goroutines (stream.go).
//
// What is to be sent gathers in the connection's buffer and leaves in one write when Flush is called: the log's listener
// calls it after each batch, a delivery after each message of the bus. No store waits for a socket, and no socket for a
// store: what a connection does not take in time is replaced by a hint to pull, and a connection that takes nothing at all
// is closed.
//
// It may touch chat, inbox, presence and account by the small interfaces below, any other call through an Invoker, and the
// bus. All exported methods may be called from many goroutines.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
	"github.com/rialto-im/rialto/internal/bus"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
)

// Chat is what the door needs of conversations.
type Chat interface {
	// Submit stores a draft and calls its Done. It does not block.
	Submit(d *message.Draft)
	Typing(ctx context.Context, u id.User, c id.Conversation) error
	HighestCounter(ctx context.Context, c id.Caller) (uint64, error)
}

// Inbox is what the door needs of the users' streams. What is asked for many is answered in their order, of all or none.
type Inbox interface {
	// AppendSync appends the protobuf of a SyncResponse to b.
	AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error)
	// Tails are the positions of users' newest events.
	Tails(ctx context.Context, users []id.User) ([]message.Position, error)
	// Ack and Mark do not block.
	Ack(c id.Caller, at message.Position)
	Mark(u id.User, c id.Conversation, delivered, read uint64)
	// Large are the large groups that each of some users is in.
	Large(ctx context.Context, users []id.User) ([][]id.Conversation, error)
	// LargeTails are the seqs of large groups' newest entries.
	LargeTails(ctx context.Context, conversations []id.Conversation) ([]uint64, error)
}

// Presence is told who is connected, and which large conversations are followed here.
type Presence interface {
	Connected(c id.Caller)
	// Announced returns when deliveries to the user come to this node, or after a while: then Recheck is called later.
	Announced(ctx context.Context, u id.User)
	Disconnected(c id.Caller)
	Active(u id.User)
	Watch(ctx context.Context, u id.User, s id.Session, users []id.User) ([]*presencev1.Presence, error)
	Followers
}

// Followers is told which large conversations have connections that follow them here. The methods may be called from many goroutines.
type Followers interface {
	// Follow does not block.
	Follow(c id.Conversation, on bool)
	// Followed returns as Announced does, and tells whether the conversation's messages come to this node.
	Followed(ctx context.Context, c id.Conversation) bool
}

// Accounts authenticates.
type Accounts interface {
	Verify(ctx context.Context, token string) (id.Caller, error)
	VerifyTicket(ctx context.Context, ticket string) (id.Caller, error)
	// Live tells whether a caller's session still goes on: nil, or why not.
	Live(ctx context.Context, c id.Caller) error
}

// Invoker makes any call of the API: method as /rialto.chat.v1.ChatService/History, in and out as protobuf or JSON.
type Invoker interface {
	Invoke(ctx context.Context, c id.Caller, method string, in []byte, json bool) ([]byte, error)
}

// Deps are what a Server needs.
type Deps struct {
	Chat     Chat
	Inbox    Inbox
	Presence Presence
	Accounts Accounts
	Invoker  Invoker
	Bus      bus.Bus
	Clock    clock.Clock
	Logger   *slog.Logger
	// Node is this node's name.
	Node string
	// Partition of a user or a conversation, as Recheck names it; nil where all are in 0.
	Partition func(of uint64) int
}

// Config of the door; the zero value is the documented default.
type Config struct {
	// Origins besides the server's own from which browsers may connect, as https://app.example.com; * is any.
	Origins []string `yaml:"origins"`
	// MaxConnections of this node; 0 is 100,000. More are answered 503.
	MaxConnections int `yaml:"max_connections"`
	// Heartbeat that clients are asked for; 0 is 5 s.
	Heartbeat time.Duration `yaml:"heartbeat"`
	// Grace of silence after which a connection is closed; 0 is 30 s.
	Grace time.Duration `yaml:"grace"`
	// AuthWithin so long the first frame must come where the handshake carried no credentials; 0 is 10 s.
	AuthWithin time.Duration `yaml:"auth_within"`
	// Loops of events; 0 is half the processors, at least one.
	Loops int `yaml:"loops"`
	// DrainOver so long connections are told to go elsewhere at a stop, one after the other, and served until then; 0 is 5 s. More than 8 s
	// clients spend away.
	DrainOver time.Duration `yaml:"drain_over"`
	// CheckEvery so often each connection is compared with what is stored, since the last that was pushed may be lost; 0 is 5 min.
	CheckEvery time.Duration `yaml:"check_every"`
}

func (c Config) withDefaults() Config {
	if c.MaxConnections == 0 {
		c.MaxConnections = 100_000
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.AuthWithin == 0 {
		c.AuthWithin = 10 * time.Second
	}
	if c.Loops == 0 {
		c.Loops = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if c.DrainOver == 0 {
		c.DrainOver = 5 * time.Second
	}
	if c.CheckEvery == 0 {
		c.CheckEvery = 5 * time.Minute
	}
	return c
}

// Check finds what cannot be.
func (c Config) Check() error {
	c = c.withDefaults()
	if c.Grace < 2*c.Heartbeat || c.Grace > wheelSeconds/2*time.Second {
		return fmt.Errorf("gateway.grace (%v) is at least two of gateway.heartbeat (%v), and at most %v", c.Grace, c.Heartbeat, wheelSeconds/2*time.Second)
	}
	return nil
}

// Limits that are not configured.
const (
	maxFrame    = 1 << 20   // of a client's message, after decompression
	maxPending  = 1 << 20   // bytes that wait for a connection; beyond, calls are refused, and for small frames it is closed
	hintPending = 256 << 10 // beyond, events are left out and a hint takes their place
	maxInFlight = 1024      // sends without a receipt; beyond, no more is read
	maxUnderWay = 1 << 20   // bytes of them, likewise
	maxCalls    = 32        // calls and syncs at once on a connection
	maxBad      = 10        // frames that cannot be decoded, before the connection is closed
	maxSends    = 4096      // in one frame
	maxParts    = 64        // of a fragmented message
	maxEmpty    = 1000      // frames a second that carry nothing
	maxDepth    = 32        // of JSON
	callTime    = 30 * time.Second
	stallTime   = 30 // seconds that a connection may take nothing of what waits for it
	workers     = 128
)

// Server is the door for sockets of one node.
type Server struct {
	deps   Deps
	config Config
	hub    hub
	wheel  wheel
	flush  []*flusher
	loops  []*loop
	stats  Stats
	check  *checker

	now     atomic.Uint32 // seconds, by Run
	work    chan struct{} // bounds the calls at once
	serving sync.WaitGroup
	ctx     context.Context // ends when Run does; calls under way end with it
	stop    context.CancelFunc
	next    atomic.Uint32

	mu       sync.Mutex // guards draining and what depends on it: no connection is added after it was set
	draining bool
}

// Stats count since the start, but Connections, which is now.
type Stats struct {
	Connections, Accepted, Refused, FramesIn, Sends, Receipts, Events, Hints, Slow, Silent, BytesIn, BytesOut atomic.Int64
	Unknown                                                                                                   atomic.Int64 // deliveries of kinds that this release does not know
}

// Stats of the door. The numbers may be read at any time.
func (s *Server) Stats() *Stats { return &s.stats }

// New makes a door; Run must be called for it to work.
func New(deps Deps, config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.Check(); err != nil {
		return nil, err
	}
	s := &Server{deps: deps, config: config, work: make(chan struct{}, workers)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.hub.init(deps.Presence)
	s.check = newChecker(s)
	s.now.Store(uint32(deps.Clock.Now().Unix()))
	for range config.Loops {
		s.flush = append(s.flush, newFlusher())
		l, err := newLoop(s)
		if err != nil {
			return nil, err
		}
		s.loops = append(s.loops, l)
	}
	return s, nil
}

// Run works until ctx ends, and then asks all connections to go elsewhere, and closes what is left. It returns when all goroutines of the door have.
func (s *Server) Run(ctx context.Context) error {
	var group sync.WaitGroup
	var cancels []func()
	for lane := range bus.Lanes {
		d := &deliverer{server: s}
		cancel, err := s.deps.Bus.Subscribe(bus.Node(s.deps.Node, lane), d.deliver, s.check.all)
		if err != nil {
			return err
		}
		cancels = append(cancels, cancel)
	}
	inner, stop := context.WithCancel(context.Background())
	for _, f := range s.flush {
		group.Go(func() { f.run(inner) })
	}
	for _, l := range s.loops {
		group.Go(func() { l.run(inner) })
	}
	group.Go(func() { s.check.run(inner) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.tick()
		case <-ctx.Done():
		}
	}
	s.drain(tick.C)
	for _, cancel := range cancels {
		cancel()
	}
	s.finish()
	s.stop()
	s.serving.Wait()
	stop()
	for _, l := range s.loops {
		l.wake()
	}
	group.Wait()
	return nil
}

func (s *Server) tick() {
	now := uint32(s.deps.Clock.Now().Unix())
	s.now.Store(now)
	s.wheel.turn(now, s.look)
	s.Flush()
}

// EndSession closes the connections of a session, saying why.
func (s *Server) EndSession(u id.User, session id.Session, reason string) {
	s.hub.each(u, func(c *conn) {
		if c.caller.Session == session {
			c.bye(closeSession, reason, 0)
		}
	})
	s.Flush()
}

// Callers are those with connections, once for each session.
func (s *Server) Callers() []id.Caller {
	var list []id.Caller
	for i := range s.hub.users {
		shard := &s.hub.users[i]
		shard.mu.RLock()
		for _, first := range shard.first {
			from := len(list)
			for c := first; c != nil; c = c.next {
				if !slices.ContainsFunc(list[from:], func(o id.Caller) bool { return o.Session == c.caller.Session }) {
					list = append(list, c.caller)
				}
			}
		}
		shard.mu.RUnlock()
	}
	return list
}

// Flush has all that was gathered for connections written.
func (s *Server) Flush() {
	for _, f := range s.flush {
		f.poke()
	}
}
