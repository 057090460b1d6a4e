// Package moderation lets users report what breaks the rules, and moderators decide: hide, recall, warn, ban. Users appeal.
//
// All reports of an item until the decision are one case, with a copy of the item as its first reporter could read it. A decision is committed with its entry in the
// audit log. Its effects on messages, posts and comments follow after the commit. They are idempotent, and are retried until they are done (decide.go).
//
// Bans are rows. A session is opened or refreshed in a transaction that reads them (CheckBan), so no node opens one after a ban was acknowledged. Bans of
// networks are also in the memory of each node, for connections and calls (networks.go).
//
// Limits of users (shadow bans) are rows of bans, and a map in the memory of each node (limits.go), which is read for each message, post and comment that is stored.
//
// Word lists are rows, and a filter in the memory of each node (words.go). A word refuses a text before it is stored, or puts it into the moderators' queue (flag.go).
//
// The operator's webhooks may require that a moderator decides before an item is stored. Then the item is the content of a case (hold.go). Package chat asks the webhook about messages, and this package
// the webhook about posts and comments (before_publish.go).
//
// It may use sqldb, auditlog, clusterevent, cluster and webhook; accounts, conversations, posts and comments by interfaces. All methods are safe for concurrent use.
package moderation

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Chat has messages and groups.
type Chat interface {
	GetMessages(ctx context.Context, u id.User, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error)
	// Describe returns a conversation as a member sees it.
	Describe(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	// RecallForModerators recalls a message, whoever sent it. A retry is harmless.
	RecallForModerators(ctx context.Context, c id.Conversation, seq uint64) error
	// SendHeld sends what a moderator allowed. A retry with the same token is harmless.
	SendHeld(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token string) error
}

// Posts has posts.
type Posts interface {
	GetPost(ctx context.Context, reader id.User, n uint64) (*feedv1.Post, error)
	HidePost(ctx context.Context, r *feedv1.HidePostRequest) error
	// PublishHeld and EditHeld publish what a moderator allowed. A retry is harmless.
	PublishHeld(ctx context.Context, by id.User, r *feedv1.PublishRequest) error
	EditHeld(ctx context.Context, by id.User, r *feedv1.EditPostRequest) error
}

// Comments has comments.
type Comments interface {
	GetComment(ctx context.Context, reader id.User, n uint64) (*commentv1.Comment, error)
	// HideComment hides a comment from everybody, or shows it again. A retry is harmless.
	HideComment(ctx context.Context, n uint64, hide bool) error
	// CreateHeld and EditHeld publish what a moderator allowed. A retry is harmless.
	CreateHeld(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest) error
	EditHeld(ctx context.Context, by id.User, r *commentv1.EditCommentRequest) error
}

// Accounts has users and their sessions.
type Accounts interface {
	GetUsers(ctx context.Context, r *accountv1.GetUsersRequest) ([]*accountv1.User, error)
	// EndForBan ends the sessions of a user, or those on a device if that is not 0, in a transaction. It returns the user, 0 if there is no such user or device. The caller calls
	// announce after the commit.
	EndForBan(ctx context.Context, tx *sql.Tx, u id.User, device id.Device) (owner id.User, announce func(), err error)
}

// IDs generates ids of rows.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	IDs      IDs
	Chat     Chat
	Posts    Posts
	Comments Comments
	Accounts Accounts
	Audit    *auditlog.Log
	// ClusterEvents tells the other nodes of bans of networks. If nil, there are no other nodes.
	ClusterEvents *clusterevent.Service
	// Notify sends a frame to the connected devices of users. It may be lost. If nil, nobody is told.
	Notify func(users []id.User, frame []byte)
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls *outgoing.Calls
	// ReviewFiles returns those of some uploads that are a user's own, for the webhook before_publish. May be nil.
	ReviewFiles func(ctx context.Context, by id.User, uploads []id.Upload) ([]webhook.File, error)
	// ExternalIDs returns the app's own ids of users, "" for none, for the webhook. May be nil.
	ExternalIDs func(ctx context.Context, users []id.User) ([]string, error)
	// Nodes returns the number of live nodes, among which limits are divided. If nil, it is one.
	Nodes func() int
	// IsCoordinator reports whether this node finishes decisions and deletes old copies for all nodes. If nil, it does.
	IsCoordinator func() bool
	// Secret of the tokens with which banned users appeal.
	Secret []byte
	Clock  clock.Clock
	Logger *slog.Logger
}

