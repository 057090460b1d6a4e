package chat_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/chat"
)

// BenchmarkLargeOf reads the large groups of 10,000 users, each in 20 of 100,000 conversations, of which 100 are large: one by one and
// in batches, by eight goroutines, as a gateway does for its connections after a gap on the bus.
func BenchmarkLargeOf(b *testing.B) {
	const users, readers = 10_000, 8
	ctx := context.Background()
	h := newHarness(b, chat.Config{})
	s := h.node(b)
	for _, statement := range []string{
		`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000)
			INSERT INTO conversations (id, kind, large) SELECT n, 1, CASE WHEN n % 1000 = 0 THEN 1 ELSE 0 END FROM s`,
		`WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 199999)
			INSERT INTO members (conversation, member, role, join_seq) SELECT DISTINCT (n / 20 * 7919 + n % 20 * 104729) % 100000 + 1, n / 20 + 1, 1, 1 FROM s`,
		`ANALYZE`,
	} {
		must(b, h.db.Write(ctx, func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, statement); return err }))
	}
	var all []id.User
	for u := range id.User(users) {
		all = append(all, u*7919%users+1)
	}
	var elapsed [2]time.Duration
	for b.Loop() {
		for way, together := range []int{1, 512} {
			began := time.Now()
			work := make(chan []id.User)
			var wait sync.WaitGroup
			for range readers {
				wait.Go(func() {
					for some := range work {
						if _, err := s.LargeGroups(ctx, some); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for some := range slices.Chunk(all, together) {
				work <- some
			}
			close(work)
			wait.Wait()
			elapsed[way] += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(elapsed[0].Microseconds())/float64(b.N*users), "µs/user-alone")
	b.ReportMetric(float64(elapsed[1].Microseconds())/float64(b.N*users), "µs/user-by-512")
	b.ReportMetric(elapsed[0].Seconds()/elapsed[1].Seconds(), "ratio")
}
