package counter_test

import (
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
)

// BenchmarkAdd measures 200 writers that like one subject, each time as another user.
func BenchmarkAdd(b *testing.B) {
	benchmarkWriters(b, func(s *counter.Service, n int) error {
		_, err := s.Add(b.Context(), counter.PostLikes, 7, id.User(1_000_000+uint64(id.Hash(uint64(n))>>16)))
		return err
	})
}

// BenchmarkToggle measures 200 writers, each as one user, who like one subject and take it back, again and again.
func BenchmarkToggle(b *testing.B) {
	benchmarkWriters(b, func(s *counter.Service, n int) (err error) {
		if u := id.User(1 + n%200); n/200%2 == 0 {
			_, err = s.Add(b.Context(), counter.PostLikes, 7, u)
		} else {
			_, err = s.Remove(b.Context(), counter.PostLikes, 7, u)
		}
		return err
	})
}

func benchmarkWriters(b *testing.B, write func(s *counter.Service, n int) error) {
	f := open(b, 1)
	f.clock.Set(time.Now())
	s := f.nodes[0]
	b.ResetTimer()
	var writers sync.WaitGroup
	for w := range 200 {
		writers.Go(func() {
			for n := w; n < b.N; n += 200 {
				f.clock.Set(time.Now())
				if err := write(s, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(s.Changes())/b.Elapsed().Seconds(), "answered/s")
	b.ReportMetric(float64(s.Changes())/float64(s.Transactions()), "answered/transaction")
}
