package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// feedLoad is one run of rialto bench feed. Users are the authors, then the readers.
type feedLoad struct {
	config feedConfig
	phases
	callers
	model *feedModel
	start time.Time
	count feedCounts
	times feedTimes
	hints feedHints
}

// feedCounts of what was done during the load.
type feedCounts struct{ posts, deleted, follows, pages atomic.Uint64 }

// feedTimes of calls during the load.
type feedTimes struct {
	mu            sync.Mutex // guards the fields below
	publish, page histogram
	faults        feedFaults
	described     int
}

func feedMain(args []string, out, errOut io.Writer) int {
	var c feedConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	debug.SetGCPercent(400)
	printer := progress.New(errOut)
	l := &feedLoad{config: c, callers: callers{deploy: newDeployment(c.url, c.key, printer)}, start: time.Now()}
	l.deploy.patience = c.patience
	ctx, stop := l.withInterrupts(context.Background(), func() { printer.Say("interrupted; checking what was done") })
	defer stop()
	r, err := l.run(ctx)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.passed() {
		code = 1
	}
	return code
}

// now is the present moment of the run.
func (l *feedLoad) now() moment { return moment(time.Since(l.start)) }

func (l *feedLoad) run(ctx context.Context) (*feedResult, error) {
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	online, disconnect := context.WithCancel(ctx)
	var listeners sync.WaitGroup
	defer listeners.Wait()
	defer disconnect()
	for i := range l.config.online {
		listeners.Go(func() { l.listen(online, l.config.authors+i) })
	}
	if err := l.hints.awaitConnected(ctx, l); err != nil {
		return nil, err
	}
	took, cpu := l.load(ctx)
	if err := l.failure(); err != nil {
		return nil, err
	}
	r := l.result(took)
	if cpu != nil && r.Pages > 0 {
		r.ServerCPU = cpu() * 1e6 / float64(r.Pages)
	}
	return r, l.checkAll(ctx, r)
}

