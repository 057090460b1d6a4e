// Package inbox owns each user's sync stream, each device's position in it, and the user's own view of conversations: folders, pins, mutes, archives, drafts, unread marks, and the
// delivered and read cursors.
//
// The stream is a derived timeline that fan-out writes. Its entries are events, or references to entries of conversations. sync.go brings
// a device up to date. Unread counts are not stored: unread.go subtracts the running count at the read cursor from that at the tail. A
// cursor only moves forward. Who has read a message is derived from the cursors (readers.go), and pushed to clients that have the list open
// (push_readers.go). Which devices have a message is derived from their positions (deliveries.go). A change of a user's view is committed together with the event for the user's other devices.
//
// The package may use timeline, sqldb and job, and conversations through the interface Conversations. All methods are safe for concurrent
// use. Ack and Mark do not block.
package inbox

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Rows of a user's list of conversations.
type (
	Membership = message.Membership
	Activity   = message.Activity
	Cursor     = message.Cursor
)

// Conversations are the operations on conversations that this package needs.
type Conversations interface {
	// MembershipsAfter returns the conversations with higher ids that a user is or was in, ascending, at most limit.
	MembershipsAfter(ctx context.Context, u id.User, above id.Conversation, limit int) ([]Membership, error)
	// RecentMemberships returns the conversations that a user is in (former: was in) after a cursor (nil: from the start), the last active
	// first, at most limit. It omits threads, and what the user deleted.
	RecentMemberships(ctx context.Context, u id.User, former bool, behind *Cursor, limit int) ([]Membership, error)
	// RecentThreads returns the threads that a user follows and may read, after a cursor (nil: from the start), the last active first, at most
	// limit.
	RecentThreads(ctx context.Context, u id.User, behind *Cursor, limit int) ([]Membership, error)
	// AddRoots gives threads the messages that they are under, as a user sees them now.
	AddRoots(ctx context.Context, u id.User, threads []*chatv1.Conversation) error
	// MembershipsIn returns the memberships of a user in some conversations, in no order. It omits conversations that the user never was in.
	MembershipsIn(ctx context.Context, u id.User, conversations []id.Conversation) ([]Membership, error)
	// ClearedThrough returns up to which seq a user cleared each of some conversations. It omits those that were not cleared.
	ClearedThrough(ctx context.Context, u id.User, list []id.Conversation) (map[id.Conversation]uint64, error)
	// Restore puts a conversation that a user deleted back on the list, if a message came since, in a transaction. counted is the running
	// number of the newest message.
	Restore(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, counted uint64) error
	// RecordActivity stores times of activity for a user's list, in a transaction. A time never decreases.
	RecordActivity(ctx context.Context, tx *sql.Tx, u id.User, list []Activity) error
	// LargeGroups returns the large groups of each user, in the order of the users.
	LargeGroups(ctx context.Context, users []id.User) ([][]id.Conversation, error)
	// Describe returns a conversation as a user sees it, without what this package adds.
	Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	// DescribeListed is Describe with a membership that was read during the same call.
	DescribeListed(ctx context.Context, u id.User, m Membership) (*chatv1.Conversation, error)
	// Current replaces the contents of entries by what a user sees now, after edits and recalls, and adds reactions and pins. It marks what
	// the user deleted. It fails with timeline.ErrTooLarge if that is more than a page; that of one entry never is. tails are those of some of the
	// conversations, read during the same call; they save queries, and may be nil.
	Current(ctx context.Context, u id.User, list []*message.Stored, tails map[id.Conversation]timeline.Tail) error
	// CountRemoved returns how many messages of each span were recalled, or deleted by a user for themself. No two spans are of one
	// conversation.
	CountRemoved(ctx context.Context, u id.User, spans []message.Span, tails map[id.Conversation]timeline.Tail) ([]uint64, error)
	// DeletedMessages returns the seqs from one to another of the messages that a user deleted for themself.
	DeletedMessages(ctx context.Context, u id.User, c id.Conversation, from, to uint64) ([]uint64, error)
	// UnreadMentions returns, for each span, the seqs of the messages that mention a user, the lowest first, at most 100. Recalled messages are
	// left out, and those that the user deleted. No two spans are of one conversation.
	UnreadMentions(ctx context.Context, u id.User, spans []message.Span) ([][]uint64, error)
	// Peer returns the other user of a one-to-one conversation, 0 in a group and in a conversation with oneself. cannotWrite: the two may not write to each other, for instance
	// after a block, and neither sees the other's cursors.
	Peer(ctx context.Context, u id.User, c id.Conversation) (peer id.User, cannotWrite bool, err error)
	// ReadableRange returns the seqs that a user may read as a member and that have not expired; from is above to if there are none. It fails
	// with NotFound for a user who was never a member, or may not read the root of a thread. In a thread it begins where the user began to follow.
	ReadableRange(ctx context.Context, u id.User, c id.Conversation) (from, to uint64, err error)
	// FirstRetained returns the seq of the oldest entry that has not expired, the seq after the tail if all have, and 0 if messages are kept
	// forever. Entries below the log's FirstSeq have expired as well.
	FirstRetained(ctx context.Context, c id.Conversation) (first uint64, err error)
	// AudiencePage returns one page of the users who receive the entry at seq. It examines at most limit present and former members, by id,
	// after a user. next is the start of the following page, 0 at the end.
	AudiencePage(ctx context.Context, c id.Conversation, seq uint64, after id.User, limit int) (users []id.User, next id.User, err error)
}

