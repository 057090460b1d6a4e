// Package clusterevent notifies all nodes within seconds of what happened on one of them, such as the end of a session or a changed
// setting.
//
// It owns one table in the SQL database. An event is a row, committed in the transaction of the change that it describes, so an event is
// not lost if its node crashes after the commit. Every node reads new rows each second, or sooner when it is woken. PostgreSQL numbers
// rows when they are written, not when they are committed, and a commit may wait for its standby for as long as that is away.
// Therefore a missing number is queried again until all transactions that could have it have ended. A node that could not read for so
// long that rows may have been deleted is notified that it missed events.
//
// A single node, which does not share its database, writes and reads nothing.
//
// It may use sqldb. An event may be delivered twice. Add, Notify, Wake and Sync are safe for concurrent use.
package clusterevent

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Event is something that happened. The meaning of User, Other and Detail depends on the kind; the package that adds an event defines its
// kinds.
type Event struct {
	Kind   string
	User   id.User
	Other  uint64
	Detail string
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB     *sqldb.DB
	Logger *slog.Logger
	// SingleNode means that no other process uses the database. Nothing is stored or delivered.
	SingleNode bool
	// Handle is called with the events of all nodes, one at a time. It also gets this node's own events: if the answer to a commit was
	// lost, the caller does not know that the event was stored. It must not block.
	Handle func(Event)
	// Missed is called if events may have been deleted before this node read them, so that it can reload what they were about. It must
	// not block. It may be nil.
	Missed func()
	// WakeOthers makes the other nodes call Wake. Its messages may be lost. It must not block. It may be nil; then other nodes read within a
	// second.
	WakeOthers func()
}

const (
	pollInterval = time.Second
	pollTimeout  = 10 * time.Second
	trimInterval = time.Minute
	// warnInterval is how often it is logged that events cannot be read.
	warnInterval = time.Minute
	// retention of a row, by the clock of the node that deletes it.
	retention = 10 * time.Minute
	// maxTransactionAge is longer than any transaction stays open unless its commit waits for a standby (sqldb). A number that is missing
	// for longer may belong to no transaction.
	maxTransactionAge = 3 * time.Minute
	// initialGap is how many numbers before the first one that a node sees are considered missing. At most maxGaps missing numbers are
	// queried again.
	initialGap   = 64
	maxGaps      = 10_000
	pageSize     = 1000
	gapsPerQuery = 200 // numbers in one query
)

// Service stores this node's events, and delivers those of all nodes.
type Service struct {
	deps   Deps
	origin int64 // identifies this process's rows, for debugging
	wake   chan struct{}

	mu        sync.Mutex    // guards all up to the next empty line
	begun     uint64        // polls that have begun
	succeeded uint64        // the latest poll that was successful
	failed    uint64        // the latest one that was not
	failure   error         // of that one
	ended     chan struct{} // closed when a poll ends

	// Used by New, and then by Run's goroutine only:
	last        int64               // the highest number seen
	gaps        map[int64]time.Time // missing numbers below last, and since when
	barrier     barrier             // tells when missing numbers belong to no transaction
	checkpoints []checkpoint        // one for each minute
	lastRead    time.Time           // when the last successful poll began
	nextTrim    time.Time
}

// checkpoint is the highest number at some time below which none was missing.
type checkpoint struct {
	last int64
	at   time.Time
}

var migrations = []string{
	`CREATE TABLE cluster_events (n {number}, origin BIGINT NOT NULL, kind TEXT NOT NULL, owner BIGINT NOT NULL, other BIGINT NOT NULL, body TEXT NOT NULL)`,
}

// New creates the table if it is missing. Events that exist already are not delivered: a node that starts has no state that they could be
// about.
func New(ctx context.Context, deps Deps) (*Service, error) {
	var origin [8]byte
	rand.Read(origin[:]) //nolint:errcheck // it never fails
	s := &Service{deps: deps, origin: int64(binary.BigEndian.Uint64(origin[:]) >> 1), wake: make(chan struct{}, 1), ended: make(chan struct{}), gaps: map[int64]time.Time{}}
	if err := deps.DB.Migrate(ctx, "cluster_events", migrations); err != nil || deps.SingleNode {
		return s, err
	}
	s.nextTrim = time.Now().Add(trimInterval)
	return s, s.poll(ctx, func(Event) {})
}

// Add stores events in the caller's transaction, after the changes that they describe. Call Notify after the commit.
func (s *Service) Add(ctx context.Context, tx *sql.Tx, events ...Event) error {
	if s.deps.SingleNode {
		return nil
	}
	for _, e := range events {
		if _, err := tx.ExecContext(ctx, `INSERT INTO cluster_events (origin, kind, owner, other, body) VALUES ($1, $2, $3, $4, $5)`, s.origin, e.Kind, int64(e.User), int64(e.Other), e.Detail); err != nil {
			return err
		}
	}
	return nil
}

// Notify makes the other nodes read committed events soon.
func (s *Service) Notify() {
	if !s.deps.SingleNode && s.deps.WakeOthers != nil {
		s.deps.WakeOthers()
	}
}

// Wake makes this node read at once.
func (s *Service) Wake() {
	wakeup.Signal(s.wake)
}

// Run delivers new events until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.deps.SingleNode {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var warned time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.wake:
		}
		if err := s.round(ctx); err != nil && ctx.Err() == nil && (warned.IsZero() || time.Since(warned) >= warnInterval) {
			warned = time.Now()
			s.deps.Logger.Warn("events of other nodes could not be read; they are read later", "error", err)
		}
	}
}

// round delivers new events, and tells those who wait in Sync.
func (s *Service) round(ctx context.Context) error {
	s.mu.Lock()
	s.begun++
	n := s.begun
	s.mu.Unlock()
	err := s.poll(ctx, s.deps.Handle)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.succeeded = n
	} else {
		s.failed, s.failure = n, err
	}
	close(s.ended)
	s.ended = make(chan struct{})
	return err
}

// Sync returns when all events that were committed before its call have been delivered to this node. It fails with the error of ctx,
// or of a poll that began after its call.
func (s *Service) Sync(ctx context.Context) error {
	if s.deps.SingleNode {
		return nil
	}
	s.mu.Lock()
	later := s.begun + 1 // a poll in progress may have read the rows already
	s.mu.Unlock()
	s.Wake()
	for {
		s.mu.Lock()
		done, failed, failure, ended := s.succeeded >= later, s.failed >= later, s.failure, s.ended
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case failed:
			return failure
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
