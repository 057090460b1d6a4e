// Package push sends push notifications to devices that are not connected, through the push services of browsers and phones.
//
// # Trigger
//
// A message that has reached a user's stream is pushed if no device of the user is connected and active. Nothing waits for that: fan-out only names the users to
// whose streams it posted (StreamChanged). The stream is durable, and so is each user's position in it, up to which it was examined
// (trigger.go). The position moves in the transaction that stores pending pushes. If StreamChanged is lost, because the process died or too
// many users waited, a sweep over the positions finds the events. The position of a user with an active device does not move: when the device disconnects,
// messages that it has not acknowledged are pushed. Messages of large groups are in no stream; a job brings their mentions here (mention.go).
//
// # Pushes
//
// A pending push is a row for each subscription and conversation (queue.go), with the newest message. A newer message replaces it. The row also has the
// newest message that the provider accepted, so that a message is pushed once even if fan-out repeats it after a crash. One job for each
// row sends it (deliver.go). The job checks whether the message is still unread and may be pushed, and counts the badge. The result of each attempt is kept
// for a while (attempt.go).
//
// # Providers
//
// Web Push (webpush.go), the operator's webhook (webhook.go), FCM (fcm.go), APNs (apns.go), Huawei (huawei.go), Xiaomi (xiaomi.go)
// and Getui (getui.go). Endpoints of Web Push are addresses that users choose.
//
// A slow user, and a slow host, can occupy only a share of the workers.
//
// It may use sqldb, job, webhook and egress, and the other services by interfaces. All methods are safe for concurrent use; StreamChanged and Departed do not
// block.
package push

import (
	"context"
	"crypto/ecdh"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/directory"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// Inbox has users' streams, and how users see their conversations.
type Inbox interface {
	AppendSync(ctx context.Context, b []byte, u id.User, after message.Position, limit int) ([]byte, error)
	Tails(ctx context.Context, users []id.User) ([]message.Position, error)
	// Acknowledged returns up to where at least one device of each user has everything.
	Acknowledged(ctx context.Context, users []id.User) (map[id.User]message.Position, error)
	GetConversation(ctx context.Context, u id.User, c id.Conversation) (*chatv1.Conversation, error)
	ListConversations(ctx context.Context, u id.User, q *chatv1.ListConversationsRequest) (*chatv1.ListConversationsResponse, error)
}

// Chat has the messages of conversations.
type Chat interface {
	GetMessages(ctx context.Context, u id.User, r *chatv1.GetMessagesRequest) (*chatv1.GetMessagesResponse, error)
	AudiencePage(ctx context.Context, c id.Conversation, seq uint64, after id.User, limit int) (users []id.User, next id.User, err error)
}

// Accounts has users and their sessions.
type Accounts interface {
	MutedOrBlockedAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error)
	EndedSessions(ctx context.Context, sessions []id.Session) (over []id.Session, err error)
	SettingsOf(ctx context.Context, users []id.User) (map[id.User]*accountv1.Settings, error)
	GetUsers(ctx context.Context, r *accountv1.GetUsersRequest) ([]*accountv1.User, error)
}

// Directory knows who is connected.
type Directory interface {
	// CachedStatus returns a user's status without waiting, and whether this node is the user's owner.
	CachedStatus(u id.User) (status directory.Status, owned bool)
	// Locate returns the nodes to which a user is connected, if this node is the user's owner.
	Locate(u id.User) []string
	// Statuses returns the statuses of users, in order, and asks their owners if necessary.
	Statuses(ctx context.Context, users []id.User) ([]directory.Status, error)
}

