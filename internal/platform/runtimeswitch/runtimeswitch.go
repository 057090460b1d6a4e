// Package runtimeswitch has switches that an operator turns while all nodes run, to degrade a feature and to restore it, and numbers that an operator sets
// (numbers.go), such as weights. Every node has the state of all of them in memory, so a request needs no query.
//
// A change is committed with a record of who made it and why, and with an event for the other nodes, which then read the rows again. A node also reads the rows
// again when it may have missed events, and every half minute. If the database does not answer, the last state holds.
//
// It may use sqldb and clusterevent, and the rule of auditlog for names. All methods are safe for concurrent use; IsOn, Number, HandleEvent and Missed do not block.
package runtimeswitch

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// eventKind is the kind of the events that tell nodes to read the rows again.
const eventKind = "switches"

const (
	reloadInterval = 30 * time.Second
	reloadTimeout  = 10 * time.Second
)

// Name of a switch or of a number. A switch without a row is off.
type Name string

// Deps are the dependencies of a Service.
type Deps struct {
	DB *sqldb.DB
	// ClusterEvents tells the other nodes of changes. If nil, there are no other nodes.
	ClusterEvents *clusterevent.Service
	// Audit records a change of a switch (on, off) or of a number (default, or the number), in its transaction. If it fails, nothing is changed. Nil: changes are only in
	// Changes and NumberChanges.
	Audit  func(ctx context.Context, tx *sql.Tx, n Name, before, after, by, reason string) error
	Clock  clock.Clock
	Logger *slog.Logger
}

// audit records a change.
func (s *Service) audit(ctx context.Context, tx *sql.Tx, n Name, before, after, by, reason string) error {
	if s.deps.Audit == nil {
		return nil
	}
	return s.deps.Audit(ctx, tx, n, before, after, by, reason)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Service has the switches and numbers.
type Service struct {
	deps  Deps
	state atomic.Pointer[state] // never changed, only replaced
	wake  chan struct{}
	mu    sync.Mutex // held from the beginning of a read of the rows until state has it, so that no older state replaces a newer one
}

// state is what the rows have.
type state struct {
	on      map[Name]bool
	numbers map[Name]int64
}

var migrations = []string{
	`CREATE TABLE runtime_switches (name TEXT PRIMARY KEY, is_on BOOLEAN NOT NULL)`,
	// Changes are kept for ever. There are few.
	`CREATE TABLE runtime_switch_changes (n {number}, name TEXT NOT NULL, is_on BOOLEAN NOT NULL, changed_by TEXT NOT NULL, reason TEXT NOT NULL, time_ms BIGINT NOT NULL)`,
	`CREATE TABLE runtime_numbers (name TEXT PRIMARY KEY, value BIGINT NOT NULL)`,
	// A change without a value went back to the default.
	`CREATE TABLE runtime_number_changes (n {number}, name TEXT NOT NULL, value BIGINT, changed_by TEXT NOT NULL, reason TEXT NOT NULL, time_ms BIGINT NOT NULL)`,
}

// New creates the tables if they are missing, and reads the switches.
func New(ctx context.Context, deps Deps) (*Service, error) {
	s := &Service{deps: deps, wake: make(chan struct{}, 1)}
	if err := deps.DB.Migrate(ctx, "runtime_switches", migrations); err != nil {
		return nil, err
	}
	return s, s.reload(ctx)
}

// IsOn reports whether a switch is on.
func (s *Service) IsOn(n Name) bool { return s.state.Load().on[n] }

// Set turns switches. Those that are as they should be are not changed. On this node the change holds from the answer on, unless the rows cannot be read again
// just then, and on others within a second as a rule; with a delay of at most reloadInterval.
func (s *Service) Set(ctx context.Context, to map[Name]bool, by, reason string) error {
	return s.change(ctx, by, reason, func(tx *sql.Tx) error {
		was, err := readSwitches(ctx, tx)
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(to)) {
			if was[n] == to[n] {
				continue
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO runtime_switches (name, is_on) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET is_on = $2`, string(n), to[n]); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO runtime_switch_changes (name, is_on, changed_by, reason, time_ms) VALUES ($1, $2, $3, $4, $5)`,
				string(n), to[n], by, reason, s.deps.Clock.Now().UnixMilli()); err != nil {
				return err
			}
			if err := s.audit(ctx, tx, n, onOff(was[n]), onOff(to[n]), by, reason); err != nil {
				return err
			}
		}
		return nil
	})
}

const maxBy = 100 // characters

var (
	errBy     = errs.New(errs.Invalid, "bad_change", fmt.Sprintf("by is one line of 1 to %d characters%s, and does not contain %s", maxBy, message.TextRule, auditlog.SystemPrefix))
	errReason = errs.New(errs.Invalid, "bad_change", fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
)

// change commits a change of rows, which somebody makes for a reason, and tells all nodes.
func (s *Service) change(ctx context.Context, by, reason string, write func(tx *sql.Tx) error) error {
	switch {
	case by == "" || !message.IsText(by, maxBy, message.IsLine) || auditlog.ImitatesSystem(by):
		return errBy
	case !message.IsReason(reason):
		return errReason
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := write(tx); err != nil || s.deps.ClusterEvents == nil {
			return err
		}
		return s.deps.ClusterEvents.Add(ctx, tx, clusterevent.Event{Kind: eventKind})
	})
	if err != nil {
		return err
	}
	if s.deps.ClusterEvents != nil {
		s.deps.ClusterEvents.Notify()
	}
	if err := s.reload(ctx); err != nil { // the change is committed
		s.deps.Logger.Warn("runtime switches were changed and could not be read; the last state holds until they are", "error", err, "retry_after", reloadInterval)
		wakeup.Signal(s.wake)
	}
	return nil
}

// Change of a switch.
type Change struct {
	Name       Name
	On         bool
	By, Reason string
	TimeMs     int64
}

// Changes returns the latest changes of switches whose names have a prefix, at most limit, the newest first.
func (s *Service) Changes(ctx context.Context, prefix string, limit int) (list []Change, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT name, is_on, changed_by, reason, time_ms FROM runtime_switch_changes WHERE substr(name, 1, length($1)) = $1 ORDER BY n DESC LIMIT $2`, prefix, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var c Change
		err := rows.Scan(&c.Name, &c.On, &c.By, &c.Reason, &c.TimeMs)
		list = append(list, c)
		return err
	})
	return list, err
}

// HandleEvent handles an event of any node.
func (s *Service) HandleEvent(e clusterevent.Event) {
	if e.Kind == eventKind {
		wakeup.Signal(s.wake)
	}
}

// Missed is called when this node may have missed events.
func (s *Service) Missed() { wakeup.Signal(s.wake) }

// Run reads the switches again when they have changed, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(reloadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.wake:
		}
		if err := s.reload(ctx); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("runtime switches could not be read; the last state holds until they are", "error", err, "retry_after", reloadInterval)
		}
	}
}

func (s *Service) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		on, err := readSwitches(ctx, tx)
		if err != nil {
			return err
		}
		numbers, err := readNumbers(ctx, tx)
		if err == nil {
			s.state.Store(&state{on, numbers})
		}
		return err
	})
}

func readSwitches(ctx context.Context, tx *sql.Tx) (map[Name]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, is_on FROM runtime_switches`)
	return sqldb.Pairs[Name, bool](rows, err)
}
