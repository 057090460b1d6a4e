// Package account owns users, their sessions and devices, and the graph between them: friends, blocks, follows.
//
// A change of the graph and the events for the users' devices are committed together. Once a session has ended, no node accepts it.
// Errors for bad credentials do not reveal which part was wrong. All methods are safe for concurrent use.
package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/rialto-im/rialto/internal/base/auth"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/mailer"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"golang.org/x/time/rate"
)

// Deps are what a Service needs.
type Deps struct {
	DB     *sqldb.DB
	Outbox *job.Outbox
	// Jobs send codes and notices. If nil, none are sent.
	Jobs *job.Service
	IDs  IDs
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls *outgoing.Calls
	// KeyReads and FollowReads count the reads of the caches of API keys, and of whom users follow. They may be nil.
	KeyReads, FollowReads *cache.Reads
	Clock                 clock.Clock
	Logger                *slog.Logger
	// SingleNode: no other process uses the database, so state in memory is complete.
	SingleNode bool
	// ClusterEvents notifies the other nodes, which then call HandleEvent. If nil, there are no other nodes.
	ClusterEvents *clusterevent.Service
	// Nodes returns the number of live nodes, among which limits are divided. If nil, it is one.
	Nodes func() int
	// IsCoordinator reports whether this node purges old rows for all nodes. If nil, it does.
	IsCoordinator func() bool
	// OnRelation is called in the transaction of a follow, a friend request, and the answer to one. It may run again after a failed commit. It may be nil.
	OnRelation func(ctx context.Context, tx *sql.Tx, c RelationChange) error
	// OnProfile is called in the transaction in which a user is created, or a name changes. It may run again after a failed commit. It may be nil.
	OnProfile func(ctx context.Context, tx *sql.Tx, u id.User) error
	// KeepPicture checks a new avatar and keeps its file, in the transaction that changes the profile. If nil, every upload is accepted.
	KeepPicture func(ctx context.Context, tx *sql.Tx, by id.User, upload id.Upload) error
	// CheckBan fails if a user, a device or the network of the request may not have a session, as of a transaction or the primary. The user and the device may be 0. If nil, all may.
	CheckBan func(ctx context.Context, q sqldb.Reader, u id.User, device id.Device) error
	// CheckText fails if texts of a profile have a word that is refused, and returns a word that flags them, or "". If nil, all are accepted.
	CheckText func(texts ...string) (flagged string, err error)
	// Flagged is called after the commit of a profile with such a word. It does not block. It may be nil.
	Flagged func(u *accountv1.User, word string)
	// Active is called with each user who was authenticated by a token or a ticket, as often as that happens; not with those for whom an API key acts. It does not block. It may
	// be nil.
	Active func(u id.User)
	// SessionEnded is called after the commit for each session that ended on any node, possibly twice. May be nil.
	SessionEnded func(ended Ended)
	// AccessChanged is called before a block or unblock returns. Afterwards no node accepts messages of the blocked user.
	// May be nil.
	AccessChanged func(ctx context.Context, a, b id.User) error
	// FriendshipChanged is called before a new or ended friendship returns, also if an earlier call stored it. May be nil.
	FriendshipChanged func(ctx context.Context, a, b id.User) error
	// FriendshipEvent is called after the commit when a friendship began or ended on any node. May be nil.
	FriendshipEvent func(a, b id.User)
	// SettingsChanged is called after the commit when a user's settings changed on any node. May be nil.
	SettingsChanged func(user id.User)
}

