package pebblelog

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// BenchmarkEncodePosts measures the rows of one round of fan-out: messages of as many groups, each for 50 inboxes, or of as many pairs.
func BenchmarkEncodePosts(b *testing.B) {
	for _, size := range []int{2, 50} {
		for _, messages := range []int{8, 64} {
			b.Run(fmt.Sprintf("members=%d/messages=%d", size, messages), func(b *testing.B) {
				posts := make([]timeline.Post, 0, size*messages)
				for m := range uint64(messages) {
					for u := range uint64(size) {
						id := (m%32*uint64(size) + u) * 0x9e3779b97f4a7c15 >> 8
						posts = append(posts, timeline.Post{Key: timeline.Key{Kind: timeline.Inbox, ID: id}, Payload: make([]byte, 12), Seq: 1000 + m, Prev: 999 + m})
					}
				}
				b.ReportMetric(0, "ns/op")
				for b.Loop() {
					encodePosts(posts)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(posts)), "ns/post")
			})
		}
	}
}
