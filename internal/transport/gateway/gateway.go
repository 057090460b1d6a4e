// Package gateway serves sockets: it accepts WebSocket and plain TCP connections (tcp.go), authenticates them, decodes frames, passes them
// to the services, and sends receipts and deliveries back.
//
// The protocol (conn.go and the files beside it; conn_state.go has the states of a connection) is pure: bytes go in, bytes come out. Two transports carry it. Plain connections live on an event
// loop (poll_linux.go) with neither goroutine nor buffer while they are idle; connections whose TLS ends in this process,
// and others without a file descriptor, have two goroutines (net_transport.go).
//
// Output collects in the connection's buffer, and Flush sends it in one write. The log's listener
// calls Flush after each batch, and a delivery calls it after each message of the bus. No store waits for a socket, and no socket for a
// store: if a client reads too slowly, a hint to pull replaces its events, and a connection whose client reads nothing at all
// is closed (slow_consumer.go).
//
// It may use chat, inbox, presence and account by the small interfaces below, any other call through an Invoker, and the
// bus. All exported methods may be called from many goroutines.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/bus"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"golang.org/x/time/rate"
)

// Chat stores messages and typing notices.
type Chat interface {
	// Submit stores a draft and calls its Done. It does not block.
	Submit(d *message.Draft)
	Typing(ctx context.Context, u id.User, c id.Conversation) error
	HighestCounter(ctx context.Context, c id.Caller) (uint64, error)
}

// Inbox reads users' streams. A batch method returns one result for each argument, in order, or an error.
type Inbox interface {
	// AppendSync appends the protobuf of a SyncResponse to b.
	AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error)
	// Tails are the positions of users' newest events.
	Tails(ctx context.Context, users []id.User) ([]message.Position, error)
	// Ack and Mark do not block.
	Ack(c id.Caller, at message.Position)
	Mark(u id.User, c id.Conversation, delivered, read uint64)
	// Large are the large groups that each of some users is in.
	LargeGroups(ctx context.Context, users []id.User) ([][]id.Conversation, error)
	// LargeTails are the seqs of large groups' newest entries.
	LargeTails(ctx context.Context, conversations []id.Conversation) ([]uint64, error)
	// WatchReaders replaces the messages whose new readers are pushed to a connection, by calls of push. Of several calls for a connection, the one
	// with the highest turn holds. It lasts until UnwatchReaders, which is called once ctx has ended, and does not block.
	WatchReaders(ctx context.Context, u id.User, connection any, turn uint32, messages []*gatewayv1.WatchedMessage, push func(*gatewayv1.ReadersUpdate)) error
	UnwatchReaders(connection any)
}

// Posts tells connections which posts change that they show.
type Posts interface {
	// WatchPosts replaces the posts whose changes are pushed to a connection, by calls of push that must not block, and returns those that have another version
	// than the client shows, or are not for the user. Turns and the end are as those of WatchReaders.
	WatchPosts(ctx context.Context, u id.User, connection any, turn uint32, posts []*gatewayv1.WatchedPost, push func(posts []uint64)) (changed []uint64, err error)
	UnwatchPosts(connection any)
}

// Directory registers the sessions that are connected here, and the large conversations that are followed here.
type Directory interface {
	// Connected reports whether the connection counts as away until it says what it is.
	Connected(c id.Caller) (away bool)
	// Announced returns when deliveries to the user reach this node, or after a timeout: then Recheck is called later.
	Announced(ctx context.Context, u id.User)
	Disconnected(c id.Caller, away bool)
	Active(c id.Caller)
	SetAway(c id.Caller, away bool)
	Followers
}

// Presence is what users see of each other.
type Presence interface {
	Watch(ctx context.Context, u id.User, s id.Session, users []id.User) ([]*presencev1.Presence, error)
}

