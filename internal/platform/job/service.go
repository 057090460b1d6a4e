package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// State of a job.
type State string

const (
	Available State = "available" // waits until it is due, and for a free worker
	Running   State = "running"   // an attempt is in progress, or its node is dead
	Completed State = "completed"
	Cancelled State = "cancelled"
	Discarded State = "discarded" // a dead letter: it failed too often, or its worker or an operator gave it up
)

// Priority of a job within its queue. Jobs of a lower priority wait as long as any of a higher one is due.
type Priority int

const (
	High   Priority = 1
	Normal Priority = 2
	Low    Priority = 3
)

var priorities = [...]Priority{High, Normal, Low}

// DefaultQueue is the queue of a job that names none.
const DefaultQueue = "default"

// Deps are the dependencies of a Service.
type Deps struct {
	DB     *sqldb.DB
	Clock  clock.Clock
	Logger *slog.Logger
	// Node is the name of this node.
	Node string
	// WorkerNodes returns the names of the live nodes that run jobs, in the same order on each. If nil, this node runs all.
	WorkerNodes func() []string
	// Alive reports whether a node is alive. The jobs that a dead one was running are run again. If nil, no other node is.
	Alive func(node string) bool
	// Tracer records sampled attempts; nil: none.
	Tracer *tracing.Tracer
	// NotifyPeers notifies the other nodes of new jobs (HandleWake). Notices may be lost. It must not block. It may be nil.
	NotifyPeers func()
}

// Config of a Service. The zero value of each is the documented default.
type Config struct {
	// Workers is how many jobs of the default queue a node runs at the same time, 1 to 1,000; default 8.
	Workers int `yaml:"workers"`
	// KeepFinished is how long completed and cancelled jobs are kept; default 1h. As long as a completed job is kept, no job with its
	// unique key is inserted.
	KeepFinished time.Duration `yaml:"keep_finished"`
	// KeepDiscarded is how long dead letters are kept, for operators to retry; default 720h (30 days).
	KeepDiscarded time.Duration `yaml:"keep_discarded"`
}

// Check returns what is wrong with a configuration.
func (c Config) Check() error {
	var faults []error
	if c.Workers < 0 || c.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("jobs.workers is %d; it is 1 to %d, or 0 for the default", c.Workers, maxWorkers))
	}
	if c.KeepFinished < 0 {
		faults = append(faults, fmt.Errorf("jobs.keep_finished is %v; it must not be negative", c.KeepFinished))
	}
	if c.KeepDiscarded < 0 {
		faults = append(faults, fmt.Errorf("jobs.keep_discarded is %v; it must not be negative", c.KeepDiscarded))
	}
	return errors.Join(faults...)
}

const (
	maxWorkers       = 1000 // of a queue on a node
	maxArgs          = 64 << 10
	maxName          = 100  // bytes of a kind or a queue
	maxKey           = 200  // bytes of a unique key
	maxErrorText     = 1000 // bytes of an error that are stored
	defaultFailures  = 16
	defaultTimeout   = time.Minute
	maxTimeout       = 24 * time.Hour
	jobPollInterval  = time.Second            // finds jobs whose writer died before calling Wake, and those of operators
	peerDelay        = 2 * time.Second        // how long a due job waits for the node that it prefers
	rescueInterval   = 5 * time.Second        // how often jobs of dead processes are made available again
	scheduleInterval = 5 * time.Second        // how often periods are checked for a begin
	cleanUpInterval  = time.Minute            // how often old finished jobs are deleted
	sampleInterval   = 15 * time.Second       // how often waiting jobs are counted for the metrics
	cancelInterval   = 500 * time.Millisecond // how often a node with running jobs checks whether they are to be cancelled
	stopGrace        = 3 * time.Second        // how long attempts may continue when the node stops, before their contexts end
	stuckGrace       = 5 * time.Second        // how long a worker may ignore the end of its context before its attempt fails
	failureFirst     = time.Second            // delays between attempts double from this one
	failureMax       = time.Hour
	unknownKindDelay = time.Minute
	batch            = 100 // rows of a transaction
)

// A finished job has finished_ms > 0. attempt rises with each attempt and is never reset: it is the fence. failures counts the attempts
// that failed, and is reset by a retry.
var jobMigrations = []string{
	`CREATE TABLE jobs (n {number}, kind TEXT NOT NULL, args {bytes} NOT NULL, queue TEXT NOT NULL, priority BIGINT NOT NULL, state TEXT NOT NULL, due_ms BIGINT NOT NULL,
		created_ms BIGINT NOT NULL, attempt BIGINT NOT NULL DEFAULT 0, failures BIGINT NOT NULL DEFAULT 0, max_failures BIGINT NOT NULL, timeout_ms BIGINT NOT NULL,
		attempted_by TEXT NOT NULL DEFAULT '', process TEXT NOT NULL DEFAULT '', attempted_ms BIGINT NOT NULL DEFAULT 0, cancelling BOOLEAN NOT NULL DEFAULT FALSE,
		finished_ms BIGINT NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', unique_key TEXT, UNIQUE (kind, unique_key))`,
	`CREATE INDEX jobs_available ON jobs (queue, priority, due_ms, n) WHERE state = 'available'`,
	`CREATE INDEX jobs_running ON jobs (attempted_by, process, n) WHERE state = 'running'`,
	`CREATE INDEX jobs_finished ON jobs (state, finished_ms, n) WHERE finished_ms > 0`,
	periods.Create(),
}

// Service has the jobs of all nodes, and runs some of them.
type Service struct {
	deps    Deps
	config  Config
	process string // identifies this process; a former one of the same node is dead
	wake    chan struct{}
	peers   chan struct{} // peers are to be notified
	metrics *Metrics

	mu      sync.Mutex // guards running
	running map[int64]*attempt

	missing map[holder]bool // by rescue's goroutine only: holders whose nodes were missing in the last round

	stuckGrace time.Duration // the constant; shorter in tests
	// interrupt is called between two steps. If it returns an error, the attempt is abandoned there, as if the process had died. Only tests
	// set it.
	interrupt func(point string) error
}

// New creates the table if it is missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	config.Workers = cmp.Or(config.Workers, 8)
	config.KeepFinished = cmp.Or(config.KeepFinished, time.Hour)
	config.KeepDiscarded = cmp.Or(config.KeepDiscarded, 30*24*time.Hour)
	if deps.WorkerNodes == nil {
		deps.WorkerNodes = func() []string { return []string{deps.Node} }
	}
	if deps.Alive == nil {
		deps.Alive = func(string) bool { return false }
	}
	s := &Service{deps: deps, config: config, process: rand.Text(), stuckGrace: stuckGrace, wake: make(chan struct{}, 1), peers: make(chan struct{}, 1), metrics: newMetrics(), running: map[int64]*attempt{}}
	s.metrics.addQueues([]string{DefaultQueue})
	return s, deps.DB.Migrate(ctx, "jobs", jobMigrations)
}

// Wake makes this node and the others read jobs at once. Call it after the commit of InsertTx.
func (s *Service) Wake() {
	wakeup.Signal(s.wake)
	wakeup.Signal(s.peers)
}

// HandleWake is called when another node has inserted jobs.
func (s *Service) HandleWake() { wakeup.Signal(s.wake) }

// DefaultConcurrency is how many jobs of the default queue a node runs at the same time.
func (s *Service) DefaultConcurrency() int { return s.config.Workers }

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

// reached is called between two steps of an attempt.
func (s *Service) reached(point string) error {
	failpoint.Hit("job/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}
