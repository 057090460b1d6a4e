package engagement_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// BenchmarkLike: 200 users like one post and take it back, each after the answer of the one before.
func BenchmarkLike(b *testing.B) {
	f := open(b)
	p := f.post(f.user())
	users := make([]id.User, 200)
	for i := range users {
		users[i] = f.user()
	}
	f.onLike = func() error { return nil }
	before := f.counters.Transactions()
	b.ResetTimer()
	var group sync.WaitGroup
	for i, u := range users {
		group.Go(func() {
			for n := i; n < b.N; n += len(users) {
				var err error
				if n/len(users)%2 == 0 {
					err = f.Like(context.Background(), u, &engagementv1.LikeRequest{Kind: ofPost, Subject: p})
				} else {
					err = f.Unlike(context.Background(), u, &engagementv1.UnlikeRequest{Kind: ofPost, Subject: p})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
	b.ReportMetric(float64(b.N)/float64(f.counters.Transactions()-before), "answers/transaction")
}
