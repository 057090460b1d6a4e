// Package reconciliation compares stores that must agree, continuously and in small steps, and repairs the differences that an operator chooses.
//
// A Comparison is a pair of stores, such as files and their rows. Every minute, the coordinator compares a bounded number of items of each pair. A round is one pass over all
// items. Each difference has a row, until it is repaired or a later round finds that the stores agree. A repair is a durable job, which is committed with its entry in
// the audit log. A count that can be computed from the other store in the same database is corrected at once, in the transaction that stores the difference. Its row
// stays until an operator has seen it.
//
// It may use sqldb, job, cluster and auditlog. All methods are safe for concurrent use.
package reconciliation

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Comparison compares two stores.
type Comparison interface {
	// Name is one word, such as files.
	Name() string
	// Compare compares about limit items that follow a position; "" is the beginning. It skips items that may still be on their way from one store to the other.
	Compare(ctx context.Context, after string, limit int) (Step, error)
	// Repair makes the stores agree about a subject that Compare returned. It is idempotent, and does nothing if they agree by now. It returns ErrNoRepair if it cannot.
	Repair(ctx context.Context, subject string) error
}

// Slow is a Comparison whose steps may take longer than those of others, because an item that cannot be divided needs the time.
type Slow interface {
	StepTime() time.Duration
}

// ErrNotReady is returned by Compare while a store cannot be compared, such as an index that is being built. Compare is called again a minute later.
var ErrNotReady = errors.New("the stores cannot be compared now")

// ErrNoRepair is returned by Repair if only an operator can make the stores agree, for example with a file from a backup.
var ErrNoRepair = errors.New("the stores still differ, and neither says what the other should have: put back what is missing from a backup")

// Step is what one call of Compare did.
type Step struct {
	// Items is how many were compared.
	Items int
	// Differences that were found.
	Differences []Difference
	// Next is the position after the items; "": the round has ended.
	Next string
}

// Difference is something about which two stores disagree.
type Difference struct {
	// Subject names it, in at most 100 bytes, as in user 5 conversation 7 seq 9.
	Subject string
	// Reason says what differs, and Values replace the placeholders of its text. Together they have at most 500 bytes.
	Reason Reason
	Values Values
	// Correct makes the stores agree, in the transaction that stores the difference. It returns false if they agree by now: then there is no difference. It may run again after a failed commit.
	// If it is nil, an operator decides.
	Correct func(ctx context.Context, tx *sql.Tx) (bool, error)
}

// Auditor adds entries to the audit log.
type Auditor interface {
	Add(ctx context.Context, tx *sql.Tx, e auditlog.Entry) error
}

// Deps are what a Service needs.
type Deps struct {
	DB          *sqldb.DB
	Jobs        *job.Service
	Audit       Auditor
	Comparisons []Comparison
	// IsCoordinator reports whether this node compares for all nodes. If nil, it does.
	IsCoordinator func() bool
	Clock         clock.Clock
	Logger        *slog.Logger
}

// Config of a Service. The zero value is the documented default.
type Config struct {
	// PerMinute is how many items each comparison reads every minute; 0 is 6,000.
	PerMinute int `yaml:"per_minute"`
	// Off: nothing is compared. Default false.
	Off bool `yaml:"off"`
}

const (
	defaultPerMinute = 6000
	maxPerMinute     = 1_000_000
	interval         = time.Minute
	// defaultStepTime is how long a step may compare, unless its comparison is Slow.
	defaultStepTime = 30 * time.Second
	// storeTime bounds the transactions of a step.
	storeTime = 30 * time.Second
	// maxDifferences bounds the rows of a comparison. Further differences are found again once some of these are repaired.
	maxDifferences = 1000
	repairFailures = 5
)

// Check reports invalid settings.
func (c Config) Check() error {
	if c.PerMinute < 0 || c.PerMinute > maxPerMinute {
		return fmt.Errorf("reconciliation.per_minute is 1 to %d, not %d", maxPerMinute, c.PerMinute)
	}
	return nil
}

// Service compares stores.
type Service struct {
	deps     Deps
	config   Config
	stepTime time.Duration // shorter in tests
	counts   counts
}