// Deps are what a Service needs.
type Deps struct {
	Log           timeline.Log
	DB            *sqldb.DB
	Outbox        *job.Outbox
	Conversations Conversations
	// Quarantine stores the locations of corrupt entries; may be nil.
	Quarantine Quarantine
	// HidesRead reports whether a user hides read receipts.
	HidesRead func(ctx context.Context, u id.User) (bool, error)
	// SeesPresence returns those of some users whose presence a user may see.
	SeesPresence func(ctx context.Context, by id.User, users []id.User) (map[id.User]bool, error)
	// DeviceTypes returns the types of the devices on which a user is logged in.
	DeviceTypes func(ctx context.Context, u id.User) (map[id.Device]string, error)
	// Interest brings the cursors that move on other nodes; nil: there is one node.
	Interest Interest
	// LiveNodes returns how many nodes share the work. If nil, there is one.
	LiveNodes func() int
	// OwnsPartition reports whether this node trims the streams of a partition. If nil, it trims all.
	OwnsPartition func(partition uint16) bool
	// Recorder gets acknowledgements and reads that were stored; nil: they are not recorded.
	Recorder *flightrecorder.Recorder
	Clock    clock.Clock
	Logger   *slog.Logger
}

// Config of inboxes. The zero value is the documented default.
type Config struct {
	// MaxAge of the entries of a user's stream; 0 is 90 days. A device that was offline for longer rebuilds its lists.
	MaxAge time.Duration `yaml:"max_age"`
	// MaxEntries of a user's stream; 0 is 200,000.
	MaxEntries int `yaml:"max_entries"`
	// NewDeviceMaxEntries is the length up to which a new device receives the whole stream; 0 is 10,000. Beyond it, the device gets a reset
	// and reads the lists.
	NewDeviceMaxEntries int `yaml:"new_device_max_entries"`
	// EventsMaxAge of the entries of event streams, without a limit of their number. 0 is 7 days.
	EventsMaxAge time.Duration `yaml:"-"`
}

// Service is the API of the package.
type Service struct {
	deps   Deps
	config Config

	mu             sync.Mutex // guards all below except wake and refreshSlots
	corruption     timeline.CorruptionDetector
	skipped        uint64
	pendingCursors map[cursorKey]cursors
	pendingAcks    map[deviceKey]message.Position
	wake           chan struct{}

	readerLists readerLists

	refreshes    refreshesInFlight
	refreshSlots chan struct{} // bounds concurrent refreshes of lists
}

type cursorKey struct {
	user         id.User
	conversation id.Conversation
}

type cursors struct{ delivered, read uint64 }

// maxPending bounds the queued cursors and acknowledgements. Beyond it, new ones are dropped: a later one of the same conversation or
// stream supersedes them.
const maxPending = 1 << 17

