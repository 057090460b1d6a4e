// Package messagetransaction sends messages if and only if something happened on a business server.
//
// A business server prepares messages, changes its own data, and commits or rolls back. Its decision is a state of a row, which is stored once: of a commit and
// a roll-back at the same time, the first one counts. Messages are sent after the decision is stored, with ids that follow from the transaction alone. So a
// commit that is repeated, after a crash or at the same time, stores each message once.
//
// A job is inserted with each prepared transaction. If there is no decision when it is due, it asks the webhook of the business server, again and again with
// growing delays. After Config.Checks attempts it rolls back, and becomes a dead letter. Another job is inserted with each commit, and sends what the call could
// not send; messages that are refused for good make it a dead letter.
//
// It may use sqldb, job, cluster and webhook; conversations by an interface. All methods are safe for concurrent use.
package messagetransaction

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Chat checks and stores messages.
type Chat interface {
	// CheckScheduled returns why a user may not write a message in a conversation now, or why nobody may.
	CheckScheduled(ctx context.Context, d *message.Draft) error
	// Send stores a message. Of a second one with the same sender, device and id, it returns the first.
	Send(ctx context.Context, d *message.Draft) error
}

// IDs generates ids of transactions.
type IDs interface {
	Next(ctx context.Context) (uint64, error)
}

// Jobs inserts jobs.
type Jobs interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args job.Args, o job.Options) (job.Inserted, error)
	// Retry makes a dead letter available again.
	Retry(ctx context.Context, id int64, audit job.Audit) error
	Wake()
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB   *sqldb.DB
	Chat Chat
	Jobs Jobs
	IDs  IDs
	// IsCoordinator reports whether this node deletes old transactions, for all nodes. If nil, it does.
	IsCoordinator func() bool
	// Calls has the circuit breakers of this process. Without it there are own ones, which no metrics show.
	Calls  *outgoing.Calls
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of message transactions. The zero value is the documented default.
type Config struct {
	// CheckAfter is when the webhook is asked about a transaction that is neither committed nor rolled back, 1s to 1h; 0 is 1m.
	CheckAfter time.Duration `yaml:"check_after"`
	// Checks is how often it is asked, 1 to 100, before the transaction is rolled back; 0 is 15: with the delays between them, about two hours.
	Checks int `yaml:"checks"`
	// AllowPrivate lets webhooks have addresses of private networks or of this machine. Default false.
	AllowPrivate bool `yaml:"allow_private"`
	// Timeout of one request to a webhook, at most 1m; 0 is 10s.
	Timeout time.Duration `yaml:"timeout"`
}

// Check reports settings that are not valid.
func (c Config) Check() error {
	var faults []error
	if c.CheckAfter != 0 && (c.CheckAfter < time.Second || c.CheckAfter > maxCheckAfter) {
		faults = append(faults, fmt.Errorf("transactions.check_after is 1s to %v, or 0 for 1m", maxCheckAfter))
	}
	if c.Checks < 0 || c.Checks > 100 {
		faults = append(faults, errors.New("transactions.checks is 1 to 100, or 0 for 15"))
	}
	if c.Timeout < 0 || c.Timeout > time.Minute {
		faults = append(faults, errors.New("transactions.timeout is at most 1m, or 0 for 10s"))
	}
	return errors.Join(faults...)
}

const (
	maxReference  = 64 // bytes
	maxMessages   = 20
	maxBytes      = 512 << 10 // of the contents of a transaction
	maxCheckAfter = time.Hour
	// maxOpen and maxOpenBytes bound what the keys of a name have prepared, and what is not sent yet.
	maxOpen      = 1000
	maxOpenBytes = 16 << 20
	// maxOpenAge is how long a transaction can be without a decision, if no node runs jobs.
	maxOpenAge = 24 * time.Hour
	// keepEnded is how long a transaction is kept after its end. Of those of a key that were rolled back or failed, the newest maxKept have contents, and
	// of these the newest with maxKeptBytes.
	keepEnded    = 3 * 24 * time.Hour
	maxKept      = 10_000
	maxKeptBytes = 16 << 20
	// The delays between checks double from checkFirst to checkLongest.
	checkFirst   = 15 * time.Second
	checkLongest = 10 * time.Minute
	// A key with a new webhook may have firstChecks in progress on a node, and one with a quick webhook checksOfKey. Keys whose webhooks took slowCheck
	// share a quarter of Concurrency, so that they do not delay others.
	firstChecks = 2
	checksOfKey = 4
	slowCheck   = 2 * time.Second
	// sendDelay is when the job of a commit sends what the call has not sent.
	sendDelay       = 10 * time.Second
	cleanUpInterval = time.Minute
	batch           = 100 // rows of a transaction of the database
)

