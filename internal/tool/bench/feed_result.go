package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// feedResult of a run. Rates and times refer to the loading phase, faults to the whole run.
type feedResult struct {
	Posts      uint64  `json:"posts"`
	Pages      uint64  `json:"pages"`
	PostsPerS  float64 `json:"posts_per_s"`
	PagesPerS  float64 `json:"pages_per_s"`
	PublishP50 float64 `json:"publish_p50_ms"`
	PublishP99 float64 `json:"publish_p99_ms"`
	PageP50    float64 `json:"page_p50_ms"`
	PageP99    float64 `json:"page_p99_ms"`
	// FanoutP99 is from the sending of a post to the hint of it at each connected follower. Hints may be lost, and are not checked.
	FanoutP50 float64 `json:"fanout_p50_ms"`
	FanoutP99 float64 `json:"fanout_p99_ms"`
	Hints     uint64  `json:"hints"`
	Deleted   uint64  `json:"deleted"`
	Follows   uint64  `json:"follow_changes"`
	feedFaults
	// CounterErrors are counts of profiles that differ from what was done.
	CounterErrors uint64 `json:"counter_errors"`
	// Timelines that were read to their ends after the load, with all their pages, and profiles whose counts were compared.
	Timelines uint64 `json:"timelines"`
	Profiles  uint64 `json:"profiles"`
	// Retries of calls that found no server, or were refused for now.
	Retries    uint64  `json:"retries"`
	Reconnects uint64  `json:"reconnects"`
	Seconds    float64 `json:"seconds"`
	// ServerCPU is the server's CPU seconds for each million pages if it runs on this machine, otherwise 0.
	ServerCPU float64 `json:"server_cpu_s_per_million_pages"`
}

func (l *feedLoad) result(took time.Duration) *feedResult {
	l.hints.settle(l.model)
	l.hints.mu.Lock()
	defer l.hints.mu.Unlock()
	l.times.mu.Lock()
	defer l.times.mu.Unlock()
	r := &feedResult{Posts: l.count.posts.Load(), Pages: l.count.pages.Load(), Deleted: l.count.deleted.Load(), Follows: l.count.follows.Load(), Hints: l.hints.count,
		Reconnects: l.hints.reconnects, Seconds: took.Seconds()}
	r.PostsPerS, r.PagesPerS = float64(r.Posts)/took.Seconds(), float64(r.Pages)/took.Seconds()
	r.PublishP50, r.PublishP99 = l.times.publish.quantile(0.5), l.times.publish.quantile(0.99)
	r.PageP50, r.PageP99 = l.times.page.quantile(0.5), l.times.page.quantile(0.99)
	r.FanoutP50, r.FanoutP99 = l.hints.times.quantile(0.5), l.hints.times.quantile(0.99)
	return r
}

// checkAll compares whole timelines and counts with what was done, when nothing changes any more.
func (l *feedLoad) checkAll(ctx context.Context, r *feedResult) error {
	err := l.deploy.inSteps(ctx, "comparing whole timelines", l.config.check, func(ctx context.Context, reader int) error {
		for before, seen := uint64(0), map[uint64]bool{}; ; {
			next, err := l.readPage(ctx, reader, before, seen)
			if err != nil || next == 0 {
				return err
			}
			if before != 0 && next >= before {
				return fmt.Errorf("the pages of user %d do not end: that below %d names %d as the next one", l.users[l.config.authors+reader].id, before, next)
			}
			before = next
		}
	})
	if err != nil {
		return err
	}
	r.Timelines = uint64(l.config.check)
	if err := l.checkCounts(ctx, r); err != nil {
		return err
	}
	l.times.mu.Lock()
	defer l.times.mu.Unlock()
	r.feedFaults, r.Retries = l.times.faults, l.retries.Load()
	return nil
}

// feedCheck compares a count that the server shows with what was done.
type feedCheck struct {
	name      string
	got, want uint64
}

// checkCounts compares the counts of all users' profiles.
func (l *feedLoad) checkCounts(ctx context.Context, r *feedResult) error {
	r.Profiles = uint64(len(l.users))
	return l.deploy.inSteps(ctx, "comparing counts", len(l.users), func(ctx context.Context, user int) error {
		profile, err := invoke(ctx, &l.callers, user, func(e *endpoint) func(context.Context, *connect.Request[feedv1.GetFeedProfileRequest]) (*connect.Response[feedv1.FeedProfile], error) {
			return e.feed.GetFeedProfile
		}, &feedv1.GetFeedProfileRequest{User: l.users[user].id})
		if err != nil {
			return fmt.Errorf("reading the counts of a profile: %w", err)
		}
		wrong := l.compareCounts(user, profile)
		l.times.mu.Lock()
		defer l.times.mu.Unlock()
		for _, c := range wrong {
			if r.CounterErrors++; r.CounterErrors <= maxDescribed {
				l.deploy.progress("user %d has %d %s, and the profile says %d", l.users[user].id, c.want, c.name, c.got)
			}
		}
		return nil
	})
}

// compareCounts returns the counts of a profile that are wrong.
func (l *feedLoad) compareCounts(user int, p *feedv1.FeedProfile) (wrong []feedCheck) {
	posts, followers, following := l.model.counts(user)
	for _, c := range []feedCheck{{"posts", uint64(p.Posts), posts}, {"followers", uint64(p.Followers), followers}, {"followed users", uint64(p.Following), following}} {
		if c.got != c.want {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// counts returns the counts of a user's profile when nothing changes.
func (m *feedModel) counts(user int) (posts, followers, following uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	follows := func(list []followChange) bool { return len(list) > 0 && list[len(list)-1].follows }
	if user >= len(m.authors) {
		for _, list := range m.follows[user-len(m.authors)] {
			if follows(list) {
				following++
			}
		}
		return 0, 0, following
	}
	for _, p := range m.authors[user].posts {
		if p.deleted.from == never {
			posts++
		}
	}
	for _, of := range m.follows {
		if follows(of[user]) {
			followers++
		}
	}
	return posts, followers, 0
}

// passed reports whether all guarantees held, and something was read.
func (r *feedResult) passed() bool {
	return r.Wrong+r.Repeats+r.Gaps+r.CounterErrors == 0 && r.Pages > 0
}

func (r *feedResult) print(out io.Writer) {
	fmt.Fprintf(out, "posts         %d (%.0f/s), p50 %.2f ms, p99 %.2f ms; %d deleted, %d changes of who follows whom\n", r.Posts, r.PostsPerS, r.PublishP50, r.PublishP99, r.Deleted, r.Follows)
	fmt.Fprintf(out, "pages         %d (%.0f/s), p50 %.2f ms, p99 %.2f ms\n", r.Pages, r.PagesPerS, r.PageP50, r.PageP99)
	if r.Hints > 0 {
		fmt.Fprintf(out, "hints         %d, after p50 %.2f ms, p99 %.2f ms\n", r.Hints, r.FanoutP50, r.FanoutP99)
	}
	if r.ServerCPU > 0 {
		fmt.Fprintf(out, "server CPU    %.1f s per million pages, with the posts\n", r.ServerCPU)
	}
	if r.Retries+r.Reconnects > 0 {
		fmt.Fprintf(out, "connections   %d calls repeated, %d connections opened again\n", r.Retries, r.Reconnects)
	}
	fmt.Fprintf(out, "checked       wrong pages %d, repeats %d, gaps %d, errors of counts %d; %d whole timelines, %d profiles\n", r.Wrong, r.Repeats, r.Gaps, r.CounterErrors, r.Timelines, r.Profiles)
}