// Rooms are the chat rooms that connections enter.
type Rooms interface {
	// Enter calls answer, once, if the connection may enter, before anything is pushed to it. answer must not block.
	Enter(ctx context.Context, u id.User, room id.Room, v message.RoomViewer, answer func(*chatv1.RoomEntry)) error
	// Leave does not block.
	Leave(room id.Room, v message.RoomViewer)
}

// Followers registers the large conversations that connections of this node follow. The methods may be called from many goroutines.
type Followers interface {
	// Follow does not block.
	Follow(c id.Conversation, on bool)
	// Followed returns like Announced, and reports whether the conversation's messages reach this node.
	Followed(ctx context.Context, c id.Conversation) bool
}

// Accounts authenticates.
type Accounts interface {
	Verify(ctx context.Context, token string) (id.Caller, error)
	VerifyTicket(ctx context.Context, ticket string) (id.Caller, error)
	// Live returns an error if the caller's session has ended.
	Live(ctx context.Context, c id.Caller) error
}

// Invoker makes any call of the API: method as /rialto.chat.v1.ChatService/History, in and out as protobuf or JSON.
type Invoker interface {
	Invoke(ctx context.Context, c id.Caller, method string, in []byte, json bool) ([]byte, error)
}

// Deps are what a Server needs.
type Deps struct {
	Chat      Chat
	Inbox     Inbox
	Directory Directory
	Presence  Presence
	Rooms     Rooms
	Posts     Posts
	Accounts  Accounts
	Invoker   Invoker
	Bus       bus.Bus
	// Calls records the metrics of sends and of calls on sockets; nil: they are not recorded.
	Calls  *telemetry.Calls
	Clock  clock.Clock
	Logger *slog.Logger
	// Recorder gets what was pushed; nil: it is not recorded.
	Recorder *flightrecorder.Recorder
	// Tracer records the sends and pushes of sampled messages; nil: none.
	Tracer *tracing.Tracer
	// Answers bounds the answers that wait for clients; nil: they are not bounded.
	Answers *outputlimit.Limits
	// Overload has the workers of calls; nil: some of its own.
	Overload *overload.Calls
	// SocketWork returns the class of workers of a call by its method, and its priority; nil: all calls are of one class and priority.
	SocketWork func(method string) (overload.Class, overload.Priority)
	// Limits are the rate limits of users; nil: none.
	Limits *ratelimit.Table
	// Proxied means that all requests come through a proxy, which sets the client's address in X-Forwarded-For.
	Proxied bool
	// Input bounds the memory of incomplete input; nil is a bound of the default size.
	Input *inputlimit.Memory
	// Connections counts the unauthenticated connections; nil: they are not counted.
	Connections *inputlimit.Connections
	// CheckAddress fails if no connection from a network is accepted. It does not block. If nil, all are.
	CheckAddress func(from netip.Prefix) error
	// Node is this node's name.
	Node string
	// MapURL is what clients are told of a map service (chat.map_url); empty: nothing.
	MapURL string
	// PacingAccepts reports whether this node accepts connections more slowly than they come. If nil, it does not.
	PacingAccepts func() bool
	// Yield lets other goroutines go on, and those that wait for the network, while much is pushed or written; nil is runtime.Gosched.
	Yield func()
	// MoreThreads is called in each second in which messages cannot be stored: what stores them needs threads beside the one that reads more. It does not block.
	// If nil, nothing is.
	MoreThreads func()
	// PushWithin: texts of large conversations that are at least this old are not pushed. Followers get a hint, and read the present text: it may have been edited
	// or recalled since fan-out looked. 0: texts of any age are pushed.
	PushWithin time.Duration
	// ClockBehind is by how much the clock of some node is behind this node's; nil: by nothing. Entries that it stored look older by so much.
	ClockBehind func() time.Duration
	// Partition returns the partition of a user or a conversation, for Recheck; nil: all are in partition 0.
	Partition func(of uint64) int
}

