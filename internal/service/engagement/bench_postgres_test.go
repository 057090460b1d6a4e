package engagement_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"golang.org/x/sys/unix"
)

// BenchmarkCosts measures what posts of 200 bytes, comments of 50, likes, follows and first pages of home timelines cost: CPU time of this process, and on PostgreSQL
// that of its processes, and the bytes of the tables with their indexes. Likes are those of 200 users at once; all else is one after the other, each in a transaction of
// its own. Windows of home timelines are in memory. Run it with a fixed number of posts: -benchtime 400x.
func BenchmarkCosts(b *testing.B) {
	f := open(b)
	users, posts := make([]id.User, 200), make([]uint64, b.N)
	for i := range users {
		users[i] = f.user()
	}
	c := &costs{B: b, f: f}
	if sqltest.OnPostgres() {
		c.postmaster = c.findPostmaster()
	}
	c.measure("post", b.N, []string{"feed_posts", "feed_authors"}, func(i int) {
		p, err := f.feed.Publish(context.Background(), users[i%20], &feedv1.PublishRequest{ClientPostId: strconv.Itoa(i), Content: &feedv1.PostContent{Text: strings.Repeat("a post of some words", 10)}})
		must(b, err)
		posts[i] = p.Id
	})
	c.measure("comment", b.N, []string{"comments", "comment_counts"}, func(i int) {
		_, err := f.comments.CreateComment(context.Background(), users[i%len(users)], &commentv1.CreateCommentRequest{ClientCommentId: strconv.Itoa(i), SubjectKind: onPost, Subject: posts[i/3],
			Content: &commentv1.CommentContent{Text: strings.Repeat("a comment ", 5)}})
		must(b, err)
	})
	f.onLike = func() error { return nil }
	const likes = 20 // of each user
	likedAt := min(likes, b.N)
	var first sync.Once
	c.measureAll("like", likedAt*len(users), []string{"counter_members", "counter_counts"}, func() {
		var group sync.WaitGroup
		for _, u := range users {
			group.Go(func() {
				for _, p := range posts[:likedAt] {
					if err := f.Like(context.Background(), u, &engagementv1.LikeRequest{Kind: ofPost, Subject: p}); err != nil {
						first.Do(func() { b.Error(err) })
					}
				}
			})
		}
		group.Wait()
	})
	c.measure("follow", min(180*20, b.N), []string{"relations", "follow_counts"}, func(i int) {
		_, err := f.accounts.SetFollow(context.Background(), users[20+i/20], users[i%20], true)
		must(b, err)
	})
	home := func(i int) {
		_, err := f.feed.HomeTimeline(context.Background(), users[20+i%180], &feedv1.HomeTimelineRequest{})
		must(b, err)
	}
	for i := range min(180, b.N) { // builds the windows
		home(i)
	}
	c.measure("home-page", b.N, nil, home)
	b.ReportMetric(0, "ns/op")
}

// costs are those of a benchmark's operations.
type costs struct {
	*testing.B
	f          *fixture
	postmaster string // process of PostgreSQL; empty: there is none
}

// measure runs do n times, and reports what each costs.
func (c *costs) measure(name string, n int, tables []string, do func(i int)) {
	c.measureAll(name, n, tables, func() {
		for i := range n {
			do(i)
		}
	})
}

func (c *costs) measureAll(name string, n int, tables []string, do func()) {
	own := func() float64 {
		var u unix.Rusage
		must(c.B, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	bytes, server, before := c.size(tables), c.serverCPU(), own()
	do()
	c.ReportMetric((own()-before)/float64(n)*1e6, "node-CPU-s/million-"+name)
	if c.postmaster == "" {
		return
	}
	c.ReportMetric((c.serverCPU()-server)/float64(n)*1e6, "CPU-s/million-"+name)
	if len(tables) > 0 {
		c.ReportMetric(float64(c.size(tables)-bytes)/float64(n), "bytes/"+name)
	}
}

// size of tables with their indexes and TOAST.
func (c *costs) size(tables []string) (bytes int64) {
	for _, t := range tables {
		if c.postmaster == "" {
			continue
		}
		var n int64
		must(c.B, c.f.db.Read().QueryRowContext(context.Background(), `SELECT pg_total_relation_size(CAST($1 AS TEXT)::regclass)`, t).Scan(&n))
		bytes += n
	}
	return bytes
}

// findPostmaster returns the parent of a connection's process.
func (c *costs) findPostmaster() string {
	pid := 0
	must(c.B, c.f.db.Write(context.Background(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(context.Background(), `SELECT pg_backend_pid()`).Scan(&pid)
	}))
	return processStat(strconv.Itoa(pid))[1]
}

// processStat returns the fields of a process from its state on, or nil if it has ended: 1 is the parent, 11 and 12 are its own CPU ticks, 13 and 14 those of its
// children that have ended.
func processStat(pid string) []string {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// serverCPU returns the CPU seconds of all processes of PostgreSQL.
func (c *costs) serverCPU() (sum float64) {
	all, err := filepath.Glob("/proc/[0-9]*")
	must(c.B, err)
	for _, folder := range all {
		pid := filepath.Base(folder)
		stat, counts := processStat(pid), 2
		switch {
		case c.postmaster == "" || len(stat) == 0:
			continue
		case pid == c.postmaster:
			counts = 4
		case stat[1] != c.postmaster:
			continue
		}
		for _, ticks := range stat[11 : 11+counts] {
			n, err := strconv.ParseFloat(ticks, 64)
			must(c.B, err)
			sum += n / 100
		}
	}
	return sum
}
