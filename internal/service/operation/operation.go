// Package operation has the calls of the operators' console: nodes with their figures, background jobs, the processing of videos, and the audit log. It also starts
// backups, for rialto backup.
//
// The figures of a node come from its Prometheus registry, so the console shows nothing that Prometheus lacks. A node gathers them at most once a second,
// however many operators look. Each change is committed with its entry in the audit log.
//
// It may use bus, sqldb, job, backup, auditlog and reconciliation. All methods are safe for concurrent use.
package operation

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/job"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"golang.org/x/time/rate"
)

// Jobs are background jobs.
type Jobs interface {
	List(ctx context.Context, state job.State, queue string, limit int) ([]job.Info, error)
	Get(ctx context.Context, id int64) (job.Info, error)
	Counts(ctx context.Context, queue string) (job.Counts, error)
	Retry(ctx context.Context, id int64, audit job.Audit) error
	Discard(ctx context.Context, id int64, audit job.Audit) (job.State, error)
	Drop(ctx context.Context, id int64, audit job.Audit) error
}

// Backups of the data directory of this node.
type Backups interface {
	Start(ctx context.Context, by string, record func(ctx context.Context, directory string) error) (backup.Status, error)
	Status() backup.Status
	Cancel(ctx context.Context, record func(ctx context.Context, directory string) error) (backup.Status, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Jobs Jobs
	// Queues are the names of the queues of jobs.
	Queues []string
	Audit  *auditlog.Log
	// DB has the audit log. Changes that are not rows of the database are recorded before they are made.
	DB      *sqldb.DB
	Backups Backups
	// Reconciliation compares stores.
	Reconciliation Reconciliation
	Videos         Videos
	// Metrics of this node.
	Metrics prometheus.Gatherer
	// Self returns what this node says of itself, without its figures.
	Self func() *operationv1.NodeReport
	Bus  bus.Bus
	// Node is this node's name, and Nodes are those of the live nodes.
	Node   string
	Nodes  func() []string
	Clock  clock.Clock
	Logger *slog.Logger
}

const (
	askTimeout  = 2 * time.Second // for the answers of all nodes
	reportFor   = time.Second     // how long a node's report is given again
	countsFor   = 2 * time.Second // how long counts of queues are given again
	countTime   = 5 * time.Second
	defaultPage = 50
	maxPage     = 200
	// The calls of all keys of a role together, at one node: an auditor's key, which is not to change anything, must not stop those who act.
	callsPerSecond, callsBurst = 50, 100
)

// Service answers the console.
type Service struct {
	deps       Deps
	calls      map[id.OperatorRole]*rate.Limiter // never changed
	askTimeout time.Duration

	reporting sync.Mutex // guards report and reportAt; held while figures are gathered
	report    []byte
	reportAt  time.Time

	counting sync.Mutex // guards counts and countsAt; held while jobs are counted
	counts   *operationv1.ListQueuesResponse
	countsAt time.Time
}

// New returns a Service, which Run runs.
func New(deps Deps) *Service {
	limiter := func() *rate.Limiter { return rate.NewLimiter(callsPerSecond, callsBurst) }
	return &Service{deps: deps, askTimeout: askTimeout, calls: map[id.OperatorRole]*rate.Limiter{id.Auditor: limiter(), id.Operator: limiter(), id.Moderator: limiter()}}
}

// Run answers other nodes until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Respond(subject(s.deps.Node), func([]byte) []byte { return s.ownReport() })
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return nil
}

func subject(node string) string { return bus.NodeSubject(node, "report") }

var (
	errDenied      = errs.New(errs.Denied, "no_operator", "this needs a key with the role operator: rialto admin key create --role operator")
	errNoModerator = errs.New(errs.Denied, "no_moderator", "this needs a key with the role moderator or operator: rialto admin key create --role moderator")
	errTooMany     = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_requests", Message: "operators make too many calls at this node; wait, and try again", Retry: time.Second}
)

// CheckCall counts a call of an operator, and refuses it if all of the role make too many, or if the caller's role does not include the least one.
func (s *Service) CheckCall(c id.Caller, least id.OperatorRole) error {
	if !c.Role.May(least) {
		if least == id.Moderator {
			return errNoModerator
		}
		return errDenied
	}
	if l := s.calls[c.Role]; l == nil || !l.AllowN(s.deps.Clock.Now(), 1) {
		return errTooMany
	}
	return nil
}

// GetOperator tells who the caller is.
func (s *Service) GetOperator(_ context.Context, c id.Caller, _ *operationv1.GetOperatorRequest) (*operationv1.Operator, error) {
	roles := map[id.OperatorRole]operationv1.OperatorRole{id.Auditor: operationv1.OperatorRole_OPERATOR_ROLE_AUDITOR, id.Operator: operationv1.OperatorRole_OPERATOR_ROLE_OPERATOR, id.Moderator: operationv1.OperatorRole_OPERATOR_ROLE_MODERATOR}
	return &operationv1.Operator{Name: c.Key, Role: roles[c.Role]}, nil
}

// page returns the size of a page.
func page(limit uint32) int {
	if limit == 0 {
		return defaultPage
	}
	return int(min(limit, maxPage))
}
