package feed_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// TestPostsAreImportedOnce: however often an import is repeated, and by which node; with their times, versions and reposts, and in the home timelines of followers. One that its
// author has deleted stays deleted.
func TestPostsAreImportedOnce(t *testing.T) {
	f := open(t, feed.Config{PostsPerDay: 1})
	ann, ben := f.user(), f.user()
	f.follow(ben, ann)
	f.publish(ann, "mine")
	f.push()
	f.home(ben, 10) // its window is open
	now := f.clock.Now().UnixMilli()
	post := func(key, text, repost string, version uint32) *operationv1.InterchangePost {
		return &operationv1.InterchangePost{Key: key, Author: uint64(ann), TimeMs: now - 1_000_000 + int64(version), Version: version, RepostKey: repost, Content: &feedv1.PostContent{Text: text}}
	}
	list := func() []*operationv1.InterchangePost {
		return []*operationv1.InterchangePost{post("a", "one", "", 1), post("a", "one, edited", "", 2), post("b", "look", "a", 1), post("c", "gone", "", 1)}
	}
	for round := range 2 {
		for _, s := range []*feed.Service{f.Service, f.other("b")} {
			for i, p := range list() {
				duplicate, err := s.ImportPost(t.Context(), p, 0)
				must(t, err)
				if first := round == 0 && s == f.Service; duplicate == first {
					t.Errorf("round %d: %s, version %d, is a duplicate: %v", round, p.Key, list()[i].Version, duplicate)
				}
			}
		}
		found, err := f.ImportedPosts(t.Context(), []string{"c"})
		must(t, err)
		if n, ok := found["c"]; ok {
			must(t, f.DeletePost(t.Context(), ann, n))
		}
	}
	f.push()
	if got, want := f.home(ben, 10), []string{"look", "one, edited", "mine"}; !slices.Equal(got, want) {
		t.Errorf("the follower reads %q, want %q", got, want)
	}
	all, err := f.ListPosts(t.Context(), ben, &feedv1.ListPostsRequest{User: uint64(ann)})
	must(t, err)
	if one := all.Posts[1]; one.CreatedMs != now-1_000_000+1 || one.EditedMs != now-1_000_000+2 || one.Version != 2 || all.Posts[0].Reposted.GetId() != one.Id {
		t.Errorf("the posts are %v", all.Posts)
	}
	for want, p := range map[string]*operationv1.InterchangePost{"no_post": post("d", "x", "nothing", 1), "version_changed": post("a", "x", "", 4), "bad_post": post("e", "", "", 1)} {
		if _, err := f.ImportPost(t.Context(), p, 0); reason(err) != want {
			t.Errorf("%s: %v, want %s", p.Key, err, want)
		}
	}
}