// Service has the message transactions of all business servers.
type Service struct {
	deps   Deps
	config Config
	sizes  sizes

	results [results]atomic.Uint64

	checks *bulkhead.Bulkhead[string] // in progress, by key

	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// sizes are smaller in tests.
type sizes struct {
	open, openBytes, kept, keptBytes int64
}

var migrations = []string{
	`CREATE TABLE message_transactions (id BIGINT PRIMARY KEY, key_name TEXT NOT NULL, reference TEXT NOT NULL, digest {bytes} NOT NULL, state BIGINT NOT NULL, bytes BIGINT NOT NULL,
		prepared_ms BIGINT NOT NULL, ended_ms BIGINT NOT NULL DEFAULT 0, checks BIGINT NOT NULL DEFAULT 0, last_error TEXT NOT NULL DEFAULT '', cause BIGINT NOT NULL DEFAULT 0,
		job BIGINT NOT NULL DEFAULT 0, UNIQUE (key_name, reference))`,
	`CREATE INDEX message_transactions_open ON message_transactions (key_name, prepared_ms) WHERE ended_ms = 0`,
	`CREATE INDEX message_transactions_ended ON message_transactions (ended_ms) WHERE ended_ms > 0`,
	`CREATE INDEX message_transactions_state ON message_transactions (state, key_name, id)`,
	// A message with a seq is stored in its conversation; one with a reason was refused for good. Neither has a content.
	`CREATE TABLE prepared_messages (owner BIGINT NOT NULL, n BIGINT NOT NULL, sender BIGINT NOT NULL, conversation BIGINT NOT NULL, content {bytes} NOT NULL,
		seq BIGINT NOT NULL DEFAULT 0, message TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', PRIMARY KEY (owner, n))`,
	`CREATE TABLE transaction_webhooks (key_name TEXT PRIMARY KEY, url TEXT NOT NULL, secret TEXT NOT NULL)`,
	// 5 is ROLLED_BACK, 4 is FAILED.
	`CREATE INDEX message_transactions_kept ON message_transactions (key_name, id) WHERE state = 5 OR state = 4 AND bytes > 0`,
	`CREATE TABLE transaction_kept (key_name TEXT PRIMARY KEY, kept BIGINT NOT NULL, bytes BIGINT NOT NULL)`,
	`INSERT INTO transaction_kept (key_name, kept, bytes) SELECT key_name, COUNT(*), CAST(SUM(bytes) AS BIGINT) FROM message_transactions WHERE state = 5 OR state = 4 AND bytes > 0 GROUP BY key_name`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	config.CheckAfter = cmp.Or(config.CheckAfter, time.Minute)
	config.Checks = cmp.Or(config.Checks, 15)
	config.Timeout = cmp.Or(config.Timeout, 10*time.Second)
	s := &Service{deps: deps, config: config, sizes: sizes{maxOpen, maxOpenBytes, maxKept, maxKeptBytes}, checks: bulkhead.New[string](bulkhead.Config{Slots: Concurrency, First: firstChecks, Most: checksOfKey})}
	return s, deps.DB.Migrate(ctx, "message transactions", migrations)
}

// Run deletes old transactions until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: cleanUpInterval, Round: s.CleanUp, Failed: "old message transactions are deleted later", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// Result of a transaction, as a label of a metric.
type Result int

// The results. Those from ResultUnanswered on need an operator.
const (
	ResultSent Result = iota
	ResultRolledBack
	ResultUnanswered
	ResultFailed
	results
)

// String is the label.
func (r Result) String() string {
	return [...]string{"sent", "rolled_back", "unanswered", "failed"}[r]
}

// Results are all results.
func Results() []Result {
	return []Result{ResultSent, ResultRolledBack, ResultUnanswered, ResultFailed}
}

// Ended counts the transactions that ended on this node with a result.
func (s *Service) Ended(r Result) uint64 { return s.results[r].Load() }

// reached is called between two steps of an operation.
func (s *Service) reached(point string) error {
	failpoint.Hit("transaction/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