// Jobs inserts jobs.
type Jobs interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args job.Args, o job.Options) (job.Inserted, error)
	Wake()
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB        *sqldb.DB
	Inbox     Inbox
	Chat      Chat
	Accounts  Accounts
	Directory Directory
	Jobs      Jobs
	// Secret of this deployment, 32 bytes. The key of Web Push is derived from it.
	Secret []byte
	// OwnsUser reports whether this node examines the stream of a user. If nil, it examines all.
	OwnsUser func(u id.User) bool
	// IsCoordinator reports whether this node deletes what is old. If nil, it does.
	IsCoordinator func() bool
	// Recorder gets attempts; nil: they are not recorded.
	Recorder *flightrecorder.Recorder
	// Tracer records attempts for sampled messages; nil: none.
	Tracer *tracing.Tracer
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls  *outgoing.Calls
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of push notifications. The zero value of each is the documented default.
type Config struct {
	// Off: no device is pushed anything, and none can be registered.
	Off bool `yaml:"off"`
	// Workers is how many push notifications a node sends at the same time, 1 to 1,000; default 16.
	Workers int `yaml:"workers"`
	// Contact is how push services of browsers reach the operator: an e-mail address, or an https URL. Apple's refuses notifications without one. Default none.
	Contact string `yaml:"contact"`
	// InternalHosts are hosts, such as push.example.com or 10.0.0.7:8080, to which Web Push may lead although they are in a private network or on
	// this machine. Default none.
	InternalHosts []string `yaml:"internal_hosts"`
	// Webhook gets the push notifications of devices that registered with the provider webhook (docs/operating/push.md).
	Webhook webhook.Config `yaml:"webhook"`
	FCM     FCMConfig      `yaml:"fcm"`
	APNs    APNsConfig     `yaml:"apns"`
	Huawei  HuaweiConfig   `yaml:"huawei"`
	Xiaomi  XiaomiConfig   `yaml:"xiaomi"`
	Getui   GetuiConfig    `yaml:"getui"`
}

// Check returns what is wrong with a configuration.
func (c Config) Check() error {
	var faults []error
	if c.Workers < 0 || c.Workers > 1000 {
		faults = append(faults, fmt.Errorf("push.workers is %d; it is 1 to 1000, or 0 for the default", c.Workers))
	}
	if err := checkContact(c.Contact); err != nil {
		faults = append(faults, fmt.Errorf("push.contact: %w", err))
	}
	if err := (egress.FetchConfig{InternalHosts: c.InternalHosts}).Check(); err != nil {
		faults = append(faults, fmt.Errorf("push.internal_hosts: %w", err))
	}
	if err := c.Webhook.Check(); err != nil {
		faults = append(faults, fmt.Errorf("push.webhook.%w", err))
	}
	if err := c.FCM.check(); err != nil {
		faults = append(faults, fmt.Errorf("push.fcm: %w", err))
	}
	if err := c.APNs.check(); err != nil {
		faults = append(faults, fmt.Errorf("push.apns: %w", err))
	}
	if err := c.Huawei.check(); err != nil {
		faults = append(faults, fmt.Errorf("push.huawei: %w", err))
	}
	if err := c.Xiaomi.check(); err != nil {
		faults = append(faults, fmt.Errorf("push.xiaomi: %w", err))
	}
	if err := c.Getui.check(); err != nil {
		faults = append(faults, fmt.Errorf("push.getui: %w", err))
	}
	return errors.Join(faults...)
}

const (
	defaultWorkers   = 16
	maxSubscriptions = 20 // of a user
	maxToken         = 1024
	// maxAttempts of a push fail before it is given up: an hour and more, with the delays between them.
	maxAttempts = 12
	// maxAge is how long a push may wait for its provider, and how long the provider keeps it for the device.
	maxAge = 24 * time.Hour
	// Endpoints of Web Push are addresses that users choose, and may be slow. The devices of a user occupy half of the workers at most, and one worker if a
	// delivery took slowAfter in the last slowFor. Further deliveries wait for ownDelay to twice as long. In the same way, each host has a share of the
	// workers (package bulkhead).
	slowAfter, slowFor, ownDelay = time.Second, time.Minute, 2 * time.Second
	// A subscription gets at most windowPushes in each window. What is beyond waits, and newer messages replace it.
	window       = time.Minute
	windowPushes = 60
	// maxRetryAfter bounds how long a provider can make a subscription wait.
	maxRetryAfter = time.Hour
	// Attempts are kept for keepAttempts, and keptAttempts of each subscription. Rows of pushes are kept as long.
	keepAttempts = 7 * 24 * time.Hour
	keptAttempts = 200
	trimInterval = 10 * time.Minute
	trimBatch    = 200
)