// IDs generates record ids.
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
	// Hashes is the number of concurrent password hashes, 7 MiB each; 0 is one for each two processors, 1 to 4.
	Hashes int `yaml:"hashes"`
	// PasswordCost of a hash; the zero value is auth.DefaultCost. It is not a setting: only tests lower it.
	PasswordCost auth.Cost `yaml:"-"`
	// LoginsPerMinute limits attempts per minute at one handle from one address, or from one known device of the user; 0 is 20.
	LoginsPerMinute int `yaml:"logins_per_minute"`
	// LoginsPerHandle limits attempts per minute at one handle from all addresses, not counting known devices of the user; 0 is 100.
	LoginsPerHandle int `yaml:"logins_per_handle"`
	// Issuers of an app's own tokens, which are accepted here as well. The first token of a user creates the user.
	Issuers []Issuer `yaml:"issuers"`
	// CodeWebhook sends the codes of logins without a password (docs/operating/webhooks.md). Without it there are no such logins.
	CodeWebhook webhook.Config `yaml:"code_webhook"`
	// SMTP server that sends codes and notices by email (docs/operating/codes.md). Without it there are no email addresses in accounts.
	SMTP mailer.Config `yaml:"smtp"`
	// SMSWebhook sends codes as text messages. Without it there are no phone numbers in accounts.
	SMSWebhook webhook.Config `yaml:"sms_webhook"`
	// ProductName is the name of this deployment in authenticator apps, emails and text messages; default Rialto.
	ProductName string `yaml:"product_name"`
	// PasskeyOrigins are the origins of the pages and apps that use passkeys, as https://chat.example.com, or android:apk-key-hash:HASH. Passkeys belong to the
	// host of the first page, and work on pages of names below it. Default public.url, where this is the only node; without that, pages of localhost.
	PasskeyOrigins []string `yaml:"passkey_origins"`
	// WhoMayAdd says who may add users to groups who have no own setting: everyone, friends (default; others can only invite) or nobody.
	// Servers can add anyone.
	WhoMayAdd string `yaml:"who_may_add"`
}

// Check reports invalid settings. It reads the key files that issuers name.
func (c Config) Check() error {
	_, err := newIssuers(c.Issuers, nil, clock.System{})
	hook := c.CodeWebhook.Check()
	smtp, sms := c.SMTP.Check(), c.SMSWebhook.Check()
	if smtp != nil {
		smtp = fmt.Errorf("account.smtp: %w", smtp)
	}
	if sms != nil {
		sms = fmt.Errorf("account.sms_webhook: %w", sms)
	}
	if hook != nil {
		hook = fmt.Errorf("account.code_webhook: %w", hook)
	}
	_, passkeys := newRelyingParty(c.PasskeyOrigins)
	if passkeys != nil {
		passkeys = fmt.Errorf("account.passkey_origins: %w", passkeys)
	}
	return errors.Join(passkeys, c.checkPolicy(), c.checkWhoMayAdd(), c.checkProductName(), hook, smtp, sms, err)
}

func (c Config) checkWhoMayAdd() error {
	if _, ok := whoMayAdd[c.WhoMayAdd]; !ok {
		return fmt.Errorf("account.who_may_add is everyone, friends or nobody, not %q", c.WhoMayAdd)
	}
	return nil
}

func (c Config) checkProductName() error {
	if len(c.ProductName) > 64 || strings.Contains(c.ProductName, ":") || !message.IsLine(c.ProductName) {
		return fmt.Errorf("account.product_name is one line of at most 64 bytes without a colon, not %q", c.ProductName)
	}
	return nil
}

func (c Config) checkPolicy() error {
	switch c.DevicePolicy {
	case "", "many", "one_per_type", "single":
		return nil
	}
	return fmt.Errorf("account.device_policy is many, one_per_type or single, not %q", c.DevicePolicy)
}

const externalLoginShards = 64

// Service implements accounts.
type Service struct {
	deps           Deps
	config         Config
	passwords      *auth.Passwords
	tokens         *auth.Tokens
	refreshKey     []byte // derives each refresh token from the previous one
	relyingParty   relyingParty
	issuers        *issuers
	codes          *webhook.Hook                   // sends login codes; may be nil
	mail           *mailer.Mailer                  // sends emails; may be nil
	sms            *webhook.Hook                   // sends text messages; may be nil
	codeWake       chan struct{}                   // signals that there are codes to send
	externalLogins [externalLoginShards]sync.Mutex // held while the first session of an external token is created

	logins   *logins
	sends    *sends
	refusals rate.Sometimes // limits the log
	tickets  tickets
	keys     keyCache
	followed *otter.Cache[id.User, *followed]
	cached   snapshotCaches

	erasingMu sync.Mutex                       // held while erasing is replaced
	erasing   atomic.Pointer[map[id.User]bool] // users whose data are being erased; the map does not change
}

