// Package detail composes views of posts and comments from the data of several services.
//
// It adds to posts and comments their counts, and whether the reader likes them (counts.go). A page of them takes a constant number of statements.
//
// It also composes the page of one post (page.go): the post, which is required, and optional parts of other services. All parts are read at the same
// time. In an embedded database they are read one after another as of one snapshot (snapshot.go), because there a read is work of this process, and does not wait for another one. If an
// optional part fails or takes too long, the page is returned without it, and names it. If the required part fails, the page fails, and the
// other reads are cancelled. Each part is as of some moment of the call; without a snapshot, the moments may differ.
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