// prepare makes users, follows and the first posts. It reads each reader's first page once, so that the load finds the windows of all built:
// the first page of a reader who is new or returns builds one.
func (l *feedLoad) prepare(ctx context.Context) error {
	c := &l.config
	texts, source, err := newCorpus(c.text, c.bytes, c.seed)
	if err != nil {
		return err
	}
	l.deploy.progress("text from %s", source)
	if l.users, err = l.deploy.users(ctx, c.authors+c.followers, 1); err != nil {
		return err
	}
	authors := make([]uint64, c.authors)
	for i := range authors {
		authors[i] = l.users[i].id
	}
	l.model = newFeedModel(texts, authors, c.followers)
	if err := l.deploy.inSteps(ctx, "following", c.followers, func(ctx context.Context, reader int) error {
		random := rand.New(rand.NewPCG(c.seed, uint64(reader)))
		for _, author := range zipfSample(random, c.authors, c.following) {
			if err := l.follow(ctx, reader, author, true); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := l.deploy.inSteps(ctx, "publishing the first posts", c.authors, func(ctx context.Context, author int) error {
		for range c.posts {
			if _, err := l.publish(ctx, author); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return l.deploy.inSteps(ctx, "reading the first pages", c.followers, func(ctx context.Context, reader int) error {
		_, err := l.readPage(ctx, reader, 0, map[uint64]bool{})
		return err
	})
}

// zipfSample returns k different numbers below n, where i has the weight 1/(i+1).
func zipfSample(random *rand.Rand, n, k int) []int {
	type weighed struct {
		i   int
		key float64
	}
	list := make([]weighed, n)
	for i := range list {
		list[i] = weighed{i, random.ExpFloat64() * float64(i+1)} // the k least of exponential keys are such a sample
	}
	slices.SortFunc(list, func(a, b weighed) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	sample := make([]int, k)
	for i := range sample {
		sample[i] = list[i].i
	}
	return sample
}

var errQuota = errors.New("the author has published as many posts as feed.posts_per_day allows")

// publish publishes the next post of an author. One goroutine at a time may publish for an author.
func (l *feedLoad) publish(ctx context.Context, author int) (*feedPost, error) {
	p := l.model.publishing(author, l.now())
	text := string(l.model.corpus.appendText(nil, uint32(author), uint32(p.n), int64(p.published.from)))
	r := &feedv1.PublishRequest{ClientPostId: fmt.Sprintf("b%s.%d.%d", l.deploy.run, author, p.n), Content: &feedv1.PostContent{Text: text}}
	post, err := invoke(ctx, &l.callers, author, func(e *endpoint) func(context.Context, *connect.Request[feedv1.PublishRequest]) (*connect.Response[feedv1.Post], error) {
		return e.feed.Publish
	}, r)
	switch {
	case isQuota(err):
		l.model.refused(p)
		return nil, errQuota
	case err != nil:
		return nil, fmt.Errorf("publishing: %w", err)
	case !l.model.published(p, post.Id, l.now()):
		return nil, fmt.Errorf("post %d of author %d was stored twice: Publish returned the id %d, and a reader got %d", p.n, l.users[author].id, post.Id, p.id)
	}
	return p, nil
}

// delete deletes a post.
func (l *feedLoad) delete(ctx context.Context, p *feedPost) error {
	l.model.deleting(p, l.now())
	_, err := invoke(ctx, &l.callers, p.author, func(e *endpoint) func(context.Context, *connect.Request[feedv1.DeletePostRequest]) (*connect.Response[feedv1.DeletePostResponse], error) {
		return e.feed.DeletePost
	}, &feedv1.DeletePostRequest{Post: p.id})
	if err != nil {
		return fmt.Errorf("deleting a post: %w", err)
	}
	l.model.deleted(p, l.now())
	return nil
}

// follow makes a reader follow an author, or cease to. One goroutine at a time may do so for a reader.
func (l *feedLoad) follow(ctx context.Context, reader, author int, follows bool) error {
	l.model.following(reader, author, follows, l.now())
	user, target := l.config.authors+reader, l.users[author].id
	var err error
	if follows {
		_, err = invoke(ctx, &l.callers, user, func(e *endpoint) func(context.Context, *connect.Request[accountv1.FollowRequest]) (*connect.Response[chatv1.Relation], error) {
			return e.graph.Follow
		}, &accountv1.FollowRequest{User: target})
	} else {
		_, err = invoke(ctx, &l.callers, user, func(e *endpoint) func(context.Context, *connect.Request[accountv1.UnfollowRequest]) (*connect.Response[chatv1.Relation], error) {
			return e.graph.Unfollow
		}, &accountv1.UnfollowRequest{User: target})
	}
	if err != nil {
		return fmt.Errorf("following: %w", err)
	}
	l.model.followed(reader, author, l.now())
	return nil
}

// load writes and reads for the duration. It returns how long that took, and a function that returns the CPU seconds of the server.
func (l *feedLoad) load(ctx context.Context) (time.Duration, func() float64) {
	c := &l.config
	cpu := serverCPU(urls(c.url)) // takes its time
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.duration)
	defer cancel()
	l.setEndSending(cancel)
	defer l.setEndSending(nil)
	step := l.deploy.printer.Step("loading")
	defer step.End()
	var workers sync.WaitGroup
	for i := range c.writers {
		workers.Go(func() { l.ended(cancel, l.write(ctx, i)) })
	}
	due := make(chan time.Time, 4096)
	for i := range c.readers {
		workers.Go(func() {
			l.ended(cancel, l.read(ctx, rand.New(rand.NewPCG(c.seed, uint64(2_000_000+i))), due))
		})
	}
	if c.pageRate > 0 {
		workers.Go(func() { l.ended(cancel, l.pace(ctx, due)) })
	}
	for ctx.Err() == nil {
		step.At(time.Since(begin).Seconds()/c.duration.Seconds(), fmt.Sprintf("%d posts, %d pages", l.count.posts.Load(), l.count.pages.Load()))
		_ = backoff.Sleep(ctx, 100*time.Millisecond)
	}
	workers.Wait()
	return time.Since(begin), cpu
}

// ended ends the load if a part of it failed.
func (l *feedLoad) ended(cancel context.CancelFunc, err error) {
	if err != nil {
		l.fail(err)
		cancel()
	}
}