const (
	maxNote        = 1000 // characters of a report
	maxExplanation = 500
	maxAppeal      = 2000
	maxExcerpt     = 200
	// contextSeqs are the entries before a message that are copied with it, and contextBytes what they have together.
	contextSeqs  = 10
	contextBytes = 64 << 10
	shownReports = 50
	// keepContent is how long the copy is kept after the decision.
	keepContent   = 180 * 24 * time.Hour
	roundInterval = time.Minute
	roundBatch    = 100
)

var reportRate = ratelimit.Rate{Count: 20, Burst: 20, Per: time.Hour}

var migrations = []string{
	`CREATE TABLE moderation_cases (id BIGINT PRIMARY KEY, kind BIGINT NOT NULL, item BIGINT NOT NULL, seq BIGINT NOT NULL, about BIGINT NOT NULL, state BIGINT NOT NULL, reports BIGINT NOT NULL,
		excerpt TEXT NOT NULL, content {bytes} NOT NULL, opened_ms BIGINT NOT NULL, decided_ms BIGINT NOT NULL DEFAULT 0, decision BIGINT NOT NULL DEFAULT 0, has_content BOOLEAN NOT NULL DEFAULT TRUE)`,
	// Of a thing at most one case is open: 1 is OPEN.
	`CREATE UNIQUE INDEX moderation_cases_open ON moderation_cases (kind, item, seq) WHERE state = 1`,
	`CREATE INDEX moderation_cases_subject ON moderation_cases (kind, item, seq, id)`,
	`CREATE INDEX moderation_cases_state ON moderation_cases (state, id)`,
	`CREATE INDEX moderation_cases_about ON moderation_cases (about, state, id)`,
	`CREATE INDEX moderation_cases_kept ON moderation_cases (decided_ms) WHERE has_content AND decided_ms > 0`,
	`CREATE TABLE moderation_reports (id BIGINT PRIMARY KEY, subject_case BIGINT NOT NULL, reporter BIGINT NOT NULL, reason BIGINT NOT NULL, note TEXT NOT NULL, time_ms BIGINT NOT NULL,
		UNIQUE (subject_case, reporter))`,
	`CREATE INDEX moderation_reports_reporter ON moderation_reports (reporter, id)`,
	// Pending is 1 while content is to be hidden or recalled, 2 while it is to be shown again, and 3 while it is to be sent.
	`CREATE TABLE moderation_decisions (id BIGINT PRIMARY KEY, subject_case BIGINT NOT NULL, kind BIGINT NOT NULL, item BIGINT NOT NULL, seq BIGINT NOT NULL, about BIGINT NOT NULL, action BIGINT NOT NULL,
		reason BIGINT NOT NULL, explanation TEXT NOT NULL, note TEXT NOT NULL, decided_by TEXT NOT NULL, time_ms BIGINT NOT NULL, ends_ms BIGINT NOT NULL, excerpt TEXT NOT NULL,
		pending BIGINT NOT NULL, overturned BOOLEAN NOT NULL DEFAULT FALSE)`,
	`CREATE INDEX moderation_decisions_about ON moderation_decisions (about, id) WHERE about > 0`,
	`CREATE INDEX moderation_decisions_pending ON moderation_decisions (id) WHERE pending > 0`,
	// Low and high are the first and the last address of a network, in hexadecimal digits. Ends_ms 0: never.
	`CREATE TABLE moderation_bans (id BIGINT PRIMARY KEY, decision BIGINT NOT NULL, target TEXT NOT NULL, low TEXT NOT NULL DEFAULT '', high TEXT NOT NULL DEFAULT '', about BIGINT NOT NULL,
		made_ms BIGINT NOT NULL, ends_ms BIGINT NOT NULL, lifted_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX moderation_bans_target ON moderation_bans (target) WHERE lifted_ms = 0`,
	`CREATE INDEX moderation_bans_network ON moderation_bans (high, low) WHERE lifted_ms = 0 AND high <> ''`,
	`CREATE INDEX moderation_bans_about ON moderation_bans (about, id)`,
	`CREATE INDEX moderation_bans_decision ON moderation_bans (decision)`,
	`CREATE TABLE moderation_appeals (id BIGINT PRIMARY KEY, decision BIGINT NOT NULL UNIQUE, appellant BIGINT NOT NULL, text TEXT NOT NULL, time_ms BIGINT NOT NULL, state BIGINT NOT NULL,
		answer TEXT NOT NULL DEFAULT '', decided_by TEXT NOT NULL DEFAULT '', decided_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX moderation_appeals_state ON moderation_appeals (state, id)`,
	// A list that was deleted keeps its row, without words, so that no version is used again.
	`CREATE TABLE moderation_word_lists (name TEXT PRIMARY KEY, version BIGINT NOT NULL, words {bytes} NOT NULL, changed_ms BIGINT NOT NULL, changed_by TEXT NOT NULL)`,
	// When the user acknowledged a warning; 0: not yet, or it is no warning. 4 is WARN.
	`ALTER TABLE moderation_decisions ADD COLUMN acknowledged_ms BIGINT NOT NULL DEFAULT 0`,
	// A row of a limit bans nobody: its target is "limit" and the user.
	`ALTER TABLE moderation_bans ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX moderation_bans_limits ON moderation_bans (about) WHERE limited AND lifted_ms = 0`,
	`CREATE INDEX moderation_decisions_unacknowledged ON moderation_decisions (about, id) WHERE action = 4 AND acknowledged_ms = 0 AND NOT overturned`,
	// The reason of the error for which what was held could not be sent any more.
	`ALTER TABLE moderation_decisions ADD COLUMN failure TEXT NOT NULL DEFAULT ''`,
}

