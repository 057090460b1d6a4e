package detail

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// defaultTimeout is how long the optional parts of a page may take. The required part has as long as its call.
const defaultTimeout = time.Second

// maxRunning bounds the parts that are read at once, those included that have not noticed yet that their page went without them.
const maxRunning = 4096

// maxIdle bounds the goroutines that wait for a part to read.
const maxIdle = 64

var errBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second}

// Part is an optional part of the page of a post.
type Part struct {
	Kind feedv1.PostPagePart
	// Read reads the part, and returns what puts it into the page. It ends soon after ctx. The page's post is there only if the reader may see it, so a part
	// that does not check this itself calls of.Post first.
	Read func(ctx context.Context, of *Subject) (put func(*feedv1.PostPage), err error)
	// ReadAsOf reads the part as of a snapshot, in which the reader sees the post. It is not nil if Deps.PostAsOf is not.
	ReadAsOf func(ctx context.Context, tx *sql.Tx, of *Subject) (put func(*feedv1.PostPage), err error)
}

// Subject is the post of a page.
type Subject struct {
	Reader   id.User
	ID       uint64
	Comments uint32 // how many the page shows at most

	known chan struct{} // closed once post is set
	post  *feedv1.Post
}

// Post returns the post once it is read.
func (s *Subject) Post(ctx context.Context) (*feedv1.Post, error) {
	select {
	case <-s.known:
		return s.post, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// result of reading a part.
type result struct {
	part int
	put  func(*feedv1.PostPage)
	err  error
}

// PostPage returns a post with the parts that could be read in time.
func (s *Service) PostPage(ctx context.Context, reader id.User, r *feedv1.GetPostPageRequest) (*feedv1.PostPage, error) {
	ctx, cancel := context.WithCancel(sqldb.ShortReads(ctx))
	defer cancel() // ends the parts that the page goes without
	optional, done := context.WithTimeout(ctx, s.timeout)
	defer done()
	of := &Subject{Reader: reader, ID: r.Post, Comments: r.Comments, known: make(chan struct{})}
	if s.deps.PostAsOf != nil && s.deps.DB.HasSnapshotCaches() {
		return s.pageAsOf(ctx, optional, of)
	}
	results := make(chan result, len(s.deps.Parts))
	for i := range s.deps.Parts {
		if err := s.start(optional, i, of, results); err != nil {
			return nil, err
		}
	}
	post, err := s.deps.Post(ctx, reader, r.Post)
	if err != nil {
		return nil, err
	}
	of.post = post
	close(of.known)
	page := &feedv1.PostPage{Post: post}
	put := s.collect(optional, results)
	for i, p := range s.deps.Parts {
		if put[i] == nil {
			page.Missing = append(page.Missing, p.Kind)
			continue
		}
		put[i](page)
	}
	return page, nil
}

// start begins to read a part.
func (s *Service) start(ctx context.Context, i int, of *Subject, results chan<- result) error {
	select {
	case s.running <- struct{}{}:
	default:
		return errBusy
	}
	read := func() {
		defer func() { <-s.running }()
		put, err := s.deps.Parts[i].Read(ctx, of)
		results <- result{i, put, err} // there is room for all
	}
	select {
	case s.next <- read:
	default:
		s.readers.Go(func() {
			for read := read; read != nil; {
				read()
				read = s.waitForNext()
			}
		})
	}
	return nil
}

// waitForNext returns the next part that this goroutine is to read; nil if it is to end. Goroutines are used again because the stack of a new one grows several
// times while it reads from a database.
func (s *Service) waitForNext() (read func()) {
	select {
	case s.idle <- struct{}{}:
		defer func() { <-s.idle }()
	default:
		return nil // enough others wait
	}
	select {
	case read = <-s.next:
	case <-s.stopped:
	}
	return read
}

// collect waits for the parts, until ctx ends, and returns what puts them into the page; nil for those that are missing.
func (s *Service) collect(ctx context.Context, results <-chan result) []func(*feedv1.PostPage) {
	list := make([]func(*feedv1.PostPage), len(s.deps.Parts))
	for range s.deps.Parts {
		select {
		case r := <-results:
			if r.err == nil {
				list[r.part] = r.put
			} else {
				s.logMissing(r.part, r.err)
			}
		case <-ctx.Done():
			s.deps.Logger.Warn("a page is returned without the parts that were not read in time", "timeout", s.timeout)
			return list
		}
	}
	return list
}

func (s *Service) logMissing(part int, err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		s.deps.Logger.Warn("a page is returned without a part that could not be read", "part", s.deps.Parts[part].Kind.String(), "error", err)
	}
}
