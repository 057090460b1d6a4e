package detail_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/detail"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	author   = feedv1.PostPagePart_POST_PAGE_PART_AUTHOR
	count    = feedv1.PostPagePart_POST_PAGE_PART_COUNTS
	comments = feedv1.PostPagePart_POST_PAGE_PART_COMMENTS
)

var errBroken = errors.New("broken")

// hang waits for the end of a context.
func hang(ctx context.Context, ended chan<- error) error {
	<-ctx.Done()
	ended <- ctx.Err()
	return ctx.Err()
}

// pages has a required post and three optional parts, of which some fail and some hang.
type pages struct {
	*detail.Service
	post, author, count, comments func(ctx context.Context) error
}

func ok(context.Context) error     { return nil }
func broken(context.Context) error { return errBroken }

func newPages(t *testing.T) *pages {
	p := &pages{post: ok, author: ok, count: ok, comments: ok}
	p.Service = detail.New(detail.Deps{Logger: slog.New(slog.DiscardHandler),
		Post: func(ctx context.Context, reader id.User, n uint64) (*feedv1.Post, error) {
			return &feedv1.Post{Id: n, Author: uint64(reader) + 1}, p.post(ctx)
		},
		Parts: []detail.Part{
			{Kind: author, Read: func(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
				post, err := of.Post(ctx)
				if err == nil {
					err = p.author(ctx)
				}
				return func(page *feedv1.PostPage) { page.Author = &accountv1.User{Id: post.Author} }, err
			}},
			{Kind: count, Read: func(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
				return func(page *feedv1.PostPage) {
					page.Post = &feedv1.Post{Id: page.Post.Id, Author: page.Post.Author, Comments: 7}
				}, p.count(ctx)
			}},
			{Kind: comments, Read: func(ctx context.Context, of *detail.Subject) (func(*feedv1.PostPage), error) {
				return func(page *feedv1.PostPage) { page.NextComments = fmt.Sprint(of.ID, of.Comments) }, p.comments(ctx)
			}},
		}})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	return p
}

func (p *pages) read(ctx context.Context) (*feedv1.PostPage, error) {
	return p.PostPage(ctx, 4, &feedv1.GetPostPageRequest{Post: 9, Comments: 3})
}

// A page has all parts that could be read, and names the others. A part that hangs is told to end, and only parts that hang take the time of the deadline.
func TestAPageNamesTheMissingParts(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(p *pages, ended chan<- error)
		missing []feedv1.PostPagePart
		ended   error
		took    time.Duration
	}{
		{"all", func(*pages, chan<- error) {}, nil, nil, 0},
		{"a failure", func(p *pages, _ chan<- error) { p.count = broken }, []feedv1.PostPagePart{count}, nil, 0},
		{"two failures", func(p *pages, _ chan<- error) { p.author, p.comments = broken, broken }, []feedv1.PostPagePart{author, comments}, nil, 0},
		{"one hangs", func(p *pages, ended chan<- error) {
			p.count = func(ctx context.Context) error { return hang(ctx, ended) }
		}, []feedv1.PostPagePart{count}, context.DeadlineExceeded, time.Minute},
		{"one fails, and one hangs that needs the post", func(p *pages, ended chan<- error) {
			p.count, p.author = broken, func(ctx context.Context) error { return hang(ctx, ended) }
		}, []feedv1.PostPagePart{author, count}, context.DeadlineExceeded, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ended := newPages(t), make(chan error, 1)
				p.SetTimeout(time.Minute)
				c.change(p, ended)
				begin := time.Now()
				page, err := p.read(t.Context())
				if took := time.Since(begin); err != nil || page.Post.GetId() != 9 || !slices.Equal(page.Missing, c.missing) || took != c.took {
					t.Fatalf("after %v: %v, %v, want %v missing after %v", took, page, err, c.missing, c.took)
				}
				has := map[feedv1.PostPagePart]bool{author: page.Author.GetId() == 5, count: page.Post.GetComments() == 7, comments: page.NextComments == "9 3"}
				for part, has := range has {
					if has == slices.Contains(c.missing, part) {
						t.Errorf("part %v is there: %v", part, has)
					}
				}
				if c.ended != nil {
					if err := <-ended; !errors.Is(err, c.ended) {
						t.Errorf("the part that hung ended with %v", err)
					}
				}
			})
		})
	}
}

// Without its post there is no page: the other parts end at once, and the error is that of the post. The same holds for a caller who has gone.
func TestWithoutThePostTheOtherPartsEnd(t *testing.T) {
	errNone := errs.New(errs.NotFound, "no_post", "")
	for name, post := range map[string]func(ctx context.Context, gone context.CancelFunc) error{
		"no post": func(context.Context, context.CancelFunc) error { return errNone },
		"the caller has gone": func(ctx context.Context, gone context.CancelFunc) error {
			gone()
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ended := newPages(t), make(chan error, 3)
				p.count = func(ctx context.Context) error { return hang(ctx, ended) }
				p.comments = p.count
				p.author = func(context.Context) error { t.Error("a part was read of a post that is not there"); return nil }
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				p.post = func(ctx context.Context) error { synctest.Wait(); return post(ctx, gone) }
				if page, err := p.read(ctx); page != nil || name == "no post" && !errors.Is(err, errNone) || name != "no post" && !errors.Is(err, context.Canceled) {
					t.Errorf("the page is %v, %v", page, err)
				}
				for range 2 {
					if err := <-ended; !errors.Is(err, context.Canceled) {
						t.Errorf("a part ended with %v", err)
					}
				}
			})
		})
	}
}

// Parts that do not end are bounded: further pages are refused.
func TestPartsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := newPages(t), make(chan struct{})
		p.SetTimeout(time.Nanosecond)
		p.count = func(context.Context) error { <-release; return nil }
		var refused error
		for range 5000 {
			if _, refused = p.read(t.Context()); refused != nil {
				break
			}
		}
		if !errs.Is(refused, errs.Unavailable) {
			t.Errorf("pages whose parts do not end are answered with %v", refused)
		}
		close(release)
		synctest.Wait()
		p.count = ok
		p.SetTimeout(time.Minute)
		if page, err := p.read(t.Context()); err != nil || len(page.Missing) > 0 {
			t.Errorf("afterwards: %v, %v", page, err)
		}
	})
}
