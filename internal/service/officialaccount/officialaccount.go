// Package officialaccount owns official accounts: their menus, automatic replies, operators, the labels of their followers, and broadcasts.
//
// An official account is a user with a verified mark and a channel, whose followers are those of the account. Package chat owns the channel,
// and package account the mark. All messages of the account to one user are in their one-to-one conversation.
//
// # Promises
//
// A message is answered once. answer.go reads the account's own sync stream, as a device does, from a position in the database. One transaction
// stores the replies to a page, up to which message of each user they answer, and the next position. reply.go sends what is stored. Its
// client_msg_id derives from the message, so that a reply that is sent again after a crash is stored once. No official account answers another.
//
// A broadcast reaches a follower once. send_broadcast.go stores a delivery for each follower of a step together with the position that the step
// reached, and then sends. A delivery that a crash interrupted is sent again with the same client_msg_id. An edit and a recall are sent to each
// delivery of an earlier revision (update_copies.go).
//
// Failed sends are retried with growing delays, and given up after some attempts (retry.go), so one message, reply or broadcast does not delay others.
//
// Of several nodes, the coordinator does this work. Two coordinators at the same moment do no harm, because each change is conditional on what it was made from. The other
// nodes signal the coordinator when they post to the streams of accounts (signal.go). A signal may be lost; a slow poll finds those posts.
//
// It may use sqldb and cluster; chat, inbox, account and the bus by interfaces. All methods are safe for concurrent use. The only lock guards the signals
// and the failures; it is held for look-ups only.
package officialaccount

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Chat has the conversations and the channel of an account.
type Chat interface {
	// CheckContent returns why a user can send a content to nobody, or the form that is stored.
	CheckContent(u id.User, content []byte) ([]byte, error)
	OpenDirect(ctx context.Context, a, b id.User) (id.Conversation, error)
	// Send stores a message. Of a second one with the same sender, device and id, it returns the first.
	Send(ctx context.Context, d *message.Draft) error
	// FindSent returns the conversation and the seq of a message between two users, 0 if there is none.
	FindSent(ctx context.Context, from, to id.User, clientMsgID string) (c id.Conversation, seq uint64, err error)
	// Peer returns the other user of a one-to-one conversation, 0 in any other.
	Peer(ctx context.Context, u id.User, c id.Conversation) (peer id.User, cannotWrite bool, err error)
	// CreateGroupFor creates a group for a service, or returns the one with the key. Users cannot make a group with such a key.
	CreateGroupFor(ctx context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error)
	UpdateGroup(ctx context.Context, c id.Conversation, by id.User, r *chatv1.UpdateGroupRequest) (uint64, error)
	Channel(ctx context.Context, c id.Conversation) (message.ChannelInfo, error)
	ChannelByHandle(ctx context.Context, handle string) (id.Conversation, error)
	// FollowersAfter returns a page of members and followers by id, FollowersAmong those of some users.
	FollowersAfter(ctx context.Context, c id.Conversation, after id.User, limit int) ([]id.User, error)
	FollowersAmong(ctx context.Context, c id.Conversation, users []id.User) ([]id.User, error)
	// FriendshipChanged makes all nodes check again whether two users may write to each other, where that depends on friendship.
	FriendshipChanged(ctx context.Context, a, b id.User) error
}

// Streams are the sync streams of users.
type Streams interface {
	Tails(ctx context.Context, users []id.User) ([]message.Position, error)
	AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error)
}

// Accounts are all users.
type Accounts interface {
	Exist(ctx context.Context, users []id.User) error
	GetUser(ctx context.Context, u id.User) (*accountv1.User, error)
	SetOfficial(ctx context.Context, u id.User, official bool) (*accountv1.User, error)
	SettingsOf(ctx context.Context, users []id.User) (map[id.User]*accountv1.Settings, error)
}

// Bus brings signals to the coordinator. They may be lost.
type Bus interface {
	Publish(subject string, data []byte) error
	Subscribe(subject string, handle func(data []byte), missed func()) (cancel func(), err error)
}

// IDs generates ids of rows.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Chat     Chat
	Streams  Streams
	Accounts Accounts
	IDs      IDs
	Bus      Bus
	Clock    clock.Clock
	// IsCoordinator reports whether this node answers and sends, for all nodes. If nil, it does.
	IsCoordinator func() bool
	Logger        *slog.Logger
}

// Config of official accounts. The zero value is the documented default.
type Config struct {
	// BroadcastsPerSecond is how many messages all broadcasts together send in a second; 0 is 200. It keeps them from delaying other messages.
	BroadcastsPerSecond int `yaml:"broadcasts_per_second"`
}

// defaultBroadcastsPerSecond of all accounts together.
const defaultBroadcastsPerSecond = 200

// Check reports settings that are not valid.
func (c Config) Check() error {
	if c.BroadcastsPerSecond < 0 || c.BroadcastsPerSecond > 10_000 {
		return errs.New(errs.Invalid, "bad_config", "official_accounts.broadcasts_per_second is 1 to 10,000, or 0 for 200")
	}
	return nil
}

// Service has the official accounts.
type Service struct {
	deps   Deps
	config Config
	// changed are accounts whose streams got something. It also wakes Run if there is a reply to send.
	changed *wakeup.Set[id.User]
	// answering are the accounts that answer, as of the last poll.
	answering atomic.Pointer[map[id.User]struct{}]
	abandoned Abandoned

	mu       sync.Mutex           // guards failures
	failures map[id.User]*failure // of accounts whose streams could not be answered
}