// Config of the gateway; the zero value is the documented default.
type Config struct {
	// Origins besides the server's own from which browsers may connect, as https://app.example.com; * is any.
	Origins []string `yaml:"origins"`
	// MaxConnections bounds the connections of this node; 0 is 100,000. More are answered 503.
	MaxConnections int `yaml:"max_connections"`
	// MaxConnectionsUser bounds the connections of one user; 0 is 200. One more is closed with a reason.
	MaxConnectionsUser int `yaml:"max_connections_user"`
	// MaxHeldRequests bounds the event streams and long polls of this node, which count as connections and take more memory than
	// sockets; 0 is 10,000. More are answered 503.
	MaxHeldRequests int `yaml:"max_held_requests"`
	// Heartbeat is the interval of pings that clients are asked for; 0 is 5 s.
	Heartbeat time.Duration `yaml:"heartbeat"`
	// LongestHeartbeat bounds the interval of pings of clients in the background, which find out how long their network keeps an idle connection; 0 is 5 min.
	// If nothing is sent to a client that vanishes, it counts as connected for that long.
	LongestHeartbeat time.Duration `yaml:"longest_heartbeat"`
	// Grace is the silence after which a connection is closed; 0 is 30 s.
	Grace time.Duration `yaml:"grace"`
	// AuthWithin is how long the first frame may take, if the handshake carried no credentials; 0 is 10 s.
	AuthWithin time.Duration `yaml:"auth_within"`
	// Loops is the number of event loops; 0 is half the processors, at least one.
	Loops int `yaml:"loops"`
	// DrainOver is the time over which a stopping node tells its connections, one after the other, to reconnect elsewhere; 0 is 5 s. It serves
	// them until then. Beyond 8 s, clients wait the remainder before they reconnect.
	DrainOver time.Duration `yaml:"drain_over"`
	// CheckEvery is the interval at which each connection is compared with the stores, because its last push may have been lost; 0 is 5 min.
	CheckEvery time.Duration `yaml:"check_every"`
	// LargeGroupPushes bounds the messages of one large group or channel that are pushed to connections of this node, in a second; 0 is 2,500,000
	// for each processor. Beyond it, connections get hints up to where the group has grown.
	LargeGroupPushes int `yaml:"large_group_pushes"`
	// LargePushes bounds the same for all large groups and channels together; 0 is 3,000,000 for each processor.
	LargePushes int `yaml:"large_pushes"`
	// HintEvery is the interval of hints about a large group that is beyond its bound; 0 is 1 s.
	HintEvery time.Duration `yaml:"hint_every"`
}

// Bounds returns how many connections a node has at most, and how many of them are requests that are held.
func (s *Server) Bounds() (connections, held int) {
	return s.config.MaxConnections, s.config.MaxHeldRequests
}

