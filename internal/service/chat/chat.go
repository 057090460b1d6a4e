// Package chat owns conversations, their members, and the log of each conversation.
//
// Membership is an interval of the log, defined by control entries. The SQL rows are a projection of them. After a crash, the next load
// applies the entries that the rows lack. Each append is conditional on the access version of the conversation, which is the seq of the
// last control entry. So no node can accept a message from a sender who was removed or blocked on another node.
//
// # Sending
//
// Each conversation has a mailbox. While it is open, a draft goes straight to the log. Otherwise drafts queue, and one goroutine owns the
// mailbox. mailbox.go has the phases and all transitions:
//
//	open -------> loading <------ draining
//	 | ^           |   ^             ^
//	 | |     state |   | state       | drafts with another access
//	 | |    loaded |   | is stale    | version are in flight
//	 | |           v   |             |
//	 | |  queue   delivering --------+
//	 | +- empty -- ^
//	 |             | entry stored or rejected
//	 +--------> changing
//
// A mailbox leaves open for loading if the state is missing or would reject the draft, if the draft has an upload, or if the log rejected
// an append as stale. It leaves open for changing while a control entry is stored. It leaves draining when the last draft in flight has
// completed. send_permission.go decides who may send, sender_gate.go keeps the order of a device after a temporary rejection,
// send_order.go holds a draft until the one that it follows is stored, and validate.go checks contents.
//
// # Dependencies
//
// The package may use timeline, sqldb, idgen and job, and account through the interface Relations. All methods are safe for concurrent
// use. Submit does not block.
package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/overload"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Relations between users.
type Relations interface {
	Blocked(ctx context.Context, a, b id.User) (bool, error)
	Friends(ctx context.Context, a, b id.User) (bool, error)
	Exist(ctx context.Context, users []id.User) error
}

// Organizations say what the organizations of two users allow.
type Organizations interface {
	// RelationOf reports whether two users may not write to each other, whether they may only as friends, and whether they may where only
	// friends may.
	RelationOf(ctx context.Context, a, b id.User) (refused, friendsOnly, likeFriends bool, err error)
	// Version changes when the relation of two users may have changed. It does no I/O.
	Version(a, b id.User) uint64
}

// MessageIDs generates the ids of messages.
type MessageIDs interface {
	Next(typ uint8, c id.Conversation) (id.Message, error)
}

