package ranking_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"golang.org/x/sys/unix"
)

// BenchmarkForYou reads the first page of 20 posts, which ranks about 1,000 candidates: 500 of the home timeline of a reader who follows 200, 200 that they like, 150 that are like what
// the reader likes, and popular ones, by a model. warm: their facts are in memory, as within half a minute after any reader needed them; cold: they are not.
func BenchmarkForYou(b *testing.B) {
	f := open(b)
	reader := f.user()
	var authors, others []id.User
	for range 200 {
		authors, others = append(authors, f.user()), append(others, f.user())
		f.follow(reader, authors[len(authors)-1])
	}
	for i := range 1500 {
		f.publish(authors[i*i%200], &feedv1.PostContent{Text: fmt.Sprintf("A post about topic%d and topic%d, with some words that are in all posts", i%37, i%41)})
	}
	for i := range 640 {
		n := f.publish(others[i%200], &feedv1.PostContent{Text: fmt.Sprintf("Another post about topic%d and topic%d, with some words that are in all posts", i%37, i%41)})
		if i < 320 {
			f.like(n, authors[len(authors)-1-i/5])
		} else {
			f.like(n, others[(i+1)%200], others[(i+2)%200], others[(i+3)%200])
		}
		if i < 200 {
			f.like(n, reader)
		}
	}
	// Fan-out has brought all posts to all followers.
	must(b, f.db.Write(b.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(b.Context(), `UPDATE feed_posts SET pending = FALSE`)
		return err
	}))
	must(b, f.engaged.Rank(b.Context()))
	must(b, f.RefreshNeighbours(b.Context()))
	s := ranking.Simulate(1, 30, 6, 0)
	m, err := clickmodel.Train(ranking.ModelFeatures(), s.Impressions)
	must(b, err)
	file, err := clickmodel.Encode(m)
	must(b, err)
	f.activate(f.put(file))
	if n, err := f.Candidates(b.Context(), reader); err != nil || n < 950 || n > 1000 {
		b.Fatalf("%d candidates, %v", n, err)
	}
	for _, warm := range []bool{true, false} {
		b.Run(fmt.Sprintf("warm=%v", warm), func(b *testing.B) {
			var took, computed []time.Duration
			for b.Loop() {
				if !warm {
					f.Forget()
				}
				began, before := time.Now(), cpuTime(b)
				if r := f.read(reader, "", 20); len(r.Posts) != 20 {
					b.Fatalf("%d posts", len(r.Posts))
				}
				took, computed = append(took, time.Since(began)), append(computed, cpuTime(b)-before)
			}
			b.ReportMetric(p99(took), "p99-ms")
			b.ReportMetric(p99(computed), "p99-cpu-ms") // says the same on a busy machine
		})
	}
	b.Run("next page", func(b *testing.B) {
		next := f.read(reader, "", 20).Next
		for b.Loop() {
			f.read(reader, next, 20)
		}
	})
}

// p99 returns the 99th percentile in milliseconds.
func p99(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)*99/100].Microseconds()) / 1000
}

// cpuTime is how long the process has computed.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