func (c Config) withDefaults() Config {
	if c.MaxConnections == 0 {
		c.MaxConnections = 100_000
	}
	if c.MaxConnectionsUser == 0 {
		c.MaxConnectionsUser = 200
	}
	if c.MaxHeldRequests == 0 {
		c.MaxHeldRequests = 10_000
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 5 * time.Second
	}
	if c.LongestHeartbeat == 0 {
		c.LongestHeartbeat = max(5*time.Minute, c.Heartbeat)
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
	if c.LargeGroupPushes == 0 {
		c.LargeGroupPushes = 2_500_000 * runtime.GOMAXPROCS(0)
	}
	if c.LargePushes == 0 {
		c.LargePushes = 3_000_000 * runtime.GOMAXPROCS(0)
	}
	if c.HintEvery == 0 {
		c.HintEvery = time.Second
	}
	return c
}

// Check finds settings that contradict each other.
func (c Config) Check() error {
	c = c.withDefaults()
	if c.Grace < 2*c.Heartbeat || c.Grace > wheelSeconds/2*time.Second {
		return fmt.Errorf("gateway.grace (%v) is at least two of gateway.heartbeat (%v), and at most %v", c.Grace, c.Heartbeat, wheelSeconds/2*time.Second)
	}
	if c.LongestHeartbeat < c.Heartbeat || c.LongestHeartbeat > time.Hour {
		return fmt.Errorf("gateway.longest_heartbeat (%v) is at least gateway.heartbeat (%v), and at most an hour", c.LongestHeartbeat, c.Heartbeat)
	}
	if c.LargeGroupPushes < 1 || c.LargePushes < 1 || c.HintEvery < 100*time.Millisecond || c.HintEvery > time.Minute {
		return fmt.Errorf("gateway.large_group_pushes (%d) and gateway.large_pushes (%d) are at least 1, and gateway.hint_every (%v) is 100 ms to 1 min", c.LargeGroupPushes, c.LargePushes, c.HintEvery)
	}
	return nil
}

// Limits that are not configured.
const (
	maxFrame         = 1 << 20   // of a client's message, after decompression
	maxFirstMessage  = 16 << 10  // of a message before its connection is authenticated
	maxPending       = 1 << 20   // bytes that wait for a connection; beyond, calls are refused, and for small frames it is closed
	hintAbove        = 256 << 10 // beyond, events are left out and a hint takes their place
	maxInFlight      = 1024      // sends without a receipt; beyond, no more is read
	maxInFlightBytes = 1 << 20   // bytes of them, likewise
	maxRooms         = 10        // that a connection is in
	maxCalls         = 32        // calls and syncs at once on a connection
	maxUndecodable   = 10        // frames that cannot be decoded, before the connection is closed
	maxParts         = 64        // of a fragmented message
	maxEmptyFrames   = 1000      // empty frames a second, including pings of both kinds
	callTime         = 30 * time.Second
	stallTime        = 30 // seconds for which a client may read nothing although output waits
)

// Server serves the sockets of one node.
type Server struct {
	deps          Deps
	config        Config
	hub           hub
	heats         heats
	storm         storm
	wheel         wheel
	throttled     connList // reading is paused until their limits allow more
	unreadHolders connList // answers to them are not written yet
	flush         []*flusher
	lanes         atomic.Pointer[[]*largeLane] // nil before Run
	loops         []*loop
	stats         Stats
	reconciler    *reconciler
	heldLimits    *heldLimits
	failedAt      atomic.Int64 // the Unix second in which a message could last not be stored
	outages       outages
	decoders      chan struct{} // as many large frames as are decoded at once
	sends         *telemetry.Call
	opened        time.Time    // what drafts' times count from
	inFlight      atomic.Int64 // what the sends without a receipt weigh (send_window.go)
	senders       senders
	parked        *budget.Budget // of sends without a receipt that wait for something else than the log

	now           atomic.Uint32 // seconds since the server was made, and one; by Run
	resumed       atomic.Uint32 // second at which the process ran again after it had stood still
	began, ticked time.Time     // ticked is Run's
	serving       sync.WaitGroup
	ctx           context.Context // ends when Run does; calls under way end with it
	stop          context.CancelFunc
	next          atomic.Uint32

	refusedOrigins rate.Sometimes // limits the log

	mu       sync.Mutex // guards the fields below and what depends on them: no connection is added after draining was set
	draining bool
	released bool // receivers were told to reconnect elsewhere, and no more are added
}

// Stats count since the start, but Connections, Streams, Held, Hot and SendsHeld, which are now. Streams are those whose file is not the gateway's own; Held
// are those of them that only receive.
type Stats struct {
	Connections, Streams, Held, Accepted, Refused, FramesIn, Sends, Receipts, Events, Hints, Slow, Silent, Throttled, BytesIn, BytesOut atomic.Int64
	// Of large conversations: pushes of messages; pushes that were left out because the conversation was hot; hints to connections in their
	// place; how often one became hot, and cooled down; and how many are hot.
	LargePushed, LargeWithheld, LargeHints, HeatRises, HeatFalls, Hot atomic.Int64
	Deferred                                                          atomic.Int64 // handshakes of clients that start from nothing, in a reconnect storm
	Unknown                                                           atomic.Int64 // deliveries of kinds that this release does not know
	SendsHeld, SendsHeldTotal                                         atomic.Int64 // sends that are held now, and that were
}

// Capacity is how many connections the node accepts.
func (s *Server) Capacity() int64 { return int64(s.config.MaxConnections) }

// Stats returns the counters. They may be read at any time.
func (s *Server) Stats() *Stats { return &s.stats }

// New returns a server, which works while Run runs.
func New(deps Deps, config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.Check(); err != nil {
		return nil, err
	}
	if deps.Input == nil {
		deps.Input = inputlimit.NewMemory(0)
	}
	if deps.Yield == nil {
		deps.Yield = runtime.Gosched
	}
	if deps.Overload == nil {
		deps.Overload = overload.NewCalls(overload.Config{}, nil)
	}
	s := &Server{deps: deps, config: config, decoders: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), sends: deps.Calls.Add("send"), opened: time.Now(),
		refusedOrigins: rate.Sometimes{First: 20, Interval: 10 * time.Second}}
	for _, name := range []string{"sync", "typing", "watch", "watch_readers", "watch_posts", "enter_room"} {
		deps.Calls.Add(name)
	}
	s.initWindows()
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.heats.server, s.heats.scale, s.heats.listed = s, 1, map[id.Conversation]struct{}{}
	s.hub.init(deps.Directory, &s.heats)
	s.reconciler, s.heldLimits = newReconciler(s), newHeldLimits()
	s.began = time.Now()
	s.ticked = s.began
	s.now.Store(1) // 0 stands for no second in connections
	for range config.Loops {
		s.flush = append(s.flush, newFlusher((&pollYielder{byPoller: s.deps.Yield}).yield))
		l, err := newLoop(s)
		if err != nil {
			return nil, err
		}
		s.loops = append(s.loops, l)
	}
	return s, nil
}

