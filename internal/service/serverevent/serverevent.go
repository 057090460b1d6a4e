// Package serverevent delivers the events of conversations to business servers and bots.
//
// # The source
//
// Sending a message writes nothing for this package. Fan-out adds each entry that it dispatches to the event stream of its partition
// (timeline.EventStream), before the partition's checkpoint. So a stream names every entry at least once, and those of a conversation in order. The entries
// themselves are read from the logs of conversations. The stream of a bot is the inbox of its user.
//
// # Consumers
//
// A consumer has a position in each of its streams. The position moves only forward: when the consumer confirms a cursor that it received, or when its webhook has
// accepted the events before it. A seek gives the consumer a new generation, and positions of earlier generations are refused.
//
// # Webhooks
//
// The owner of a partition delivers its streams, under the partition's grant. An event that fails delays only its stream. After maxAttempts it
// becomes a dead letter, and the stream continues.
//
// It may use sqldb, timeline, cluster and webhook; conversations and users by interfaces. All methods are safe for concurrent use.
package serverevent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// Chat has the conversations.
type Chat interface {
	// Refresh gives entries their present contents and states. An entry that has expired becomes empty.
	Refresh(ctx context.Context, list []*message.Stored) error
}

// Accounts are all users.
type Accounts interface {
	Exist(ctx context.Context, users []id.User) error
}

// IDs generates ids of rows.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Log      timeline.Log
	Chat     Chat
	Accounts Accounts
	IDs      IDs
	// Bridges returns the names of bridges by their bots. If nil, there are none.
	Bridges func(ctx context.Context) (map[id.User]string, error)
	// Secret seals cursors. All nodes have the same.
	Secret []byte
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls  *outgoing.Calls
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of server events. The zero value is the documented default.
type Config struct {
	// Off: no events are kept for business servers. Set it on all nodes. Default false.
	Off bool `yaml:"off"`
	// Retention is how long events can be read, 1 hour or longer; 0 is 168h, 7 days.
	Retention time.Duration `yaml:"retention"`
	// AllowPrivate lets webhooks of consumers have addresses of private networks or of this machine. Default false.
	AllowPrivate bool `yaml:"allow_private"`
	// Timeout of one delivery to a webhook, at most 1m; 0 is 10s.
	Timeout time.Duration `yaml:"timeout"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	var faults []error
	if c.Retention != 0 && c.Retention < time.Hour {
		faults = append(faults, errors.New("server_events.retention is at least 1h, or 0 for 168h"))
	}
	if c.Timeout < 0 || c.Timeout > time.Minute {
		faults = append(faults, errors.New("server_events.timeout is at most 1m, or 0 for 10s"))
	}
	return errors.Join(faults...)
}

const defaultTimeout = 10 * time.Second

// Service has the consumers of server events, and delivers to their webhooks.
type Service struct {
	deps   Deps
	config Config
	seal   pagetoken.Sealer
	retry  retryPolicy

	waiters   waiters
	deliverer deliverer
	delivered atomic.Uint64
	failed    atomic.Uint64
	dead      atomic.Uint64
}

var migrations = []string{
	`CREATE TABLE event_consumers (name TEXT PRIMARY KEY, filter {bytes} NOT NULL, bot BIGINT NOT NULL DEFAULT 0, audit BOOLEAN NOT NULL DEFAULT FALSE, url TEXT NOT NULL DEFAULT '',
		secret TEXT NOT NULL DEFAULT '', generation BIGINT NOT NULL, last_error TEXT NOT NULL DEFAULT '')`,
	`CREATE TABLE event_positions (consumer TEXT NOT NULL, stream BIGINT NOT NULL, position BIGINT NOT NULL, PRIMARY KEY (consumer, stream))`,
	// Events of a stream after first and up to last that a webhook did not accept.
	`CREATE TABLE event_dead (id BIGINT PRIMARY KEY, consumer TEXT NOT NULL, stream BIGINT NOT NULL, first BIGINT NOT NULL, last BIGINT NOT NULL, events BIGINT NOT NULL,
		error TEXT NOT NULL, attempts BIGINT NOT NULL, created_ms BIGINT NOT NULL, retrying BOOLEAN NOT NULL DEFAULT FALSE)`,
	`CREATE INDEX event_dead_consumer ON event_dead (consumer, id)`,
	`CREATE INDEX event_dead_retrying ON event_dead (consumer, stream, id) WHERE retrying`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	seal, err := pagetoken.New(deps.Secret)
	if err != nil {
		return nil, err
	}
	s := &Service{deps: deps, config: config, seal: seal, retry: defaultRetryPolicy()}
	s.waiters.waiting = map[*waiter]struct{}{}
	s.deliverer.init()
	return s, deps.DB.Migrate(ctx, "serverevent", migrations)
}

// Run delivers to webhooks until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	if s.config.Off {
		<-ctx.Done()
		return nil
	}
	s.runDeliverer(ctx, &group)
	return nil
}

// Assigned makes this node deliver the streams of a partition until the grant ends. It does not block.
func (s *Service) Assigned(g cluster.Grant) { s.deliverer.setGrant(g.Part, g) }

// Revoked is called after the grant of a partition has ended.
func (s *Service) Revoked(part int) { s.deliverer.setGrant(part, cluster.Grant{}) }

// Delivered counts the events that webhooks have accepted, Failed the deliveries that failed, and Dead the dead letters, since the start.
func (s *Service) Delivered() uint64 { return s.delivered.Load() }

// Failed: see Delivered.
func (s *Service) Failed() uint64 { return s.failed.Load() }

// DeadLetters: see Delivered.
func (s *Service) DeadLetters() uint64 { return s.dead.Load() }

var errOff = errs.New(errs.Conflict, "events_off", "server events are off on this server; remove the setting server_events.off")

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
