// Package inbox owns each user's sync stream and the user's own view of conversations: pins, mutes, archives, drafts, and how
// far the user has received and read.
//
// The stream is a derived timeline that fan-out writes; its entries are references to conversations' entries, or events. Counts
// are never kept: unread is the running number at the conversation's tail less that at the read cursor, and what one sends
// moves one's own cursor. A cursor only moves forward. A change of a user's view and the event that tells the user's other
// devices are committed together.
//
// It may touch timeline, sqldb and job, and conversations by the interface Conversations. All methods may be called from many
// goroutines; Ack and Mark do not block.
package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Membership of a user in a conversation, as an interval of its log; Leave 0 for a member. Where messages expire, Join is the first
// that is kept.
type Membership struct {
	Conversation id.Conversation
	Join, Leave  uint64
	Large        bool
}

// Conversations is what the room needs to know of conversations.
type Conversations interface {
	// Of gives all conversations that a user is, or was, in.
	Of(ctx context.Context, u id.User) ([]Membership, error)
	// LargeOf gives the large groups that each of some users is in, in their order.
	LargeOf(ctx context.Context, users []id.User) ([][]id.Conversation, error)
	// Describe gives a conversation as a user sees it, but for what this room adds.
	Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	// Peer is the other of a one-to-one conversation, 0 in a group; apart: the two may not write to each other, as where one has
	// blocked the other, and neither learns how far the other has come.
	Peer(ctx context.Context, u id.User, c id.Conversation) (peer id.User, apart bool, err error)
	// May gives the seqs that a user may read, of what is kept: from is above to where nothing is; NotFound for one who never was a member.
	May(ctx context.Context, u id.User, c id.Conversation) (from, to uint64, err error)
	// Kept gives the seq of the oldest entry that a conversation's retention leaves, the tail's next where it leaves none; 0 where
	// messages are kept for ever. What is below the Head of its log is not kept either.
	Kept(ctx context.Context, c id.Conversation) (first uint64, err error)
	// Audience gives the users who get the entry at seq.
	Audience(ctx context.Context, c id.Conversation, seq uint64) (users []id.User, large bool, err error)
}

// Deps are what a Service needs.
type Deps struct {
	Log           timeline.Log
	DB            *sqldb.DB
	Outbox        *job.Outbox
	Conversations Conversations
	// Aside: the places of entries that a sync cannot read are put there; may be nil.
	Aside Aside
	// HidesRead tells whether a user keeps to themselves how far they have read.
	HidesRead func(ctx context.Context, u id.User) (bool, error)
	// Nodes is how many share the work. May be nil: this one alone.
	Nodes func() int
	// Mine tells whether this node trims the streams of a partition. May be nil: then it does.
	Mine   func(partition uint16) bool
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of inboxes; the zero value is the documented default.
type Config struct {
	// KeepFor so long entries stay in the stream; 0 is 90 days. A device that was away for longer rebuilds its lists.
	KeepFor time.Duration `yaml:"keep_for"`
	// KeepEntries of one user; 0 is 200,000.
	KeepEntries int `yaml:"keep_entries"`
	// NewDevice is given the whole stream where that has so many entries, and else told to read the lists; 0 is 10,000.
	NewDevice int `yaml:"new_device"`
}

// Service is the room.
type Service struct {
	deps   Deps
	config Config

	mu     sync.Mutex // guards the rest but wake
	doubts doubts
	passed uint64
	marks  map[place]mark
	acks   map[id.User]message.Position // the highest of a user's devices
	wake   chan struct{}
}

type place struct {
	user         id.User
	conversation id.Conversation
}

type mark struct{ delivered, read uint64 }

// queued bounds the marks and acknowledgements that wait. Over it new ones are left out: a later one of the same place says more.
const queued = 1 << 17

var steps = []string{
	`CREATE TABLE views (owner BIGINT NOT NULL, conversation BIGINT NOT NULL, pinned BOOLEAN NOT NULL DEFAULT FALSE, muted BOOLEAN NOT NULL DEFAULT FALSE,
		archived BOOLEAN NOT NULL DEFAULT FALSE, draft TEXT NOT NULL DEFAULT '', read_seq BIGINT NOT NULL DEFAULT 0, read_counted BIGINT NOT NULL DEFAULT 0,
		delivered_seq BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (owner, conversation))`,
	`CREATE INDEX views_conversation ON views (conversation, owner)`,
	`CREATE TABLE device_cursors (owner BIGINT NOT NULL, device BIGINT NOT NULL, position BIGINT NOT NULL, PRIMARY KEY (owner, device))`,
	`DROP TABLE device_cursors`,
	`CREATE TABLE confirmed (owner BIGINT PRIMARY KEY, position BIGINT NOT NULL)`,
}

// New opens the room.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.KeepFor == 0 {
		config.KeepFor = 90 * 24 * time.Hour
	}
	if config.KeepEntries == 0 {
		config.KeepEntries = 200_000
	}
	if config.NewDevice == 0 {
		config.NewDevice = 10_000
	}
	s := &Service{deps: deps, config: config, marks: map[place]mark{}, acks: map[id.User]message.Position{}, wake: make(chan struct{}, 1)}
	return s, deps.DB.Migrate(ctx, "inbox", steps)
}

func inboxOf(u id.User) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)} }

func logOf(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// Tail is the position of the newest event of a user's stream.
func (s *Service) Tail(ctx context.Context, u id.User) (message.Position, error) {
	tail, err := s.deps.Log.Tail(ctx, inboxOf(u))
	return message.Position(tail.Seq), err
}

// Tails are the positions of the newest events of users' streams, in the order of the users. It gives all or fails.
func (s *Service) Tails(ctx context.Context, users []id.User) ([]message.Position, error) {
	return tailsOf(ctx, s.deps.Log, users, inboxOf, func(t timeline.Tail) message.Position { return message.Position(t.Seq) })
}

// LargeTails are the seqs of conversations' newest entries, in the order of the conversations. It gives all or fails.
func (s *Service) LargeTails(ctx context.Context, conversations []id.Conversation) ([]uint64, error) {
	return tailsOf(ctx, s.deps.Log, conversations, logOf, func(t timeline.Tail) uint64 { return t.Seq })
}

func tailsOf[K, V any](ctx context.Context, log timeline.Log, of []K, key func(K) timeline.Key, value func(timeline.Tail) V) ([]V, error) {
	keys := make([]timeline.Key, len(of))
	for i, k := range of {
		keys[i] = key(k)
	}
	tails, err := log.Tails(ctx, keys)
	if err != nil {
		return nil, err
	}
	values := make([]V, len(of))
	for i, t := range tails {
		values[i] = value(t)
	}
	return values, nil
}

// Large gives the large groups that each of some users is in, in their order. It gives all or fails.
func (s *Service) Large(ctx context.Context, users []id.User) ([][]id.Conversation, error) {
	return s.deps.Conversations.LargeOf(ctx, users)
}
