// Package account owns users, their sessions and devices, and the graph between them: friends, blocks, follows.
//
// It may touch sqldb, job, idgen and auth. It promises that a change of the graph and the events that it causes in users' sync
// streams are committed together, that a session that ended verifies nowhere from then on, and that answers to bad
// credentials do not tell what was wrong. All methods may be called from many goroutines.
package account

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/rialto-im/rialto/internal/auth"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/news"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/webhook"
)

// Deps are what a Service needs.
type Deps struct {
	DB     *sqldb.DB
	Outbox *job.Outbox
	IDs    IDs
	Clock  clock.Clock
	Logger *slog.Logger
	// Alone: no other process has the database, so that what is in memory is all there is.
	Alone bool
	// News tells the other nodes, whose rooms call what follows as well (Told). May be nil: then they are not told.
	News *news.Service
	// Nodes counts the nodes that live; limits are divided among them. May be nil: one.
	Nodes func() int
	// Mine tells whether this node drops what is dead. May be nil: then it does.
	Mine func() bool
	// SessionEnded is told of each session that ended, on any node, after the commit; perhaps twice. May be nil.
	SessionEnded func(ended Ended)
	// AccessChanged is called before a block or unblock is answered: nobody admits the blocked user's messages after it
	// returned. May be nil.
	AccessChanged func(ctx context.Context, a, b id.User) error
	// FriendshipChanged is called before the beginning or the end of a friendship is answered, also one of an earlier call. May be nil.
	FriendshipChanged func(ctx context.Context, a, b id.User) error
	// FriendshipElsewhere is told of a friendship that began or ended on any node, after the commit. May be nil.
	FriendshipElsewhere func(a, b id.User)
	// SettingsChanged is told of a user whose settings changed, on any node, after the commit. May be nil.
	SettingsChanged func(user id.User)
}

// IDs makes record ids.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Ended is a session that ended, and why.
type Ended struct {
	User    id.User
	Session id.Session
	Reason  string
}

// Config of accounts; the zero value is the documented default.
type Config struct {
	// DevicePolicy: many (default), one_per_type or single. A login beyond it ends the sessions it replaces.
	DevicePolicy string `yaml:"device_policy"`
	// Hashes that run at once, 19 MiB each; 0 is 4.
	Hashes int `yaml:"hashes"`
	// LoginsPerMinute for one handle; 0 is 20.
	LoginsPerMinute int `yaml:"logins_per_minute"`
	// Issuers of an app's own tokens, which are good here as well; users are made at first sight.
	Issuers []Issuer `yaml:"issuers"`
	// CodeWebhook sends the codes of logins without a password (docs/operating/webhooks.md). Without it there are none.
	CodeWebhook webhook.Config `yaml:"code_webhook"`
}

// Check finds what cannot be. It reads the files of keys that issuers name.
func (c Config) Check() error {
	_, err := newIssuers(c.Issuers, clock.System{})
	if err != nil {
		err = fmt.Errorf("account.issuers: %w", err)
	}
	hook := c.CodeWebhook.Check()
	if hook != nil {
		hook = fmt.Errorf("account.code_webhook: %w", hook)
	}
	return errors.Join(c.checkPolicy(), hook, err)
}

func (c Config) checkPolicy() error {
	switch c.DevicePolicy {
	case "", "many", "one_per_type", "single":
		return nil
	}
	return fmt.Errorf("account.device_policy is many, one_per_type or single, not %q", c.DevicePolicy)
}

const firstShards = 64

// Service is the room.
type Service struct {
	deps      Deps
	config    Config
	passwords *auth.Passwords
	tokens    *auth.Tokens
	refresh   []byte // key that derives each refresh token from the one before
	issuers   *issuers
	codes     *webhook.Hook           // sends login codes; may be nil
	codeWake  chan struct{}           // there are codes to send
	firsts    [firstShards]sync.Mutex // held while the first session of a foreign token is made

	logins  *limit // by handle
	tickets tickets
	keys    knownKeys
}