// Service has the reports, decisions and bans of all nodes.
type Service struct {
	deps    Deps
	config  Config
	reports *ratelimit.Limiter[id.User]
	tokens  pagetoken.Sealer

	wake      chan struct{} // there are changes to be read
	reloading sync.Mutex    // held from the beginning of a read of the rows until the fields below have it, so that no older state replaces a newer one
	networks  atomic.Pointer[bannedNetworks]
	words     atomic.Pointer[wordState] // nil: there are no words
	limits    atomic.Pointer[limits]    // nil: nobody is limited

	beforePublish *webhook.Reviewer // nil: there is no webhook

	flags   chan flag
	dropped atomic.Uint64 // flags for which there was no room
}

// New creates the tables if they are missing, and reads which networks are banned, and the word lists.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	s := &Service{deps: deps, config: config, reports: ratelimit.New[id.User](reportRate, deps.Clock, deps.Nodes), wake: make(chan struct{}, 1), flags: make(chan flag, maxFlagged)}
	var err error
	if s.tokens, err = pagetoken.New(deps.Secret); err != nil {
		return nil, err
	}
	if err := s.initBeforePublish(); err != nil {
		return nil, err
	}
	if err := deps.DB.Migrate(ctx, "moderation", migrations); err != nil {
		return nil, err
	}
	return s, s.reload(ctx)
}

// Run finishes decisions, deletes old copies, queues what the word filter has flagged, and follows changes of other nodes, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	group.Go(func() { s.followChanges(ctx) })
	group.Go(func() { s.queueFlags(ctx) })
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: roundInterval, Round: s.round, Failed: "decisions of moderators are finished later", Logger: s.deps.Logger}).Run(ctx)
	group.Wait()
	return nil
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