var migrations = []string{
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
	`ALTER TABLE users ADD COLUMN official BOOLEAN NOT NULL DEFAULT FALSE`,
	`ALTER TABLE relations ADD COLUMN muted BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX relations_followers ON relations (other, owner) WHERE following`,
	// Changes rises whenever the user begins or ceases to follow somebody.
	`CREATE TABLE follow_counts (owner BIGINT PRIMARY KEY, followers BIGINT NOT NULL DEFAULT 0, following BIGINT NOT NULL DEFAULT 0, changes BIGINT NOT NULL DEFAULT 0)`,
	`INSERT INTO follow_counts (owner, following, changes) SELECT owner, count(*), count(*) FROM relations WHERE following GROUP BY owner`,
	`INSERT INTO follow_counts (owner, followers) SELECT other, count(*) FROM relations WHERE following GROUP BY other ON CONFLICT (owner) DO UPDATE SET followers = excluded.followers`,
	// Version rises with each change of whom the user follows, and of which of them are muted or blocked.
	`ALTER TABLE follow_counts ADD COLUMN version BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE api_keys ADD COLUMN audit BOOLEAN NOT NULL DEFAULT FALSE`,
	`ALTER TABLE api_keys ADD COLUMN bot BIGINT NOT NULL DEFAULT 0`, // the user of a bot's key
	`ALTER TABLE sessions ADD COLUMN confirmed_ms BIGINT NOT NULL DEFAULT 0`,
	// A secret has an effect once it is confirmed. Last_step is that of the last code that was accepted.
	`CREATE TABLE totps (owner BIGINT PRIMARY KEY, secret {bytes} NOT NULL, confirmed_ms BIGINT NOT NULL DEFAULT 0, last_step BIGINT NOT NULL DEFAULT 0)`,
	`CREATE TABLE recovery_codes (owner BIGINT NOT NULL, sum {bytes} NOT NULL, PRIMARY KEY (owner, sum))`,
	`CREATE TABLE login_challenges (sum {bytes} PRIMARY KEY, owner BIGINT NOT NULL, password TEXT NOT NULL, made_ms BIGINT NOT NULL, tries BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX login_challenges_made ON login_challenges (made_ms)`,
	`CREATE TABLE contacts (owner BIGINT NOT NULL, kind BIGINT NOT NULL, address TEXT NOT NULL, verified_ms BIGINT NOT NULL, PRIMARY KEY (owner, kind), UNIQUE (kind, address))`,
	`CREATE TABLE one_time_codes (name {bytes} PRIMARY KEY, made_ms BIGINT NOT NULL, nonce {bytes} NOT NULL, address TEXT NOT NULL DEFAULT '')`,
	`CREATE INDEX one_time_codes_made ON one_time_codes (made_ms)`,
	`CREATE TABLE passkeys (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, credential {bytes} NOT NULL UNIQUE, public_key {bytes} NOT NULL, name TEXT NOT NULL, sign_count BIGINT NOT NULL,
		backup_eligible BOOLEAN NOT NULL, backed_up BOOLEAN NOT NULL, created_ms BIGINT NOT NULL, used_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX passkeys_owner ON passkeys (owner, id)`,
	`CREATE TABLE operator_keys (sum {bytes} PRIMARY KEY, name TEXT NOT NULL, created_ms BIGINT NOT NULL, role BIGINT NOT NULL)`, // role: an id.OperatorRole
	// Numbers of the users of delivery canaries. They are no rows of users.
	`CREATE TABLE canaries (number BIGINT PRIMARY KEY, node TEXT NOT NULL UNIQUE, used_ms BIGINT NOT NULL)`,
	`ALTER TABLE users ADD COLUMN erased_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE users ADD COLUMN erasing BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX users_erasing ON users (id) WHERE erasing`,
	// Ids at the app of users who were erased, hashed with a key: tokens from before do not create these users again.
	`CREATE TABLE erased_identities (sum {bytes} PRIMARY KEY, erased_ms BIGINT NOT NULL)`,
	`DROP INDEX relations_followers`,
	// Fan-out reads followers, and to which of them posts are shown, without their rows.
	`CREATE INDEX relations_followers ON relations (other, owner, muted, blocked) WHERE following`,
	`ALTER TABLE api_keys ADD COLUMN bridge TEXT NOT NULL DEFAULT ''`, // the bridge that uses a bot's key
	`ALTER TABLE users ADD COLUMN bridge TEXT NOT NULL DEFAULT ''`,    // the bridge over which somebody in another system writes
}

