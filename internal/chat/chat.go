// Package chat owns conversations, their members, and each conversation's log.
//
// Membership is an interval of the log, set by control entries; the SQL rows are a projection of them, and what a crash left
// out is applied at the next load. Every append is conditional on the version of the conversation's access list (the seq of
// its last control entry that changed it), so that nobody admits a sender who was removed or blocked.
//
// It may touch timeline, sqldb, idgen and job, and account by the interface Relations. All methods may be called from many
// goroutines. Submit does not block.
package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/webhook"
)

// Relations between users.
type Relations interface {
	Blocked(ctx context.Context, a, b id.User) (bool, error)
	Friends(ctx context.Context, a, b id.User) (bool, error)
	Exist(ctx context.Context, users []id.User) error
}

// MessageIDs makes the ids of messages.
type MessageIDs interface {
	Next(typ uint8, c id.Conversation) (id.Message, error)
}

// IDs makes record ids.
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
	Clock      clock.Clock
	Logger     *slog.Logger
	// Alone: no other process writes to the log and the records, so that what is in memory is the newest.
	Alone bool
	// Mine tells whether this node removes what has expired of a partition's conversations. May be nil: then it does.
	Mine func(partition uint16) bool
	// Uploads tells for each why by[i] may not send uploads[i] to a conversation, and notes that the others do. May be nil: then
	// all may.
	Uploads func(ctx context.Context, c id.Conversation, by []id.User, uploads []id.Upload) (refused []error)
	// Expired is told that a conversation's messages from before a time are removed, and again at each look. May be nil.
	Expired func(ctx context.Context, c id.Conversation, beforeMs int64) error
	// Outbox takes what admins are told of requests to join. May be nil: then they are not.
	Outbox *job.Outbox
	// Transient delivers a frame to users who are connected. May be nil.
	Transient func(users []id.User, frame []byte)
	// ExternalIDs gives the ids that the app knows users by, "" for none. May be nil; for the relation webhook.
	ExternalIDs func(ctx context.Context, users []id.User) ([]string, error)
}

// Config of chat; the zero value is the documented default.
type Config struct {
	// WhoMayWrite one-to-one: anyone (default), friends, or webhook: whom relation_webhook allows. One who is blocked never may.
	WhoMayWrite string `yaml:"who_may_write"`
	// RelationWebhook is asked whether two users may write to each other (docs/operating/webhooks.md).
	RelationWebhook webhook.Config `yaml:"relation_webhook"`
	// RelationFor so long its answer holds; 0 is 1 minute.
	RelationFor time.Duration `yaml:"relation_for"`
	// LargeAbove so many members a group is read from its log alone; 0 is 500. It is small again at nine tenths.
	LargeAbove int `yaml:"large_above"`
	// MostMembers of a group; 0 is 10,000.
	MostMembers int `yaml:"most_members"`
	// Retention of messages: forever (default), company (180 days), private (7 days), or a number of days as 90d. A conversation
	// may have a shorter one of its own. What has expired is gone for good.
	Retention string `yaml:"retention"`
}

// Check finds what cannot be.
func (c Config) Check() error {
	if err := c.RelationWebhook.Check(); err != nil {
		return fmt.Errorf("chat.relation_webhook: %w", err)
	}
	if _, err := parseRetention(c.Retention); err != nil {
		return err
	}
	switch c.WhoMayWrite {
	case "", "anyone", "friends", "webhook":
	default:
		return fmt.Errorf("chat.who_may_write is anyone, friends or webhook, not %q", c.WhoMayWrite)
	}
	if (c.WhoMayWrite == "webhook") != c.RelationWebhook.Set() {
		return errors.New("chat.who_may_write is webhook if there is a chat.relation_webhook, and only then")
	}
	return nil
}

