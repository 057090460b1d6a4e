package rpc_test

import (
	"fmt"
	"sync"
	"testing"

	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// BenchmarkLike: 200 users like one post and take it back, by calls as their sockets make them, each after the answer of the one before.
func BenchmarkLike(b *testing.B) {
	h := newHarness(b)
	post, err := h.feed.Publish(b.Context(), h.person("author").user(), &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post"}})
	if err != nil {
		b.Fatal(err)
	}
	like, err := proto.Marshal(&engagementv1.LikeRequest{Kind: ofPost, Subject: post.Id})
	if err != nil {
		b.Fatal(err)
	}
	people := make([]person, 200)
	for i := range people {
		people[i] = h.person(fmt.Sprint("user", i))
	}
	b.ResetTimer()
	var group sync.WaitGroup
	for i, p := range people {
		group.Go(func() {
			for n := i; n < b.N; n += len(people) {
				call := engages + "Like"
				if n/len(people)%2 == 1 {
					call = engages + "Unlike" // a request of the same form
				}
				if _, err := h.Invoke(b.Context(), p.caller(), call, like, false); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}