var migrations = []string{
	// position: behind the last items; round: the number of the one under way; checked: items of it; compared: those of the last whole one.
	`CREATE TABLE reconciliation_rounds (comparison TEXT PRIMARY KEY, position TEXT NOT NULL, round BIGINT NOT NULL, checked BIGINT NOT NULL, compared BIGINT NOT NULL, began_ms BIGINT NOT NULL, ended_ms BIGINT NOT NULL)`,
	// round: in which it was found last.
	`CREATE TABLE reconciliation_differences (comparison TEXT NOT NULL, subject TEXT NOT NULL, what TEXT NOT NULL, found_ms BIGINT NOT NULL, round BIGINT NOT NULL, repairing BOOLEAN NOT NULL DEFAULT FALSE, PRIMARY KEY (comparison, subject))`,
	// corrected: the stores agree since it was found, and no operator has seen it yet.
	`ALTER TABLE reconciliation_differences ADD COLUMN corrected BOOLEAN NOT NULL DEFAULT FALSE`,
	// Before, differences were English sentences. The next round finds again what still differs.
	`DROP TABLE reconciliation_differences`,
	// details: the values of the reason, in JSON; unrepairable: a repair was tried, and only an operator can make the stores agree.
	`CREATE TABLE reconciliation_differences (comparison TEXT NOT NULL, subject TEXT NOT NULL, reason TEXT NOT NULL, details TEXT NOT NULL, found_ms BIGINT NOT NULL, round BIGINT NOT NULL, repairing BOOLEAN NOT NULL DEFAULT FALSE,
		corrected BOOLEAN NOT NULL DEFAULT FALSE, unrepairable BOOLEAN NOT NULL DEFAULT FALSE, PRIMARY KEY (comparison, subject))`,
}

// New creates the tables if they are missing.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	config.PerMinute = cmp.Or(config.PerMinute, defaultPerMinute)
	return &Service{deps: deps, config: config, stepTime: defaultStepTime}, deps.DB.Migrate(ctx, "reconciliation", migrations)
}

// Run compares until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.config.Off {
		<-ctx.Done()
		return nil
	}
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: interval, Round: s.Step, Failed: "stores could not be compared; the next minute tries again", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// Step runs the next step of each comparison. A comparison that fails does not stop the others.
func (s *Service) Step(ctx context.Context) error {
	var failed []error
	for _, c := range s.deps.Comparisons {
		if err := s.step(ctx, c); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.Name(), err))
		}
	}
	return errors.Join(failed...)
}

// step compares the next items of one comparison, and stores what it found with the position.
func (s *Service) step(ctx context.Context, c Comparison) error {
	r, err := s.round(ctx, c.Name())
	if err != nil {
		return err
	}
	result, err := s.compare(ctx, c, r)
	if errors.Is(err, ErrNotReady) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime) // even if the comparison has used all its time
	defer cancel()
	var stored outcome
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		stored, err = s.store(ctx, tx, r, result)
		return err
	})
	if err != nil {
		return err
	}
	for i := range stored.found {
		f := &stored.found[i]
		s.deps.Logger.Error("two stores differ", "comparison", c.Name(), "subject", f.Subject, "what", f.What(), "corrected", f.Corrected)
	}
	if stored.omitted > 0 {
		s.deps.Logger.Warn("more differences of two stores were found than are kept", "comparison", c.Name(), "kept", maxDifferences, "omitted", stored.omitted)
	}
	return nil
}

