// Package streamedmessage has the texts of messages that their senders are still writing, for example a bot that shows the answer of a language model
// while it is generated.
//
// The log has two entries of such a message, its beginning and its end, and package chat stores both (chat/streamed.go). Between them one
// node, the holder, has the text in memory. It appends the parts that the sender sends, and pushes them to the members who are
// online, in transient frames that may be lost. A reader that receives a frame with a later offset than it has asks for the whole text. No
// part is stored for good. While a message is written, a row names its holder. The row is inserted in the transaction that makes the
// beginning visible, and deleted in the transaction of the end, or of a recall.
//
// No message may stay unfinished forever, or end with half a text and without a mark. So:
//
//   - The log stores one end of a message. A complete text comes only from the sender, with its length. All other ends are marked.
//   - The holder renews its rows, with the text so far: after a second, and then after growing delays, so that a message loses little if the holder is
//     killed soon. If the sender sends nothing for Config.IdleTimeout, the holder breaks the message off.
//   - If a row is not renewed for lease, the holder is gone. The coordinator breaks the message off, with the text of the row.
//   - Until then, if the sender continues at another node, that node becomes the new holder. A former holder, which was paused, changes no row that
//     names another node, and the end replaces what it pushes.
//   - The text that a broken-off message keeps was written while its sender could write in the conversation: it ends at the last successful check.
//
// Limits: on a node, a user may write Config.MaxPerUser messages at once. A conversation may have 8, and a node 10,000, with 64 MiB of
// text, of which 8 MiB are of one user. Beyond them, calls fail with too_many_streamed. Pushes of a node are bounded: with many messages, or many readers, each message is pushed less often, with
// more text.
//
// It may use sqldb, bus and cluster, and chat by an interface. All methods are safe for concurrent use.
package streamedmessage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxPerConversation = 8
	maxHeld            = 10_000   // on a node
	maxHeldBytes       = 64 << 20 // of texts on a node
	maxUserBytes       = 8 << 20  // of them, of one user
	maxParts           = 100      // of a call
	maxNote            = 100      // characters
	maxPushed          = 32 << 10 // bytes of text in a frame

	pushTick      = 50 * time.Millisecond
	pushInterval  = 200 * time.Millisecond // between two pushes of a message, at least
	quietInterval = 5 * time.Second        // after which a push without text shows readers whether they lack something
	firstRenewal  = time.Second            // the delay before a message's first renewal; it doubles with each, up to renewInterval
	renewInterval = 10 * time.Second
	sweepInterval = 5 * time.Second
	lease         = time.Minute // after which a row that was not renewed has no holder
	askTimeout    = 4 * time.Second
	stopTimeout   = 5 * time.Second // of the last renewal
)