// IDs generates record ids.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are what a Service needs.
type Deps struct {
	Log        timeline.Log
	DB         *sqldb.DB
	IDs        IDs
	MessageIDs MessageIDs
	Relations  Relations
	// Organizations may restrict who writes to whom. May be nil.
	Organizations Organizations
	// CheckMembers refuses changes of groups whose members follow a department, and users from outside in circles. May be nil.
	CheckMembers CheckMembers
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls  *outgoing.Calls
	Clock  clock.Clock
	Logger *slog.Logger
	// Tracer records the appends of sampled messages; nil: none.
	Tracer *tracing.Tracer
	// CheckAdd returns the users whom by may neither add to a group nor invite, and those of the others whom by may only invite. It fails at
	// a rate limit. If the users are neither added nor invited after all, refund returns what was counted against the limit. If nil, anyone
	// may be added.
	CheckAdd func(ctx context.Context, by id.User, users []id.User) (refused, invited []id.User, refund func(), err error)
	// MayOwn reports whether a user may own a group. If nil, everybody may.
	MayOwn func(ctx context.Context, u id.User) (bool, error)
	// ChargeCopy fails while a user forwards more bytes than the user may send: a request of 100 bytes may store a text of 400 KB. If nil,
	// nothing is limited.
	ChargeCopy func(u id.User, bytes int) error
	// Yield lets other goroutines go on, also those that wait for input, during long pages of history. If nil, pages do not.
	Yield func()
	// Overload refuses messages while they wait for the log for too long. If nil, none are.
	Overload *overload.Gate
	// SingleNode: no other process writes to the log and the database, so that the state in memory is always the newest.
	SingleNode bool
	// AwaitPushes returns when the node has pushed what fan-out has given it. A single node asks before it acknowledges an edit or a recall. If nil, nothing waits.
	AwaitPushes func(ctx context.Context) error
	// OwnsPartition reports whether this node deletes the expired messages of a partition. If nil, it deletes those of all.
	OwnsPartition func(partition uint16) bool
	// CheckUploads returns for each i why by[i] may not send uploads[i] to a conversation, and records the use of the others. If nil,
	// all are allowed.
	CheckUploads func(ctx context.Context, c id.Conversation, by []id.User, uploads []id.Upload) (refused []error)
	// Words checks texts and titles. If nil, all are accepted.
	Words Words
	// Hold puts a message into the queue of moderators instead of the log, and says why. Token is the same for a retry. It returns the error for the sender. If nil, no
	// message waits for moderators: it is refused.
	Hold func(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token, why string) error
	// ReviewFiles returns those of some uploads that are a user's own, for the webhook before_send. May be nil.
	ReviewFiles func(ctx context.Context, by id.User, uploads []id.Upload) ([]webhook.File, error)
	// LimitedSince returns when moderators limited a user, in milliseconds since 1970; 0: they did not. It does not block. If nil, nobody is limited.
	LimitedSince func(u id.User) int64
	// CheckLinkPreview fails unless the server made a link preview for a user. If nil, no message has one.
	CheckLinkPreview func(u id.User, p *chatv1.LinkPreview) error
	// CheckPicture fails if a user may not make an upload a group's picture; it changes nothing. KeepPicture checks again and keeps the
	// upload, once the change is allowed. If both are nil, all uploads are allowed.
	CheckPicture, KeepPicture func(ctx context.Context, by id.User, upload id.Upload) error
	// OnExpired is called after a conversation's messages from before a time were deleted, and again in each round. May be nil.
	OnExpired func(ctx context.Context, c id.Conversation, beforeMs int64) error
	// Outbox stores events for users' streams: for admins about join requests, for invited users, and for who began or ended to follow a
	// channel. If nil, none are sent.
	Outbox *job.Outbox
	// SendTransient sends a frame to the connections of some users. May be nil.
	SendTransient func(users []id.User, frame []byte)
	// HidesPresence reports whether a user shows nobody that they are online; then nobody sees them typing either. May be nil.
	HidesPresence func(ctx context.Context, u id.User) (bool, error)
	// FollowersChanged is called after a user began or ended to follow a channel, whose newest entry is at seq. It may be lost. May be nil.
	FollowersChanged func(c id.Conversation, seq uint64, u id.User, follows bool)
	// MarkFollowed makes what a channel has up to a tail read by a user who begins to follow it, in the transaction of the follower's row.
	// May be nil.
	MarkFollowed func(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, tail timeline.Tail) error
	// FollowChanged is called in the transaction in which a user begins or ends to follow a channel. May be nil.
	FollowChanged func(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, follows bool) error
	// OnRecalled is called in the transaction of a recall. May be nil.
	OnRecalled func(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64) error
	// OnErased is called in the transaction that erases messages of a conversation, some of those from one seq to another. May be nil.
	OnErased func(ctx context.Context, tx *sql.Tx, c id.Conversation, from, to uint64) error
	// OnUserErased is called in a transaction once all messages of a user are erased; perhaps again. May be nil.
	OnUserErased func(ctx context.Context, tx *sql.Tx, u id.User) error
	// Erasing returns the users whose data are being erased: reads show nothing of what they wrote. The caller does not change it. If nil, there are none.
	Erasing func() map[id.User]bool
	// OnStreamed is called in the transaction in which a streamed message begins or has ended, and reports whether it was being written. A
	// change may be repeated. May be nil.
	OnStreamed func(ctx context.Context, tx *sql.Tx, change message.StreamedChange) (was bool, err error)
	// OnMentioned is called in the transaction that stores whom a message of a large group mentions, 0 for all members; perhaps more than once for a
	// message. May be nil.
	OnMentioned func(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64, users []id.User) error
	// RegisteredMs returns when a user registered, in milliseconds since 1970; 0: before all notices. If nil, all users did.
	RegisteredMs func(ctx context.Context, u id.User) (int64, error)
	// ExternalIDs returns the app's own ids of users, "" for none, for the relation webhook. May be nil.
	ExternalIDs func(ctx context.Context, users []id.User) ([]string, error)
}

