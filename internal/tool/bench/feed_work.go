package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	rialto "github.com/rialto-im/rialto/sdk/go"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

func isQuota(err error) bool { return err != nil && rialto.Reason(err) == "post_quota" }

// write publishes and changes until ctx ends. Writer k has the authors and readers whose numbers leave the remainder k. What was begun is brought to
// its end, so that the naive feed knows how it ended.
func (l *feedLoad) write(ctx context.Context, k int) error {
	c, random := &l.config, rand.New(rand.NewPCG(l.config.seed, uint64(1_000_000+k)))
	mine := func(n int) []int {
		var list []int
		for i := k; i < n; i += c.writers {
			list = append(list, i)
		}
		return list
	}
	authors, readers, begin, done := mine(c.authors), mine(c.followers), time.Now(), 0
	finish := context.WithoutCancel(ctx)
	for ctx.Err() == nil && len(authors) > 0 {
		if c.rate > 0 {
			due := begin.Add(time.Duration(done) * time.Second * time.Duration(c.writers) / time.Duration(c.rate))
			if backoff.Sleep(ctx, time.Until(due)) != nil {
				return nil
			}
		}
		done++
		i := random.IntN(len(authors))
		var err error
		if random.IntN(100) < c.changes {
			err = l.change(finish, random, authors[i], readers)
		} else {
			err = l.post(finish, authors[i])
		}
		if errors.Is(err, errQuota) {
			authors = append(authors[:i], authors[i+1:]...)
			if len(authors) == 0 {
				l.deploy.progress("a writer's authors have published all that feed.posts_per_day allows; set --rate, or more --authors")
			}
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// post publishes a post and counts it.
func (l *feedLoad) post(ctx context.Context, author int) error {
	begin := time.Now()
	if _, err := l.publish(ctx, author); err != nil {
		return err
	}
	l.count.posts.Add(1)
	l.times.mu.Lock()
	defer l.times.mu.Unlock()
	l.times.publish.add(time.Since(begin))
	return nil
}

// change deletes a post of an author, or changes whom one of some readers follows.
func (l *feedLoad) change(ctx context.Context, random *rand.Rand, author int, readers []int) error {
	if len(readers) == 0 || random.IntN(2) == 0 {
		p := l.model.anyPost(random, author)
		if p == nil {
			return nil
		}
		l.count.deleted.Add(1)
		return l.delete(ctx, p)
	}
	reader, other := readers[random.IntN(len(readers))], random.IntN(l.config.authors)
	l.count.follows.Add(1)
	return l.follow(ctx, reader, other, !l.model.isFollowing(reader, other))
}

// anyPost returns one of the last posts of an author that is not deleted, nil if none was found.
func (m *feedModel) anyPost(random *rand.Rand, author int) *feedPost {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.authors[author].posts
	if len(list) == 0 {
		return nil
	}
	p := list[len(list)-1-random.IntN(min(len(list), 20))]
	if p.id == 0 || p.deleted.from != never {
		return nil
	}
	return p
}

// pace says when the pages of a load with a rate are due, until ctx ends.
func (l *feedLoad) pace(ctx context.Context, due chan<- time.Time) error {
	begin := time.Now()
	for n := 0; ; n++ {
		at := begin.Add(time.Duration(n) * time.Second / time.Duration(l.config.pageRate))
		if backoff.Sleep(ctx, time.Until(at)) != nil {
			return nil
		}
		select {
		case due <- at:
		default:
			return errors.New("the server is so far behind the rate that nothing can be measured; lower --page-rate")
		}
	}
}

// read reads pages of random readers until ctx ends, at the times of due if there is a rate. A page that was begun is brought to its end: the
// slowest pages count as well.
func (l *feedLoad) read(ctx context.Context, random *rand.Rand, due <-chan time.Time) error {
	finish := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		reader, seen, before := random.IntN(l.config.followers), map[uint64]bool{}, uint64(0)
		for pages := 1 + random.IntN(l.config.depth); pages > 0 && ctx.Err() == nil; pages-- {
			intended := time.Now()
			if l.config.pageRate > 0 {
				select {
				case intended = <-due:
				case <-ctx.Done():
					return nil
				}
			}
			next, err := l.readPage(finish, reader, before, seen)
			if err != nil {
				return err
			}
			took := time.Since(intended)
			l.times.mu.Lock()
			l.times.page.add(took)
			l.times.mu.Unlock()
			l.count.pages.Add(1)
			if before = next; before == 0 {
				break
			}
		}
	}
	return nil
}

// maxDescribed is how many wrong pages are described while the load runs; all are counted.
const maxDescribed = 5

// readPage reads a page, compares it with the naive feed, and returns where the next one begins.
func (l *feedLoad) readPage(ctx context.Context, reader int, before uint64, seen map[uint64]bool) (uint64, error) {
	p := &feedPage{reader: reader, asked: l.now(), before: before, limit: l.config.limit}
	r, err := invoke(ctx, &l.callers, l.config.authors+reader, func(e *endpoint) func(context.Context, *connect.Request[feedv1.HomeTimelineRequest]) (*connect.Response[feedv1.HomeTimelineResponse], error) {
		return e.feed.HomeTimeline
	}, &feedv1.HomeTimelineRequest{Before: before, Limit: uint32(l.config.limit)})
	if err != nil {
		return 0, fmt.Errorf("reading a page: %w", err)
	}
	p.got, p.posts, p.next = l.now(), r.Posts, r.Next
	f, what := l.model.check(p, seen)
	if f.Wrong == 0 {
		return r.Next, nil
	}
	l.times.mu.Lock()
	defer l.times.mu.Unlock()
	l.times.faults.add(f)
	if l.times.described++; l.times.described <= maxDescribed {
		l.deploy.progress("a page of user %d below %d is wrong: %s", l.users[l.config.authors+reader].id, before, what)
	}
	return r.Next, nil
}
