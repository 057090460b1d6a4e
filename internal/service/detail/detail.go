// Package detail makes full views of what several services know of.
//
// It adds to posts and comments their counts, and whether the reader likes them (counts.go). A page of them takes a constant number of statements.
//
// It gathers what a page about one post shows (page.go): the post, which is required, and optional parts of other services. All parts are read at the same
// time, or, in an embedded database, one after another as of one snapshot (snapshot.go), because there reading is work of this process, and waits for nobody. A page is there without an optional part that failed or took too long; the answer names it. If the required part fails, the page does, and the
// reading of the others ends. Each part is right as of a moment of the call; without a snapshot, not all as of the same one.
//
// It may use sqldb and counter; other services by functions that app passes in. All methods are safe for concurrent use.
package detail

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/counter"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Counters *counter.Service
	// Comments counts the comments of posts, and Reposts their reposts.
	Comments, Reposts Counts
	// Post returns a post if a reader may see it.
	Post func(ctx context.Context, reader id.User, post uint64) (*feedv1.Post, error)
	// PostAsOf is Post as of a snapshot of DB. If it is not nil, and the database is embedded, pages are read as of one snapshot.
	PostAsOf func(ctx context.Context, tx *sql.Tx, reader id.User, post uint64) (*feedv1.Post, error)
	// Parts that pages of posts have, in the order in which missing ones are named.
	Parts  []Part
	Logger *slog.Logger
}

// Service adds counts, and gathers pages.
type Service struct {
	deps    Deps
	timeout time.Duration
	running chan struct{} // has an element for each part that is being read
	idle    chan struct{} // has an element for each goroutine that waits for a part to read
	next    chan func()   // reads a part
	stopped chan struct{} // closed when Run ends
	readers sync.WaitGroup
}

// New returns a Service.
func New(deps Deps) *Service {
	return &Service{deps: deps, timeout: defaultTimeout, running: make(chan struct{}, maxRunning), idle: make(chan struct{}, maxIdle), next: make(chan func()), stopped: make(chan struct{})}
}

// Run waits for the parts that are being read after ctx has ended. No page is asked for any more then.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	close(s.stopped)
	s.readers.Wait()
	return nil
}
