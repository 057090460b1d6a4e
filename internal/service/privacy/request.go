package privacy

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

var (
	errNoErasure = errs.New(errs.NotFound, "no_erasure", "no deletion of this account is planned, or it has begun")
	errReason    = errs.New(errs.Invalid, "bad_reason", fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
	errServer    = errs.New(errs.Denied, "not_allowed", "with an API key, call AdminService/EraseUser instead")
)

// erasure is a row.
type erasure struct {
	owner                                 id.User
	requestedMs, dueMs, startedMs, doneMs int64
	participant                           int
	position                              string
	parts                                 map[string]int64 // how much was erased, by participant
}

// row reads an erasure. It fails with sql.ErrNoRows if there is none.
func row(ctx context.Context, q sqldb.Querier, u id.User) (*erasure, error) {
	e := &erasure{owner: u}
	var parts string
	err := q.QueryRowContext(ctx, `SELECT requested_ms, due_ms, started_ms, done_ms, participant, position, parts FROM erasures WHERE owner = $1`, int64(u)).
		Scan(&e.requestedMs, &e.dueMs, &e.startedMs, &e.doneMs, &e.participant, &e.position, &parts)
	if err == nil {
		err = json.Unmarshal([]byte(parts), &e.parts)
	}
	return e, err
}

func (e *erasure) proto() *accountv1.Erasure {
	out := &accountv1.Erasure{User: uint64(e.owner), RequestedMs: e.requestedMs, DueMs: e.dueMs, StartedMs: e.startedMs, DoneMs: e.doneMs}
	for _, name := range slices.Sorted(maps.Keys(e.parts)) {
		out.Parts = append(out.Parts, &accountv1.ErasedPart{Name: name, Erased: uint64(e.parts[name])})
	}
	return out
}

// eraseArgs name an erasure. RequestedMs tells it from one that was cancelled.
type eraseArgs struct {
	User        uint64 `json:"user,string"`
	RequestedMs int64  `json:"requested_ms"`
}

// Kind implements job.Args.
func (eraseArgs) Kind() string { return "erase_user" }

// exportArgs name an export.
type exportArgs struct {
	Export uint64 `json:"export,string"`
}

// Kind implements job.Args.
func (exportArgs) Kind() string { return "export_user" }

const (
	attemptTimeout = 10 * time.Minute
	// maxFailures of an erasure: what a user asked for is not given up.
	maxFailures = math.MaxInt32
)

// RequestErasure has the caller's account erased after the grace period. It fails unless the session has logged in, or confirmed its user's identity, a short
// time ago. A repetition changes nothing.
func (s *Service) RequestErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error) {
	if c.Server && c.Session == 0 {
		return nil, errServer
	}
	return s.request(ctx, c.User, s.config.ErasureGrace, "", func(tx *sql.Tx) error { return s.deps.Accounts.ConfirmErasure(ctx, tx, c) })
}

// EraseUser erases a user at once, for the operator's server. What is planned already is brought forward. When it returns, the user's sessions have ended, and
// nobody reads the user's messages.
func (s *Service) EraseUser(ctx context.Context, c id.Caller, r *accountv1.EraseUserRequest) (*accountv1.Erasure, error) {
	if !message.IsReason(r.Reason) {
		return nil, errReason
	}
	u, err := s.deps.Accounts.FindUser(ctx, id.User(r.User), r.ExternalId)
	if err != nil {
		return nil, err
	}
	if _, err := s.request(ctx, u, 0, c.Key, func(tx *sql.Tx) error {
		return s.deps.Audit.Add(ctx, tx, auditlog.Entry{Who: c.Key, Action: "user.erase", Subject: u.String(), Reason: r.Reason})
	}); err != nil {
		return nil, err
	}
	e, err := row(ctx, s.deps.DB.Read(), u)
	if err == nil && e.doneMs == 0 {
		err = s.begin(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	return s.get(ctx, u)
}

// request stores an erasure with its job. check is called in the transaction, unless the erasure is stored already.
func (s *Service) request(ctx context.Context, u id.User, grace time.Duration, by string, check func(tx *sql.Tx) error) (*accountv1.Erasure, error) {
	var out *erasure
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now := s.nowMs()
		due := now + grace.Milliseconds()
		e, err := row(ctx, tx, u)
		switch {
		case err == nil && (e.startedMs > 0 || e.dueMs <= due):
			out = e
			return nil
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if err := check(tx); err != nil {
			return err
		}
		out = &erasure{owner: u, requestedMs: now, dueMs: due}
		if err == nil { // it is brought forward, by another job
			out.requestedMs = e.requestedMs + 1
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO erasures (owner, requested_ms, requested_by, due_ms) VALUES ($1, $2, $3, $4) ON CONFLICT (owner) DO UPDATE SET requested_ms = $2, requested_by = $3, due_ms = $4`,
			int64(u), out.requestedMs, by, due); err != nil {
			return err
		}
		_, err = s.deps.Jobs.InsertTx(ctx, tx, eraseArgs{uint64(u), out.requestedMs}, job.Options{Queue: Queue, At: time.UnixMilli(due), MaxFailures: maxFailures, Timeout: attemptTimeout,
			Unique: u.String() + " " + strconv.FormatInt(out.requestedMs, 10)})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Jobs.Wake()
	return out.proto(), nil
}

// CancelErasure gives up the erasure of the caller's account. It fails with no_erasure if there is none, or it has begun.
func (s *Service) CancelErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error) {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { // the job finds no row, and ends
		done, err := tx.ExecContext(ctx, `DELETE FROM erasures WHERE owner = $1 AND started_ms = 0`, int64(c.User))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errNoErasure)
		}
		return nil
	})
	return &accountv1.Erasure{User: uint64(c.User)}, err
}

// GetErasure returns what is planned for the caller's account: without times if nothing is.
func (s *Service) GetErasure(ctx context.Context, c id.Caller) (*accountv1.Erasure, error) {
	return s.get(ctx, c.User)
}

// GetUserErasure returns the report of a user's erasure to the operator's server.
func (s *Service) GetUserErasure(ctx context.Context, r *accountv1.GetUserErasureRequest) (*accountv1.Erasure, error) {
	return s.get(ctx, id.User(r.User))
}

func (s *Service) get(ctx context.Context, u id.User) (*accountv1.Erasure, error) {
	e, err := row(ctx, s.deps.DB.Read(), u)
	if errors.Is(err, sql.ErrNoRows) {
		return &accountv1.Erasure{User: uint64(u)}, nil
	}
	if err != nil {
		return nil, err
	}
	return e.proto(), nil
}
