// Package privacy exports all data of a user, and erases them. It owns the requests for both, and coordinates the services that have the data: each is a
// userdata.Participant, which names its tables, so that a test finds a table that nobody exports or erases.
//
// It promises the following:
//
//   - An erasure begins when its grace period is over, and then completes despite crashes: it is a durable job of bounded steps, each of which may
//     be repeated.
//   - From its beginning on nobody can read the user's messages (account.Erasing), and the user's sessions have ended.
//   - At its end, only what other users' data need is left of the user: the id, and the slots of messages without contents.
//   - An export has what its user may read at that time, and is readable by this user only.
//
// It may use sqldb and blob. All methods are safe for concurrent use.
package privacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// Accounts is the part of package account that is used here.
type Accounts interface {
	// ConfirmErasure fails unless the caller may have their own account erased.
	ConfirmErasure(ctx context.Context, tx *sql.Tx, c id.Caller) error
	BeginErasure(ctx context.Context, u id.User) error
	EndErasure(ctx context.Context, u id.User) error
	FindUser(ctx context.Context, u id.User, externalID string) (id.User, error)
}

// Files stores exports as files of their users.
type Files interface {
	// StoreExport stores size bytes as a file of a user.
	StoreExport(ctx context.Context, u id.User, name string, r io.Reader, size int64) (id.Upload, error)
	// DropExport deletes such a file. A missing one is not an error.
	DropExport(ctx context.Context, n id.Upload) error
	// ExportURL returns an address of such a file, and until when it is good.
	ExportURL(n id.Upload) (url string, ends time.Time)
}

// Deps are what a Service needs.
type Deps struct {
	DB       *sqldb.DB
	Jobs     *job.Service
	Accounts Accounts
	Files    Files
	// Store has the files of users.
	Store blob.Store
	IDs   interface {
		Next(ctx context.Context) (uint64, error)
	}
	// Participants in the order in which they are erased: later ones may get something from what earlier ones do.
	Participants []userdata.Participant
	Audit        *auditlog.Log
	// IsCoordinator reports whether this node deletes old exports for all nodes. If nil, it does.
	IsCoordinator func() bool
	// TempDir is where exports are written before they are stored; "" is that of the system.
	TempDir string
	Clock   clock.Clock
	Logger  *slog.Logger
}

// Config of export and erasure; the zero value is the documented default.
type Config struct {
	// ErasureGrace is how long after a user's request an erasure begins; until then, the user can cancel it. Default 168h (7 days), at most 2160h.
	ErasureGrace time.Duration `yaml:"erasure_grace"`
	// KeepExports is how long an export can be downloaded; default 168h (7 days).
	KeepExports time.Duration `yaml:"keep_exports"`
}

// Bounds of settings.
const (
	defaultGrace = 7 * 24 * time.Hour
	maxGrace     = 90 * 24 * time.Hour
	defaultKeep  = 7 * 24 * time.Hour
)

// Check returns what is wrong with a configuration.
func (c Config) Check() error {
	var faults []error
	if c.ErasureGrace < 0 || c.ErasureGrace > maxGrace {
		faults = append(faults, fmt.Errorf("privacy.erasure_grace is %v; it is at most %v, and not negative", c.ErasureGrace, maxGrace))
	}
	if c.KeepExports < 0 {
		faults = append(faults, fmt.Errorf("privacy.keep_exports is %v; it must not be negative", c.KeepExports))
	}
	return errors.Join(faults...)
}

var migrations = []string{
	// Participant and position are where the erasure continues: the number of erased participants, and the position in the next one. Parts is JSON.
	`CREATE TABLE erasures (owner BIGINT PRIMARY KEY, requested_ms BIGINT NOT NULL, requested_by TEXT NOT NULL DEFAULT '', due_ms BIGINT NOT NULL, started_ms BIGINT NOT NULL DEFAULT 0, done_ms BIGINT NOT NULL DEFAULT 0,
		participant BIGINT NOT NULL DEFAULT 0, position TEXT NOT NULL DEFAULT '', parts TEXT NOT NULL DEFAULT '{}')`,
	`CREATE TABLE exports (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, requested_ms BIGINT NOT NULL, done_ms BIGINT NOT NULL DEFAULT 0, upload BIGINT NOT NULL DEFAULT 0, size BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX exports_owner ON exports (owner, id)`,
	`CREATE INDEX exports_requested ON exports (requested_ms)`,
}

// Service has the requests of all users.
type Service struct {
	deps   Deps
	config Config
	// interrupt is called between two steps, and its error ends the attempt, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.ErasureGrace == 0 {
		config.ErasureGrace = defaultGrace
	}
	if config.KeepExports == 0 {
		config.KeepExports = defaultKeep
	}
	return &Service{deps: deps, config: config}, deps.DB.Migrate(ctx, "privacy", migrations)
}

// Queue of the jobs, and how many of them a node runs at the same time.
const (
	Queue       = "privacy"
	Concurrency = 2
)

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, s.erase)
	job.Add(w, s.export)
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }

// reached is called between two steps.
func (s *Service) reached(point string) error {
	failpoint.Hit("privacy/" + point)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}