// Run serves until ctx ends. It then drains: it tells all connections to reconnect elsewhere, and closes the remaining ones. It returns
// when all goroutines of the gateway have.
func (s *Server) Run(ctx context.Context) error {
	var group sync.WaitGroup
	lanes, cancels, err := s.subscribe()
	if err != nil {
		return err
	}
	inner, stop := context.WithCancel(context.Background())
	for _, f := range s.flush {
		group.Go(func() { f.run(inner) })
	}
	for _, l := range lanes {
		group.Go(func() { l.run(inner) })
	}
	for _, l := range s.loops {
		group.Go(func() { l.run(inner) })
	}
	group.Go(func() { s.reconciler.run(inner) })
	group.Go(func() { s.heats.run(inner) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	s.ticked = time.Now()
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
	s.closeRemaining()
	s.stop()
	s.serving.Wait()
	stop()
	for _, l := range s.loops {
		l.wake()
	}
	group.Wait()
	return nil
}

// suspendedAfter is how late a tick must be to conclude that the process was stopped, or its machine slept.
const suspendedAfter = 3 * time.Second

// tick checks the connections whose deadlines are due. Time is the monotonic clock's. After a suspension of the process, all deadlines
// restart: what clients sent meanwhile still waits to be read.
func (s *Server) tick() {
	at := time.Now()
	now := uint32(at.Sub(s.began)/time.Second) + 1
	if at.Sub(s.ticked) > suspendedAfter {
		s.resumed.Store(now)
	}
	s.ticked = at
	s.now.Store(now)
	s.wheel.advance(now, s.checkDeadlines)
	s.resumeThrottled(now)
	s.closeUnread(now)
	s.outages.forget(at)
	s.Flush()
}

// EndSession closes the connections of a session, with a reason.
func (s *Server) EndSession(u id.User, session id.Session, reason string) {
	s.hub.each(u, func(c *conn) {
		if c.caller.Session == session {
			c.sayGoodbye(closeSession, reason, 0)
		}
	})
	s.Flush()
}

// Flush writes all that was gathered for connections.
func (s *Server) Flush() {
	for _, f := range s.flush {
		f.signal()
	}
}