// Chat stores the beginnings and ends of streamed messages, and knows who reads and writes.
type Chat interface {
	StartStreamed(ctx context.Context, c id.Caller, q *chatv1.StartStreamedMessageRequest) (*message.Draft, error)
	EndStreamed(ctx context.Context, c id.Conversation, seq uint64, sender id.User, content *chatv1.Content) (editSeq uint64, err error)
	BreakOffStreamed(ctx context.Context, c id.Conversation, seq uint64, sender id.User, text string, why *chatv1.BrokenOff) (editSeq uint64, err error)
	StreamedEnd(ctx context.Context, c id.Conversation, seq uint64, sender id.User) (content *chatv1.Content, editSeq uint64, err error)
	Streamed(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*message.Streamed, error)
	StreamedReaders(ctx context.Context, c id.Conversation, seq uint64, sender id.User) (message.StreamedReaders, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB   *sqldb.DB
	Chat Chat
	Bus  bus.Bus
	// Node is this node's name, and IsAlive reports whether another node is alive. If IsAlive is nil, there is no other node.
	Node    string
	IsAlive func(node string) bool
	// IsCoordinator reports whether this node breaks off the messages of nodes that are gone. If nil, it does.
	IsCoordinator func() bool
	// Send sends a frame to the connections of some users, and SendLarge to those that follow a large conversation. Both may lose it, and must
	// not block.
	Send      func(users []id.User, frame []byte)
	SendLarge func(c id.Conversation, frame []byte)
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Config of streamed messages. The zero value is the documented default.
type Config struct {
	// MaxPerUser is how many messages a user may write in parts at once, on a node; 0 is 100.
	MaxPerUser int `yaml:"max_per_user"`
	// IdleTimeout is the time without a part after which a message is broken off; 0 is 1 minute.
	IdleTimeout time.Duration `yaml:"idle_timeout"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	if c.MaxPerUser < 0 || c.MaxPerUser > maxHeld {
		return fmt.Errorf("streamed_messages.max_per_user is 1 to %d, not %d", maxHeld, c.MaxPerUser)
	}
	if c.IdleTimeout < 0 {
		return fmt.Errorf("streamed_messages.idle_timeout is a positive duration, such as 1m, not %v", c.IdleTimeout)
	}
	return nil
}

// Service has the streamed messages of this node.
type Service struct {
	deps   Deps
	config Config
	bytes  atomic.Int64 // of the texts that are held
	weight atomic.Int64 // of the messages that are held, in pushes, each at most maxWeight

	mu             sync.Mutex // guards the fields below; taken before that of a message
	held           map[key]*held
	byUser         map[id.User]*share
	byConversation map[id.Conversation]int
	changed        map[key]*held // what has to be pushed
	stopping       bool
}

// share is what a user has of a node's bounds.
type share struct {
	messages int // guarded by Service.mu
	bytes    atomic.Int64
}

type key struct {
	conversation id.Conversation
	seq          uint64
}

var (
	errTooMany = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_streamed", Message: "too many messages are being written in parts: end one first, or send the text as a whole", Retry: 5 * time.Second}
	errOffset  = errs.New(errs.Conflict, "bad_offset", "the server has less of the text, or another one: go on from the length that it names, or give the whole text as content")
	errNote    = errs.New(errs.Invalid, "bad_note", "a note has at most 100 characters, in one line"+message.TextRule)
	errSender  = errs.New(errs.Denied, "not_sender", "only its sender writes a message")
	errEnded   = errs.New(errs.Conflict, "ended", "this message has ended")
	errRequest = errors.New("malformed request about a streamed message")
	errMoving  = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "another node has this message, and does not answer; try again", Retry: time.Second}
)

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if config.MaxPerUser == 0 {
		config.MaxPerUser = 100
	}
	if config.IdleTimeout == 0 {
		config.IdleTimeout = time.Minute
	}
	s := &Service{deps: deps, config: config, held: map[key]*held{}, byUser: map[id.User]*share{}, byConversation: map[id.Conversation]int{}, changed: map[key]*held{}}
	return s, deps.DB.Migrate(ctx, "streamedmessage", migrations)
}

func subject(node string) string { return bus.NodeSubject(node, "streamed") }

// Run pushes parts, renews this node's rows, and breaks off what nobody holds, until ctx ends. Then it leaves the texts in their rows, for the
// nodes that the senders reach next.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Respond(subject(s.deps.Node), s.respond)
	if err != nil {
		return err
	}
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { backoff.Every(ctx, pushTick, func() { s.Push(ctx) }) })
	group.Go(func() { backoff.Every(ctx, firstRenewal, func() { s.Renew(ctx) }) })
	group.Go(func() {
		(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: sweepInterval, Round: s.Sweep, Failed: "streamed messages that nobody writes are broken off later", Logger: s.deps.Logger}).Run(ctx)
	})
	<-ctx.Done()
	group.Wait()
	s.release(context.WithoutCancel(ctx))
	return nil
}

func (s *Service) now() time.Time { return s.deps.Clock.Now() }

// isGone reports whether a node that a row names cannot have the text: none is named, or it is not alive.
func (s *Service) isGone(node string) bool {
	return node == "" || node == s.deps.Node || s.deps.IsAlive == nil || !s.deps.IsAlive(node)
}