// compare compares for as long as a step of the comparison may take.
func (s *Service) compare(ctx context.Context, c Comparison, r Round) (Step, error) {
	timeout := s.stepTime
	if slow, ok := c.(Slow); ok {
		timeout = slow.StepTime()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.Compare(ctx, r.Position, s.config.PerMinute)
}

// outcome is what became of the differences of a step.
type outcome struct {
	// found are those that are new, and those that were corrected.
	found []Found
	// omitted is how many others there are that were not kept.
	omitted int
}

// store stores the result of a step, and returns the differences. It does nothing if another node has stored a step in the meantime.
func (s *Service) store(ctx context.Context, tx *sql.Tx, r Round, result Step) (to outcome, err error) {
	now := s.deps.Clock.Now().UnixMilli()
	next := r
	next.Position, next.checked = result.Next, r.checked+int64(result.Items)
	if result.Next == "" {
		next = Round{Comparison: r.Comparison, Number: r.Number + 1, Compared: next.checked, BeganMs: now, EndedMs: now}
	}
	done, err := tx.ExecContext(ctx, `UPDATE reconciliation_rounds SET position = $3, round = $4, checked = $5, compared = $6, began_ms = $7, ended_ms = $8 WHERE comparison = $1 AND position = $2 AND round = $9`,
		r.Comparison, r.Position, next.Position, next.Number, next.checked, next.Compared, next.BeganMs, next.EndedMs, r.Number)
	if err != nil {
		return to, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return to, err
	}
	if to, err = s.storeDifferences(ctx, tx, r, result.Differences, now); err != nil || result.Next != "" {
		return to, err
	}
	// What this round did not find agrees by now.
	_, err = tx.ExecContext(ctx, `DELETE FROM reconciliation_differences WHERE comparison = $1 AND round < $2 AND NOT repairing AND NOT corrected`, r.Comparison, r.Number)
	return to, err
}

// storeDifferences corrects what can be, and stores the differences of a round, as many as are kept.
func (s *Service) storeDifferences(ctx context.Context, tx *sql.Tx, r Round, list []Difference, now int64) (to outcome, err error) {
	var kept int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM reconciliation_differences WHERE comparison = $1`, r.Comparison).Scan(&kept); err != nil {
		return to, err
	}
	for _, d := range list {
		f := Found{Difference: d, Comparison: r.Comparison, FoundMs: now}
		details, err := json.Marshal(d.Values)
		if err != nil {
			return to, err
		}
		if d.Correct != nil {
			if f.Corrected, err = d.Correct(ctx, tx); err != nil {
				return to, err
			}
			if !f.Corrected {
				continue
			}
		}
		done, err := tx.ExecContext(ctx, `UPDATE reconciliation_differences SET reason = $3, details = $4, round = $5, corrected = $6, unrepairable = FALSE WHERE comparison = $1 AND subject = $2`, r.Comparison, d.Subject, d.Reason, string(details), r.Number, f.Corrected)
		if err != nil {
			return to, err
		}
		known, err := done.RowsAffected()
		if err != nil {
			return to, err
		}
		isAdded := known == 0 && kept < maxDifferences
		switch {
		case isAdded || f.Corrected:
			to.found = append(to.found, f)
		case known == 0: // a later round finds it again
			to.omitted++
		}
		if !isAdded {
			continue
		}
		kept++
		if _, err := tx.ExecContext(ctx, `INSERT INTO reconciliation_differences (comparison, subject, reason, details, found_ms, round, corrected) VALUES ($1, $2, $3, $4, $5, $6, $7)`, r.Comparison, d.Subject, d.Reason, string(details), now, r.Number, f.Corrected); err != nil {
			return to, err
		}
	}
	return to, nil
}

// Round is the progress of a comparison.
type Round struct {
	Comparison string
	// Number of the current round, from 1, which began at BeganMs.
	Number  int64
	BeganMs int64
	// Compared is the number of items in the last complete round, which ended at EndedMs; 0: there is none.
	Compared, EndedMs int64
	// Position after the last items; "": the round is at its beginning.
	Position string

	checked int64 // items of this round
}

// round returns the progress of a comparison. The first call begins its first round.
func (s *Service) round(ctx context.Context, name string) (r Round, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO reconciliation_rounds (comparison, position, round, checked, compared, began_ms, ended_ms) VALUES ($1, '', 1, 0, 0, $2, 0) ON CONFLICT DO NOTHING`,
			name, s.deps.Clock.Now().UnixMilli()); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT comparison, position, round, checked, compared, began_ms, ended_ms FROM reconciliation_rounds WHERE comparison = $1`, name).
			Scan(&r.Comparison, &r.Position, &r.Number, &r.checked, &r.Compared, &r.BeganMs, &r.EndedMs)
	})
	return r, err
}

var errNoComparison = errs.New(errs.NotFound, "no_comparison", "there is no such comparison; ListComparisons has their names")

// errNoDifference is the error of a difference that was repaired, or never was.
var errNoDifference = errs.New(errs.NotFound, "no_difference", "there is no such difference any more; list them again")
