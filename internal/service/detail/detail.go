// Package detail adds to posts and comments what other services know of them: counts, and whether the reader likes them. A page of them takes a constant
// number of statements.
//
// It may use sqldb and counter; posts and comments by interfaces. All methods are safe for concurrent use.
package detail

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/counter"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Counts returns a number for those of some posts that have one, as of a transaction.
type Counts func(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error)

// Deps are the dependencies of a Service.
type Deps struct {
	DB       *sqldb.DB
	Counters *counter.Service
	// Comments counts the comments of posts, and Reposts their reposts.
	Comments, Reposts Counts
}

// maxAtOnce bounds the subjects of one statement.
const maxAtOnce = 500

// Service adds details.
type Service struct{ deps Deps }

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// AddToPosts sets the counts of posts, and of those that they show, and what the reader has done with them. They are as of one moment after the posts.
func (s *Service) AddToPosts(ctx context.Context, reader id.User, posts []*feedv1.Post) error {
	var list []*feedv1.Post
	for _, p := range posts {
		if p == nil {
			continue
		}
		if list = append(list, p); p.Reposted != nil {
			list = append(list, p.Reposted)
		}
	}
	return s.inParts(ctx, len(list), func(tx *sql.Tx, from, to int) error { return s.addToPosts(ctx, tx, reader, list[from:to]) })
}

// AddToComments sets the likes of comments, and whether the reader likes them.
func (s *Service) AddToComments(ctx context.Context, reader id.User, comments []*commentv1.Comment) error {
	return s.inParts(ctx, len(comments), func(tx *sql.Tx, from, to int) error {
		list := comments[from:to]
		ids := make([]uint64, len(list))
		for i, c := range list {
			ids[i] = c.Id
		}
		counters := s.deps.Counters.In(tx)
		likes, err := counters.Counts(ctx, counter.CommentLikes, ids)
		if err != nil {
			return err
		}
		liked, err := counters.Contains(ctx, counter.CommentLikes, reader, ids)
		if err != nil {
			return err
		}
		for i, c := range list {
			if !c.Deleted {
				c.Likes, c.Liked = count(likes[i]), liked[i]
			}
		}
		return nil
	})
}

// inParts calls do for parts of a list, in one snapshot.
func (s *Service) inParts(ctx context.Context, n int, do func(tx *sql.Tx, from, to int) error) error {
	if n == 0 {
		return nil
	}
	return s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		for from := 0; from < n; from += maxAtOnce {
			if err := do(tx, from, min(n, from+maxAtOnce)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) addToPosts(ctx context.Context, tx *sql.Tx, reader id.User, list []*feedv1.Post) error {
	ids := make([]uint64, len(list))
	for i, p := range list {
		ids[i] = p.Id
	}
	counters := s.deps.Counters.In(tx)
	likes, err := counters.Counts(ctx, counter.PostLikes, ids)
	if err != nil {
		return err
	}
	favourites, err := counters.Counts(ctx, counter.PostFavourites, ids)
	if err != nil {
		return err
	}
	liked, err := counters.Contains(ctx, counter.PostLikes, reader, ids)
	if err != nil {
		return err
	}
	favourited, err := counters.Contains(ctx, counter.PostFavourites, reader, ids)
	if err != nil {
		return err
	}
	views, err := counters.Views(ctx, counter.PostViews, ids)
	if err != nil {
		return err
	}
	comments, err := s.deps.Comments(ctx, tx, ids)
	if err != nil {
		return err
	}
	reposts, err := s.deps.Reposts(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i, p := range list {
		p.Likes, p.Favourites, p.Views, p.Liked, p.Favourited = count(likes[i]), count(favourites[i]), count(views[i]), liked[i], favourited[i]
		p.Comments, p.Reposts = comments[p.Id], reposts[p.Id]
	}
	return nil
}

func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
// Package detail gathers what a page about one thing shows: its required part, which is read by the service that owns it, and optional parts of other services.
//
// All parts are read at the same time. A page is there without an optional part that failed or took too long; the answer names it. If the required part fails,
// the page does, and the reading of the others ends. Each part is right as of a moment of the call, not all as of the same one.
//
// It uses other services by functions that app passes in. All methods are safe for concurrent use.
package detail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// defaultTimeout is how long the optional parts of a page may take. The required part has as long as its call.
const defaultTimeout = time.Second

// maxRunning bounds the parts that are read at once, those included that have not noticed yet that their page went without them.
const maxRunning = 4096

var errBusy = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second}

// Part is an optional part of the page of a post.
type Part struct {
	Kind feedv1.PostPagePart
	// Read reads the part, and returns what puts it into the page. It ends soon after ctx. The page's post is there only if the reader may see it, so a part
	// that does not check this itself calls of.Post first.
	Read func(ctx context.Context, of *Subject) (put func(*feedv1.PostPage), err error)
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

type Deps struct {
	// Post returns a post if a reader may see it.
	Post func(ctx context.Context, reader id.User, post uint64) (*feedv1.Post, error)
	// Parts that pages of posts have, in the order in which missing ones are named.
	Parts  []Part
	Logger *slog.Logger
}

// Service gathers pages.
type Service struct {
	deps    Deps
	timeout time.Duration
	running chan struct{} // has an element for each part that is being read
	readers sync.WaitGroup
}

// New returns a Service.
func New(deps Deps) *Service {
	return &Service{deps: deps, timeout: defaultTimeout, running: make(chan struct{}, maxRunning)}
}

// Run waits for the parts that are being read after ctx has ended. No page is asked for any more then.
func (s *Service) Run(ctx context.Context) error {
	<-ctx.Done()
	s.readers.Wait()
	return nil
}

// result of reading a part.
type result struct {
	part int
	put  func(*feedv1.PostPage)
	err  error
}

// PostPage returns a post with the parts that could be read in time.
func (s *Service) PostPage(ctx context.Context, reader id.User, r *feedv1.GetPostPageRequest) (*feedv1.PostPage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the parts that the page goes without
	optional, done := context.WithTimeout(ctx, s.timeout)
	defer done()
	of := &Subject{Reader: reader, ID: r.Post, Comments: r.Comments, known: make(chan struct{})}
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
	s.readers.Go(func() {
		defer func() { <-s.running }()
		put, err := s.deps.Parts[i].Read(ctx, of)
		results <- result{i, put, err} // there is room for all
	})
	return nil
}

// collect waits for the parts, until ctx ends, and returns what puts them into the page; nil for those that are missing.
func (s *Service) collect(ctx context.Context, results <-chan result) []func(*feedv1.PostPage) {
	list := make([]func(*feedv1.PostPage), len(s.deps.Parts))
	for range s.deps.Parts {
		select {
		case r := <-results:
			if r.err == nil {
				list[r.part] = r.put
			} else if !errors.Is(r.err, context.Canceled) && !errors.Is(r.err, context.DeadlineExceeded) {
				s.deps.Logger.Warn("a page goes without a part that could not be read", "part", s.deps.Parts[r.part].Kind.String(), "error", r.err)
			}
		case <-ctx.Done():
			s.deps.Logger.Warn("a page goes without the parts that were not read in time", "timeout", s.timeout)
			return list
		}
	}
	return list
}
