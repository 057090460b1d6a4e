package feed_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// BenchmarkHomeTimeline reads a page of 20 posts of a reader who follows 200: the first one, from the window, and one far below it, from the rows.
func BenchmarkHomeTimeline(b *testing.B) {
	f := open(b, feed.Config{PostsPerDay: 1000})
	var err error
	f.log, err = pebblelog.Open(filepath.Join(b.TempDir(), "timeline"), pebblelog.Options{}) // the fixture closes it
	must(b, err)
	f.restart()
	f.ids.set(1<<34, 0) // 4 seconds
	reader := f.user()
	var authors []id.User
	for range 200 {
		authors = append(authors, f.user())
		f.follow(reader, authors[len(authors)-1])
	}
	f.home(reader, 1)
	for i := range 4000 {
		f.publish(authors[i*i%200], fmt.Sprint("post ", i))
	}
	f.push()
	page := func(b *testing.B, before uint64) *feedv1.HomeTimelineResponse {
		r, err := f.HomeTimeline(b.Context(), reader, &feedv1.HomeTimelineRequest{Before: before})
		if err != nil || len(r.Posts) != 20 {
			b.Fatal(r, err)
		}
		return r
	}
	far := uint64(0)
	for range 100 {
		far = page(b, far).Next
	}
	for _, c := range []struct {
		name   string
		before uint64
	}{{"first", 0}, {"hundredth", far}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				page(b, c.before)
			}
		})
	}
}