// Config of chat. The zero value is the documented default.
type Config struct {
	// WhoMayWrite in one-to-one conversations: anyone (default), friends, or webhook, which calls relation_webhook. A block always wins.
	WhoMayWrite string `yaml:"who_may_write"`
	// RelationWebhook decides whether two users may write to each other (docs/operating/webhooks.md).
	RelationWebhook webhook.Config `yaml:"relation_webhook"`
	// BeforeSend is asked before a message or an edit is stored (docs/operating/webhooks.md). Its timeout is 300ms by default, and at most 5s.
	BeforeSend webhook.Config `yaml:"before_send"`
	// BeforeSendOnFailure is what happens to messages while before_send does not answer: refuse (default; clients send them again), allow, or hold: they wait for a moderator.
	BeforeSendOnFailure string `yaml:"before_send_on_failure"`
	// BeforeSendParts is what readers see of a message that is written in parts, before before_send has decided about its whole text: hide (default), only
	// that it is being written; or show, the parts.
	BeforeSendParts string `yaml:"before_send_parts"`
	// RelationTTL is how long an answer of the relation webhook is cached; 0 is 1 minute.
	RelationTTL time.Duration `yaml:"relation_ttl"`
	// LargeGroupAbove is the number of members above which members read a group from its log instead of their inboxes; 0 is 500. A group
	// becomes small again at nine tenths of it.
	LargeGroupAbove int `yaml:"large_group_above"`
	// MaxMembers of a group; 0 is 10,000.
	MaxMembers int `yaml:"max_members"`
	// MaxFollowers of a channel; 0 is 1,000,000.
	MaxFollowers int `yaml:"max_followers"`
	// MaxLargeGroups that a user can join; 0 is 1,000. Each sync and each connection reads the tails of all of them.
	MaxLargeGroups int `yaml:"max_large_groups"`
	// Retention of messages: forever (default), company (180 days), private (7 days), or a number of days, such as 90d. A conversation
	// may have a shorter one. Expired messages are deleted for good.
	Retention string `yaml:"retention"`
	// ColdAfter is the age from which messages are packed into compressed files, next to the files that users send: never (default), or a
	// number of days, such as 90d. They are read as all others.
	ColdAfter string `yaml:"cold_after"`
	// ColdMinEntries is for tests: see coldtier.Config.
	ColdMinEntries int `yaml:"-"`
	// RecallWithin is how long after sending a message its sender can recall it; 0 is 24 hours. Admins of groups are not limited.
	RecallWithin time.Duration `yaml:"recall_within"`
	// MapURL is the https address of a map service, with {latitude} and {longitude}, which clients replace by the degrees of a location message:
	// https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}. They show it as a link, and load nothing from there. Default none: no link.
	MapURL string `yaml:"map_url"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	if err := c.RelationWebhook.Check(); err != nil {
		return fmt.Errorf("chat.relation_webhook: %w", err)
	}
	if err := c.checkBeforeSend(); err != nil {
		return err
	}
	if _, err := parseRetention(c.Retention); err != nil {
		return err
	}
	if _, err := c.ColdAge(); err != nil {
		return err
	}
	if err := checkMapURL(c.MapURL); err != nil {
		return err
	}
	if c.RecallWithin < 0 {
		return fmt.Errorf("chat.recall_within is a positive duration, such as 24h, not %v", c.RecallWithin)
	}
	switch c.WhoMayWrite {
	case "", "anyone", "friends", "webhook":
	default:
		return fmt.Errorf("chat.who_may_write is anyone, friends or webhook, not %q", c.WhoMayWrite)
	}
	if (c.WhoMayWrite == "webhook") != c.RelationWebhook.Set() {
		return errors.New("set chat.who_may_write to webhook and chat.relation_webhook together, or neither")
	}
	return nil
}

// Service is the API of the package.
type Service struct {
	deps       Deps
	config     Config
	loadSlots  chan struct{} // bounds concurrent loads
	applySlots chan struct{} // bounds updates that are applied concurrently
	// senderSlots bounds those of one sender. A slot of it is acquired before one of applySlots.
	senderSlots senderSlots
	applying    drain         // the updates that are applied for their senders
	minTextAge  time.Duration // see refresh_pushed.go
	// textChangedMs is when an edit or a recall of a message younger than minTextAge was last applied, on a single node.
	textChangedMs atomic.Int64
	maxCached     int // bounds conversations
	holdBudget    *holdBudget
	holdTime      time.Duration // bounds the wait for a previous message
	// controlTimeout bounds the wait for a control entry.
	controlTimeout   time.Duration
	withoutDeletions usersWithoutDeletions
	followBatches    followBatches
	retention        uint32      // the deployment's, in seconds; 0: forever
	customRetention  atomic.Bool // some conversation may have its own retention
	// expired counts the messages deleted since the start.
	expired     atomic.Uint64
	assignments [timeline.Partitions]atomic.Uint64 // how often each partition was assigned to this node
	assigned    chan struct{}                      // signals Run that partitions were assigned

	mu            sync.Mutex // guards conversations; held for look-ups only
	conversations map[id.Conversation]*conversation
	typing        typingLimiter
	threadUpdates threadUpdates

	projections  pendingProjections
	relationHook *webhook.Guard // decides who may write; may be nil
	beforeSend   *beforeSend    // decides which messages are stored; may be nil
}

// defaultMaxCached bounds the conversations in memory. Beyond it, idle ones are evicted.
const defaultMaxCached = 200_000

// New creates a Service, and migrates its tables.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.LargeGroupAbove == 0 {
		config.LargeGroupAbove = 500
	}
	if config.MaxMembers == 0 {
		config.MaxMembers = 10_000
	}
	if config.MaxFollowers == 0 {
		config.MaxFollowers = 1_000_000
	}
	if config.MaxLargeGroups == 0 {
		config.MaxLargeGroups = 1000
	}
	if config.RelationTTL == 0 {
		config.RelationTTL = time.Minute
	}
	if config.RecallWithin == 0 {
		config.RecallWithin = 24 * time.Hour
	}
	if config.WhoMayWrite == "" {
		config.WhoMayWrite = "anyone"
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, loadSlots: make(chan struct{}, 64), applySlots: make(chan struct{}, 64), assigned: make(chan struct{}, 1), maxCached: defaultMaxCached, minTextAge: minTextAge, controlTimeout: defaultControlTimeout, holdTime: defaultHoldTime, holdBudget: newHoldBudget(), conversations: map[id.Conversation]*conversation{}}
	if config.RelationWebhook.Set() {
		hook, err := webhook.NewGuard(config.RelationWebhook, webhook.Kind{Kind: outgoing.Relation, Calls: deps.Calls}, deps.Clock, 32, relationWait)
		if err != nil {
			return nil, fmt.Errorf("chat.relation_webhook: %w", err)
		}
		s.relationHook = hook
	}
	if config.BeforeSend.Set() {
		if err := s.initBeforeSend(); err != nil {
			return nil, fmt.Errorf("chat.before_send: %w", err)
		}
	}
	s.typing.last = map[typingKey]int64{}
	s.followBatches.init()
	if err := deps.DB.Migrate(ctx, "chat", migrations); err != nil {
		return nil, err
	}
	return s, s.initRetention(ctx)
}

func logKey(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// conversation is the state of a conversation in the memory of this node.
type conversation struct {
	id id.Conversation

	// changeMu serialises changes of the conversation and their projection. It is locked before mu.
	changeMu     sync.Mutex
	importAccess uint64 // the access version with which this node imports, see import_ownership.go; guarded by changeMu

	mu           sync.Mutex       // guards all below; mailbox says what is read without it
	state        *state           // nil: not loaded. It is replaced, never changed.
	detached     bool             // evicted from Service.conversations: look the conversation up again
	horizon      retentionHorizon // the oldest entry that is kept
	lastVerified verification     // when the state was compared with the log
	projecting   uint64           // the access version whose rows are being written; 0: none
	mailbox      mailbox
}

func (s *Service) conversation(c id.Conversation) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	conv := s.conversations[c]
	if conv == nil {
		if len(s.conversations) >= s.maxCached {
			s.evict()
		}
		conv = &conversation{id: c}
		s.conversations[c] = conv
	}
	return conv
}

// evict removes idle conversations from memory until half of the bound remains. Those that expect retries of rejected messages remain, unless all
// others together are too few. The caller holds s.mu.
func (s *Service) evict() {
	if s.evictIdle(false); len(s.conversations) >= s.maxCached {
		s.evictIdle(true)
	}
}

func (s *Service) evictIdle(withGates bool) {
	now := s.deps.Clock.Now()
	for c, conv := range s.conversations {
		if conv.changeMu.TryLock() {
			if conv.mu.TryLock() {
				if conv.isIdle() && (!conv.mailbox.gate.isClosed(now) || withGates) {
					// A caller that still has conv uses its state: the log checks each append.
					delete(s.conversations, c)
					conv.detached = true
				}
				conv.mu.Unlock()
			}
			conv.changeMu.Unlock()
		}
		if len(s.conversations) <= s.maxCached/2 {
			return
		}
	}
}

// isIdle reports whether nothing is under way. The caller holds c.mu.
func (c *conversation) isIdle() bool {
	return c.mailbox.is(phaseOpen) && !c.mailbox.holding.Load() && c.mailbox.inFlight.Load() == 0
}

var (
	errNoConversation = errs.New(errs.NotFound, "no_conversation", "there is no such conversation, or you are not in it")
	errNotAllowed     = errs.New(errs.Denied, "not_allowed", "your role in this group does not allow it")
)