var migrations = []string{
	// Position is up to where the account's stream was answered.
	`CREATE TABLE official_accounts (account BIGINT PRIMARY KEY, channel BIGINT NOT NULL UNIQUE, disabled BOOLEAN NOT NULL DEFAULT FALSE, menu {bytes}, replies {bytes},
		answers BOOLEAN NOT NULL DEFAULT FALSE, revision BIGINT NOT NULL DEFAULT 1, changed_by BIGINT NOT NULL DEFAULT 0, position BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX official_accounts_answering ON official_accounts (account) WHERE answers AND NOT disabled`,
	`CREATE TABLE official_operators (account BIGINT NOT NULL, operator BIGINT NOT NULL, role BIGINT NOT NULL, PRIMARY KEY (account, operator))`,
	`CREATE INDEX official_operators_operator ON official_operators (operator, account)`,
	`CREATE TABLE official_labels (account BIGINT NOT NULL, follower BIGINT NOT NULL, label TEXT NOT NULL, PRIMARY KEY (account, follower, label))`,
	`CREATE INDEX official_labels_label ON official_labels (account, label, follower)`,
	// What an account answered a user: up to which seq of their conversation, and when, to bound it.
	`CREATE TABLE official_contacts (account BIGINT NOT NULL, contact BIGINT NOT NULL, answered_seq BIGINT NOT NULL DEFAULT 0, fallback_ms BIGINT NOT NULL DEFAULT 0,
		welcomed_ms BIGINT NOT NULL DEFAULT 0, window_ms BIGINT NOT NULL DEFAULT 0, window_count BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (account, contact))`,
	// Replies that are not sent yet. One without content only announces that a user follows, or no longer does.
	`CREATE TABLE official_replies (account BIGINT NOT NULL, recipient BIGINT NOT NULL, token TEXT NOT NULL, conversation BIGINT NOT NULL, content {bytes},
		due_ms BIGINT NOT NULL, PRIMARY KEY (account, recipient, token))`,
	`CREATE INDEX official_replies_due ON official_replies (due_ms, account, recipient, token)`,
	// After_user is how far a wave is; due_ms when more may be sent; work_ms when there is something to do, while pending.
	`CREATE TABLE official_broadcasts (id BIGINT PRIMARY KEY, account BIGINT NOT NULL, create_key TEXT NOT NULL, author BIGINT NOT NULL, content {bytes} NOT NULL, audience {bytes},
		waves TEXT NOT NULL, wave_seconds BIGINT NOT NULL, per_minute BIGINT NOT NULL, state BIGINT NOT NULL, wave BIGINT NOT NULL DEFAULT 0, after_user BIGINT NOT NULL DEFAULT 0,
		due_ms BIGINT NOT NULL, work_ms BIGINT NOT NULL, pending BOOLEAN NOT NULL DEFAULT TRUE, sent BIGINT NOT NULL DEFAULT 0, failed BIGINT NOT NULL DEFAULT 0,
		revision BIGINT NOT NULL DEFAULT 1, created_ms BIGINT NOT NULL, changed_by BIGINT NOT NULL DEFAULT 0, UNIQUE (account, create_key))`,
	`CREATE INDEX official_broadcasts_account ON official_broadcasts (account, id)`,
	`CREATE INDEX official_broadcasts_work ON official_broadcasts (work_ms, id) WHERE pending`,
	`CREATE TABLE official_deliveries (broadcast BIGINT NOT NULL, recipient BIGINT NOT NULL, state BIGINT NOT NULL, conversation BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0,
		revision BIGINT NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '', PRIMARY KEY (broadcast, recipient))`,
	`CREATE INDEX official_deliveries_state ON official_deliveries (broadcast, state, revision, recipient)`,
	`ALTER TABLE official_deliveries ADD COLUMN tries BIGINT NOT NULL DEFAULT 0`, // that failed by a fault of the server
	`ALTER TABLE official_replies ADD COLUMN tries BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE official_broadcasts ADD COLUMN faults BIGINT NOT NULL DEFAULT 0`, // steps that failed since one succeeded
	`ALTER TABLE official_deliveries ADD COLUMN due_ms BIGINT NOT NULL DEFAULT 0`, // of the next try, after one that failed
	`CREATE INDEX official_deliveries_retries ON official_deliveries (broadcast, state, tries, revision, recipient) WHERE tries > 0`,
	// Events of an account's stream that could not be answered: the position before each, and when it is tried again.
	`CREATE TABLE official_deferred (account BIGINT NOT NULL, position BIGINT NOT NULL, tries BIGINT NOT NULL, due_ms BIGINT NOT NULL, PRIMARY KEY (account, position))`,
	`CREATE INDEX official_deferred_due ON official_deferred (due_ms, account, position)`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.BroadcastsPerSecond == 0 {
		config.BroadcastsPerSecond = defaultBroadcastsPerSecond
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	return &Service{deps: deps, config: config, changed: wakeup.NewSet[id.User](maxChanged), failures: map[id.User]*failure{}}, deps.DB.Migrate(ctx, "officialaccount", migrations)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