// New opens the service. The first start generates the signing keys.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Hashes == 0 {
		config.Hashes = min(4, max(1, runtime.GOMAXPROCS(0)/2)) // more at once take more memory, and delay all other work
	}
	if config.LoginsPerMinute == 0 {
		config.LoginsPerMinute = 20
	}
	if config.LoginsPerHandle == 0 {
		config.LoginsPerHandle = 100
	}
	config.ProductName = cmp.Or(config.ProductName, "Rialto")
	if config.DevicePolicy == "" {
		config.DevicePolicy = "many"
	}
	if err := config.checkPolicy(); err != nil {
		return nil, err
	}
	externalIssuers, err := newIssuers(config.Issuers, deps.Calls, deps.Clock)
	if err != nil {
		return nil, fmt.Errorf("account.issuers: %w", err)
	}
	if err := deps.DB.Migrate(ctx, "account", migrations); err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, passwords: auth.NewPasswords(config.Hashes, cmp.Or(config.PasswordCost, auth.DefaultCost())), issuers: externalIssuers, logins: newLogins(config, deps.Clock, deps.Nodes), sends: newSends(deps.Clock, deps.Nodes), refusals: newRefusalLog()}
	s.codeWake = make(chan struct{}, 1)
	if s.followed, err = newFollowed(); err != nil {
		return nil, err
	}
	if err := s.openSnapshotCaches(ctx); err != nil {
		return nil, err
	}
	if config.CodeWebhook.Set() {
		if s.codes, err = webhook.New(config.CodeWebhook, webhook.Kind{Kind: outgoing.CodeWebhook, Calls: deps.Calls}, deps.Clock); err != nil {
			return nil, fmt.Errorf("account.code_webhook: %w", err)
		}
	}
	if s.relyingParty, err = newRelyingParty(config.PasskeyOrigins); err != nil {
		return nil, fmt.Errorf("account.passkey_origins: %w", err)
	}
	if err := s.openDeliveries(); err != nil {
		return nil, err
	}
	if s.refreshKey, err = s.secret(ctx, "refresh"); err != nil {
		return nil, err
	}
	seed, err := s.secret(ctx, "access")
	if err != nil {
		return nil, err
	}
	if s.tokens, err = auth.NewTokens(seed, deps.Clock); err != nil {
		return nil, err
	}
	return s, s.LoadErasing(ctx)
}

// openDeliveries makes what sends codes and notices.
func (s *Service) openDeliveries() (err error) {
	if s.deps.Jobs == nil {
		return nil
	}
	if s.config.SMTP.Set() {
		if s.mail, err = mailer.New(s.config.SMTP, s.deps.Calls); err != nil {
			return fmt.Errorf("account.smtp: %w", err)
		}
	}
	if s.config.SMSWebhook.Set() {
		if s.sms, err = webhook.New(s.config.SMSWebhook, webhook.Kind{Kind: outgoing.SMSWebhook, Calls: s.deps.Calls}, s.deps.Clock); err != nil {
			return fmt.Errorf("account.sms_webhook: %w", err)
		}
	}
	return nil
}

// Secret returns a secret of 32 bytes, which is generated at its first use and stored in the database.
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
