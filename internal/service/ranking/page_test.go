package ranking

import (
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// TestDeferredViewsAreBounded: a page keeps the views of no more deferred posts than it can show, and each post goes on the page or to later ones, in order.
func TestDeferredViewsAreBounded(t *testing.T) {
	for _, c := range []struct{ bytes, shown, most, wantPosts, wantKept int }{
		{10, 3, 10, 10, 7}, {40 << 10, 0, 10, 4, 4}, {200 << 10, 0, 10, 1, 1}, {10, 10, 10, 10, 0},
	} {
		p := &page{limit: c.most, perAuthor: map[id.User]int{}}
		post := func(n int) (entry, *feedv1.Post) {
			return entry{post: uint64(n)}, &feedv1.Post{Id: uint64(n), Content: &feedv1.PostContent{Text: strings.Repeat("x", c.bytes)}}
		}
		for n := range c.shown {
			p.add(post(n))
		}
		for n := range 50 {
			p.postpone(post(c.shown + n))
		}
		if len(p.kept) != c.wantKept {
			t.Errorf("%+v: %d views are kept", c, len(p.kept))
		}
		p.addDeferred()
		var got []uint64
		for _, r := range p.posts {
			got = append(got, r.Post.Id)
		}
		got = append(got, postsOf(p.rest)...)
		if len(p.posts) != c.wantPosts || len(got) != c.shown+50 || !slices.IsSorted(got) {
			t.Errorf("%+v: %d posts on the page, all are %d", c, len(p.posts), got)
		}
	}
}