var migrations = []string{
	// Of each user with subscriptions: up to which position the stream was examined. Settings is a PushSettings.
	`CREATE TABLE push_users (owner BIGINT PRIMARY KEY, position BIGINT NOT NULL)`,
	`CREATE TABLE push_settings (owner BIGINT PRIMARY KEY, settings {bytes} NOT NULL)`,
	`CREATE TABLE push_subscriptions (n {number}, owner BIGINT NOT NULL, session BIGINT NOT NULL, provider BIGINT NOT NULL, token TEXT NOT NULL, p256dh {bytes} NOT NULL, auth {bytes} NOT NULL,
		created_ms BIGINT NOT NULL, wait_until_ms BIGINT NOT NULL DEFAULT 0, window_ms BIGINT NOT NULL DEFAULT 0, window_pushes BIGINT NOT NULL DEFAULT 0, attempts BIGINT NOT NULL DEFAULT 0)`,
	`CREATE UNIQUE INDEX push_subscriptions_session ON push_subscriptions (session)`,
	`CREATE UNIQUE INDEX push_subscriptions_token ON push_subscriptions (token, provider)`,
	`CREATE INDEX push_subscriptions_owner ON push_subscriptions (owner, n)`,
	// Seq is the newest message to be pushed, sent_seq the newest that was pushed or dropped. Queued_ms is when the job of the row was inserted; 0: there is none.
	`CREATE TABLE pushes (subscription BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, sent_seq BIGINT NOT NULL, queued_ms BIGINT NOT NULL, changed_ms BIGINT NOT NULL,
		PRIMARY KEY (subscription, conversation))`,
	`CREATE INDEX pushes_changed ON pushes (changed_ms)`,
	`CREATE TABLE push_attempts (n {number}, owner BIGINT NOT NULL, subscription BIGINT NOT NULL, provider BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,
		result BIGINT NOT NULL, status BIGINT NOT NULL, detail TEXT NOT NULL)`,
	`CREATE INDEX push_attempts_owner ON push_attempts (owner, n)`,
	`CREATE INDEX push_attempts_subscription ON push_attempts (subscription, n)`,
	`CREATE INDEX push_attempts_at ON push_attempts (at_ms)`,
}

// Service sends the push notifications of all users.
type Service struct {
	deps      Deps
	config    Config
	vapid     *ecdh.PrivateKey
	providers map[pushv1.PushProvider]provider
	poster    *egress.Poster
	slowAfter time.Duration              // smaller in a test
	hosts     *bulkhead.Bulkhead[string] // divides the workers among the hosts of providers

	some atomic.Bool // there may be subscriptions

	counts [6]atomic.Int64 // attempts, by result

	changed *wakeup.Set[id.User] // users whose streams are to be examined

	mu      sync.Mutex          // guards unknown and sending
	unknown []id.User           // of whom the directory did not know yet whether they are there
	sending map[id.User]sending // deliveries in progress to the devices of a user, and users who were slow
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Workers == 0 {
		config.Workers = defaultWorkers
	}
	s := &Service{deps: deps, config: config, changed: wakeup.NewSet[id.User](maxChanged), sending: map[id.User]sending{}, slowAfter: slowAfter,
		hosts: bulkhead.New[string](bulkhead.Config{Slots: config.Workers, First: config.Workers / 4, Most: config.Workers * 3 / 4})}
	var err error
	if s.vapid, err = keyOf(deps.Secret); err != nil {
		return nil, err
	}
	if err := s.openProviders(); err != nil {
		return nil, err
	}
	return s, deps.DB.Migrate(ctx, "push", migrations)
}

// Run examines streams and deletes what is old until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	defer s.closeProviders()
	if s.config.Off {
		<-ctx.Done()
		return nil
	}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runTrigger(ctx) })
	group.Go(func() { s.runSweep(ctx) })
	trim := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: trimInterval, Round: s.Trim, Failed: "old push notifications could not be deleted; the next round tries again", Logger: s.deps.Logger}
	trim.Run(ctx)
	return nil
}

// Attempts counts the attempts with a result since the start.
func (s *Service) Attempts(r pushv1.PushResult) int64 { return s.counts[r].Load() }

// Concurrency is how many jobs of the queue a node runs at the same time.
func (s *Service) Concurrency() int { return s.config.Workers }

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("push/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