// Service is the room.
type Service struct {
	deps   Deps
	config Config
	loads  chan struct{} // bounds the loads at once
	cached int           // bounds rooms
	// appendMost bounds the wait for a control entry.
	appendMost time.Duration
	days       uint32      // the deployment's retention; 0: for ever
	some       atomic.Bool // there may be a conversation with a retention of its own
	// removed messages, since the start.
	removed atomic.Uint64
	turns   [timeline.Partitions]atomic.Uint64 // how often this node began to carry each partition
	taken   chan struct{}                      // one of them, or more, since Run looked

	mu     sync.Mutex // guards rooms; held for look-ups only
	rooms  map[id.Conversation]*room
	typing typings

	settling settling
	hook     *webhook.Hook // asked who may write; may be nil
	asking   chan struct{} // bounds those who ask it
}

// cachedRooms bounds the conversations in memory; beyond it, idle ones are dropped.
const cachedRooms = 200_000

// New opens the room.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.LargeAbove == 0 {
		config.LargeAbove = 500
	}
	if config.MostMembers == 0 {
		config.MostMembers = 10_000
	}
	if config.RelationFor == 0 {
		config.RelationFor = time.Minute
	}
	if config.WhoMayWrite == "" {
		config.WhoMayWrite = "anyone"
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, loads: make(chan struct{}, 64), asking: make(chan struct{}, 32), taken: make(chan struct{}, 1), cached: cachedRooms, appendMost: appendMost, rooms: map[id.Conversation]*room{}}
	if config.RelationWebhook.Set() {
		s.hook = webhook.New(config.RelationWebhook, deps.Clock)
	}
	s.typing.last = map[typingOf]int64{}
	if err := deps.DB.Migrate(ctx, "chat", steps); err != nil {
		return nil, err
	}
	return s, s.beginRetention(ctx)
}

func key(c id.Conversation) timeline.Key {
	return timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}
}

// room is a conversation in memory.
type room struct {
	id id.Conversation

	// changing serialises changes of the conversation and their projection. Taken before mu.
	changing sync.Mutex

	mu       sync.Mutex       // guards all below but flying and held
	state    *state           // nil: not loaded. Never changed, only replaced.
	busy     bool             // being loaded or changed: drafts wait
	gone     bool             // dropped from memory: take the conversation's new room
	doubted  bool             // the state refuses a draft: look whether it is the newest
	horizon  horizon          // the oldest entry that is kept
	checked  checked          // when the state was compared with the log
	settling uint64           // the access version whose rows are being written; 0: none
	returned []*message.Draft // the log refused them as stale; they go before those that wait
	waiting  []*message.Draft
	// freshFrom is the least access version that the log has not refused yet.
	freshFrom uint64
	// flyingAt is the access version that the drafts now in the log's queue were given. Drafts of another version wait until
	// those have landed: else one that comes back as stale would land behind its sender's next.
	flyingAt uint64

	refusals refusals // of drafts that are to come again

	flying atomic.Int64 // drafts in the log's queue
	held   atomic.Bool  // release waits for flying to be 0; whoever sees that goes on
}

// waitingMost bounds the drafts that wait for one conversation.
const waitingMost = 4096

func (s *Service) room(c id.Conversation) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[c]
	if r == nil {
		if len(s.rooms) >= s.cached {
			s.shrink()
		}
		r = &room{id: c}
		s.rooms[c] = r
	}
	return r
}

func (s *Service) shrink() {
	for c, r := range s.rooms {
		if r.changing.TryLock() {
			if r.mu.TryLock() {
				if !r.busy && r.flying.Load() == 0 {
					// Whoever holds r still works with what it has: appends are checked by the log.
					delete(s.rooms, c)
					r.gone = true
				}
				r.mu.Unlock()
			}
			r.changing.Unlock()
		}
		if len(s.rooms) <= s.cached/2 {
			return
		}
	}
}

var (
	errNoConversation = errs.New(errs.NotFound, "no_conversation", "there is no such conversation, or you are not in it")
	errNotAllowed     = errs.New(errs.Denied, "not_allowed", "your role in this group does not allow it")
)
