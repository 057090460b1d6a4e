package feed_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/feed"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// TestVideosOfPosts: a post names a video of its author. It shows it until it is hidden, deleted or edited, to those who may see the post.
func TestVideosOfPosts(t *testing.T) {
	f := open(t, feed.Config{})
	ann, ben, cam := f.user(), f.user(), f.user()
	f.videos = map[uint64]id.User{7: ann, 8: ben}
	content := &feedv1.PostContent{Video: 8, Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{uint64(ben)}}
	if _, err := f.Publish(t.Context(), ann, &feedv1.PublishRequest{ClientPostId: "a", Content: content}); reason(err) != "no_video" {
		t.Errorf("another user's video is answered with %v", err)
	}
	content.Video = 7
	p, err := f.Publish(t.Context(), ann, &feedv1.PublishRequest{ClientPostId: "b", Content: content})
	must(t, err)
	if p.Content.Video != 7 {
		t.Errorf("the post is %v", p)
	}
	for _, c := range []struct {
		reader id.User
		video  uint64
		names  bool
		want   string
	}{{ann, 7, true, ""}, {ben, 7, true, ""}, {ben, 8, false, ""}, {ben, 0, false, ""}, {cam, 7, false, "no_post"}} {
		if names, err := f.NamesVideo(t.Context(), c.reader, p.Id, c.video); names != c.names || reason(err) != c.want {
			t.Errorf("video %d for %d: %v, %v", c.video, c.reader, names, err)
		}
	}
	shows := func(want bool) {
		t.Helper()
		if got, err := f.ShowsVideo(t.Context(), p.Id, 7); err != nil || got != want {
			t.Errorf("the post shows it: %v, %v, want %v", got, err, want)
		}
	}
	shows(true)
	must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: p.Id}))
	shows(false)
	must(t, f.HidePost(t.Context(), &feedv1.HidePostRequest{Post: p.Id, Show: true}))
	shows(true)
	edited := &feedv1.PostContent{Text: "without", Audience: content.Audience, Users: content.Users}
	_, err = f.EditPost(t.Context(), ann, &feedv1.EditPostRequest{Post: p.Id, Content: edited})
	must(t, err)
	shows(false)
	_, err = f.EditPost(t.Context(), ann, &feedv1.EditPostRequest{Post: p.Id, Content: content})
	must(t, err)
	shows(true)
	must(t, f.DeletePost(t.Context(), ann, p.Id))
	shows(false)
}