var steps = []string{
	`CREATE TABLE users (id BIGINT PRIMARY KEY, handle TEXT NOT NULL UNIQUE, display_name TEXT NOT NULL, bio TEXT NOT NULL DEFAULT '',
		avatar BIGINT NOT NULL DEFAULT 0, password TEXT NOT NULL DEFAULT '', external_id TEXT UNIQUE, settings {bytes}, created_ms BIGINT NOT NULL)`,
	`CREATE TABLE sessions (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, device BIGINT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
		refresh {bytes} NOT NULL UNIQUE, previous {bytes}, rotated_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL, used_ms BIGINT NOT NULL, ended_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX sessions_owner ON sessions (owner, ended_ms)`,
	`CREATE TABLE refreshed (sum {bytes} PRIMARY KEY, session BIGINT NOT NULL)`,
	`CREATE TABLE devices (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL)`,
	`CREATE TABLE relations (owner BIGINT NOT NULL, other BIGINT NOT NULL, friend BOOLEAN NOT NULL DEFAULT FALSE, requested BOOLEAN NOT NULL DEFAULT FALSE,
		asked BOOLEAN NOT NULL DEFAULT FALSE, blocked BOOLEAN NOT NULL DEFAULT FALSE, following BOOLEAN NOT NULL DEFAULT FALSE,
		remark TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', PRIMARY KEY (owner, other))`,
	`CREATE TABLE api_keys (sum {bytes} PRIMARY KEY, name TEXT NOT NULL, created_ms BIGINT NOT NULL)`,
	`CREATE TABLE secrets (name TEXT PRIMARY KEY, value {bytes} NOT NULL)`,
	`CREATE TABLE foreign_sessions (sum {bytes} PRIMARY KEY, session BIGINT NOT NULL)`,
	`ALTER TABLE users ADD COLUMN folded TEXT NOT NULL DEFAULT ''`,
	`UPDATE users SET folded = lower(display_name)`,
	`ALTER TABLE refreshed ADD COLUMN spent_ms BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX refreshed_spent ON refreshed (spent_ms)`,
	`CREATE INDEX sessions_ended ON sessions (ended_ms)`,
	`CREATE INDEX sessions_device ON sessions (device)`,
	`CREATE INDEX foreign_sessions_session ON foreign_sessions (session)`,
	`CREATE TABLE login_codes (owner BIGINT PRIMARY KEY, made_ms BIGINT NOT NULL, tries BIGINT NOT NULL DEFAULT 0, sent BOOLEAN NOT NULL DEFAULT FALSE)`,
	`CREATE TABLE taken_tickets (name {bytes} PRIMARY KEY, taken_ms BIGINT NOT NULL)`,
	`CREATE INDEX taken_tickets_taken ON taken_tickets (taken_ms)`,
	`ALTER TABLE login_codes ADD COLUMN claimed_ms BIGINT NOT NULL DEFAULT 0`,
}

// New opens the room, and makes its signing keys at the first start.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Hashes == 0 {
		config.Hashes = 4
	}
	if config.LoginsPerMinute == 0 {
		config.LoginsPerMinute = 20
	}
	if config.DevicePolicy == "" {
		config.DevicePolicy = "many"
	}
	if err := config.checkPolicy(); err != nil {
		return nil, err
	}
	others, err := newIssuers(config.Issuers, deps.Clock)
	if err != nil {
		return nil, fmt.Errorf("account.issuers: %w", err)
	}
	if err := deps.DB.Migrate(ctx, "account", steps); err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, passwords: auth.NewPasswords(config.Hashes), issuers: others, logins: newLimit(config.LoginsPerMinute)}
	s.codeWake = make(chan struct{}, 1)
	if config.CodeWebhook.Set() {
		s.codes = webhook.New(config.CodeWebhook, deps.Clock)
	}
	if s.refresh, err = s.secret(ctx, "refresh"); err != nil {
		return nil, err
	}
	seed, err := s.secret(ctx, "access")
	if err != nil {
		return nil, err
	}
	s.tokens, err = auth.NewTokens(seed, deps.Clock)
	return s, err
}

// Secret gives a secret of 32 bytes that is made at its first use and kept with the records.
func (s *Service) Secret(ctx context.Context, name string) ([]byte, error) {
	return s.secret(ctx, name)
}

func (s *Service) secret(ctx context.Context, name string) (value []byte, err error) {
	fresh := make([]byte, 32)
	rand.Read(fresh) //nolint:errcheck // never fails
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, fresh); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&value)
	})
	return value, err
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
