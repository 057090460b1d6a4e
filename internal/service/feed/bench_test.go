package feed_test

import (
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// BenchmarkHomeTimeline reads pages of 20 posts of a reader who follows 200: the first one, from the window, and the hundredth and thousandth, from the
// rows. Beside them, a bare loop reads the entries of the window and the rows of the first page, and checks and merges nothing.
func BenchmarkHomeTimeline(b *testing.B) {
	f := openOnDisk(b, feed.Config{PostsPerDay: 1 << 20})
	f.ids.set(1<<34, 0) // 4 seconds
	reader := f.user()
	var authors []id.User
	for range 200 {
		authors = append(authors, f.user())
		f.follow(reader, authors[len(authors)-1])
	}
	for i := range 20_300 {
		f.publish(authors[i*i%200], fmt.Sprint("post ", i))
	}
	f.push()
	f.page(b, reader)   // builds the window
	for i := range 50 { // pushed after the window was built
		f.publish(authors[i], fmt.Sprint("new post ", i))
	}
	f.push()
	page := func(b *testing.B, before uint64) *feedv1.HomeTimelineResponse {
		r, err := f.HomeTimeline(b.Context(), reader, &feedv1.HomeTimelineRequest{Before: before})
		if err != nil || len(r.Posts) != 20 {
			b.Fatalf("page %v, want 20 posts; error %v", r, err)
		}
		return r
	}
	var first []uint64
	for _, p := range page(b, 0).Posts {
		first = append(first, p.Id)
	}
	b.Run("bare", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			if n, err := f.BareRead(b.Context(), reader, first); err != nil || n != 20 {
				b.Fatalf("%d posts, want 20; error %v", n, err)
			}
		}
	})
	far, pages := uint64(0), map[int]uint64{}
	for i := range 1000 {
		pages[i+1] = far
		far = page(b, far).Next
	}
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("page", n), func(b *testing.B) {
			defer reportCPU(b)()
			for b.Loop() {
				page(b, pages[n])
			}
		})
	}
}