var migrations = []string{
	`CREATE TABLE views (owner BIGINT NOT NULL, conversation BIGINT NOT NULL, pinned BOOLEAN NOT NULL DEFAULT FALSE, muted BOOLEAN NOT NULL DEFAULT FALSE,
		archived BOOLEAN NOT NULL DEFAULT FALSE, draft TEXT NOT NULL DEFAULT '', read_seq BIGINT NOT NULL DEFAULT 0, read_counted BIGINT NOT NULL DEFAULT 0,
		delivered_seq BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (owner, conversation))`,
	`CREATE INDEX views_conversation ON views (conversation, owner)`,
	`CREATE TABLE device_cursors (owner BIGINT NOT NULL, device BIGINT NOT NULL, position BIGINT NOT NULL, PRIMARY KEY (owner, device))`,
	`DROP TABLE device_cursors`,
	`CREATE TABLE confirmed (owner BIGINT PRIMARY KEY, position BIGINT NOT NULL)`,
	`ALTER TABLE views ADD COLUMN unread_ms BIGINT NOT NULL DEFAULT 0`, // the last activity if there may be unread messages; else 0
	`ALTER TABLE views ADD COLUMN seen_seq BIGINT NOT NULL DEFAULT 0`,  // the log's tail when unread_ms was set
	`CREATE INDEX views_unread ON views (owner, unread_ms) WHERE unread_ms > 0 AND NOT muted AND NOT archived`,
	`CREATE INDEX views_pinned ON views (owner, conversation) WHERE pinned`,
	`CREATE TABLE listed (owner BIGINT PRIMARY KEY, position BIGINT NOT NULL, above BIGINT NOT NULL)`,
	`ALTER TABLE views ADD COLUMN marked_unread BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE TABLE folders (owner BIGINT PRIMARY KEY, list {bytes})`, // a ListFoldersResponse
	// Positions up to which devices have everything. Their maximum, or that in confirmed, is how far the stream was searched for deliveries.
	`CREATE TABLE device_positions (owner BIGINT NOT NULL, device BIGINT NOT NULL, position BIGINT NOT NULL, PRIMARY KEY (owner, device))`,
}

// New creates a Service, and migrates its tables.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.MaxAge == 0 {
		config.MaxAge = 90 * 24 * time.Hour
	}
	if config.EventsMaxAge == 0 {
		config.EventsMaxAge = 7 * 24 * time.Hour
	}
	if config.MaxEntries == 0 {
		config.MaxEntries = 200_000
	}
	if config.NewDeviceMaxEntries == 0 {
		config.NewDeviceMaxEntries = 10_000
	}
	s := &Service{deps: deps, config: config, pendingCursors: map[cursorKey]cursors{}, pendingAcks: map[deviceKey]message.Position{}, wake: make(chan struct{}, 1),
		corruption: timeline.CorruptionDetector{Observations: corruptionObservations, MaxSuspects: maxSuspects}, refreshes: refreshesInFlight{}, refreshSlots: make(chan struct{}, maxRefreshes)}
	s.readerLists.init()
	return s, deps.DB.Migrate(ctx, "inbox", migrations)
}

func streamKey(u id.User) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)} }

func conversationKey(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// Tail returns the position of the newest event of a user's stream.
func (s *Service) Tail(ctx context.Context, u id.User) (message.Position, error) {
	tail, err := s.deps.Log.Tail(ctx, streamKey(u))
	return message.Position(tail.Seq), err
}

// Tails returns the positions of the newest events of users' streams, in the order of the users. It returns all or fails.
func (s *Service) Tails(ctx context.Context, users []id.User) ([]message.Position, error) {
	return tailsOf(ctx, s.deps.Log, users, streamKey, func(t timeline.Tail) message.Position { return message.Position(t.Seq) })
}

// LargeTails returns the seqs of conversations' newest entries, in the order of the conversations. It returns all or fails.
func (s *Service) LargeTails(ctx context.Context, conversations []id.Conversation) ([]uint64, error) {
	return tailsOf(ctx, s.deps.Log, conversations, conversationKey, func(t timeline.Tail) uint64 { return t.Seq })
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

// LargeGroups returns the large groups of each user, in the order of the users. It returns all or fails.
func (s *Service) LargeGroups(ctx context.Context, users []id.User) ([][]id.Conversation, error) {
	return s.deps.Conversations.LargeGroups(ctx, users)
}
