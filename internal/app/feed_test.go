package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// home returns the texts of a user's home timeline, read in pages of two.
func home(t *testing.T, c *rialto.Client) (texts []string) {
	t.Helper()
	for before := uint64(0); ; {
		r, err := c.Feed().HomeTimeline(t.Context(), connect.NewRequest(&feedv1.HomeTimelineRequest{Before: before, Limit: 2}))
		must(t, err)
		for _, p := range r.Msg.Posts {
			texts = append(texts, p.Content.Text)
		}
		if before = r.Msg.Next; before == 0 {
			return texts
		}
	}
}

// TestFeedOverHTTP: posts come to the timelines of followers at once and by fan-out, also after a restart. Following fills in, unfollowing, muting and
// blocking take out, and a hidden post is nowhere.
func TestFeedOverHTTP(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	start := func() *Node {
		t.Helper()
		h, err := Open(t.Context(), configure(t, data), slog.New(slog.NewTextHandler(t.Output(), nil)))
		must(t, err)
		return h
	}
	h := start()
	defer func() { must(t, h.Close()) }()
	ann, ben := client(t, h), client(t, h)
	for c, handle := range map[*rialto.Client]string{ann: "ann", ben: "ben"} {
		must(t, c.Register(t.Context(), handle, "a good password", handle))
	}
	author := ann.User()
	publish := func(text string) *feedv1.Post {
		t.Helper()
		r := &feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}}
		first, err := ann.Feed().Publish(t.Context(), connect.NewRequest(r))
		must(t, err)
		again, err := ann.Feed().Publish(t.Context(), connect.NewRequest(r))
		must(t, err)
		if again.Msg.Id != first.Msg.Id {
			t.Errorf("a retry published %q again", text)
		}
		return first.Msg
	}
	check := func(what string, want ...string) {
		t.Helper()
		if got := home(t, ben); !slices.Equal(got, want) {
			t.Errorf("%s: ben's home timeline is %q, want %q", what, got, want)
		}
	}
	publish("one")
	check("before he follows")
	hints := make(chan *gatewayv1.PostHint, 10)
	watching, err := rialto.New(rialto.Config{URL: url(h), Handler: func(e rialto.Event) {
		if e.Post != nil {
			hints <- e.Post
		}
	}})
	must(t, err)
	must(t, watching.Login(t.Context(), "ben", "a good password"))
	running(t, watching)
	eventually.True(t, "ben is connected", func() bool { return h.directory.Online() > 0 })
	_, err = ben.Graph().Follow(t.Context(), connect.NewRequest(&accountv1.FollowRequest{User: author}))
	must(t, err)
	check("who follows", "one")
	two := publish("two")
	check("at once", "two", "one")
	if p := eventually.Receive(t, "a hint of the second post", hints); p.Post != two.Id || p.Author != author {
		t.Errorf("the hint names post %d of %d", p.Post, p.Author)
	}
	admin := feedv1connect.NewFeedAdminServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	pushed := func() bool {
		r, err := admin.GetFeedAuthor(t.Context(), connect.NewRequest(&feedv1.GetFeedAuthorRequest{User: author}))
		must(t, err)
		return r.Msg.PushedPending == 0 && r.Msg.Followers == 1 && !r.Msg.Pulled
	}
	eventually.True(t, "the posts are in all windows", pushed)
	check("from the window", "two", "one")

	must(t, h.Close())
	h = start()
	ann, ben = client(t, h), client(t, h)
	must(t, ann.Login(t.Context(), "ann", "a good password"))
	must(t, ben.Login(t.Context(), "ben", "a good password"))
	admin = feedv1connect.NewFeedAdminServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	for i := range 3 {
		publish(fmt.Sprint("later ", i))
	}
	check("after a restart", "later 2", "later 1", "later 0", "two", "one")
	_, err = admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: two.Id, Reason: "test"}))
	must(t, err)
	check("after the hiding", "later 2", "later 1", "later 0", "one")
	if _, err := ann.Feed().GetPost(t.Context(), connect.NewRequest(&feedv1.GetPostRequest{Post: two.Id})); rialto.Reason(err) != "no_post" || connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a hidden post is answered with %v", err)
	}
	_, err = ben.Graph().Mute(t.Context(), connect.NewRequest(&accountv1.MuteRequest{User: author}))
	must(t, err)
	check("muted")
	_, err = ben.Graph().Unmute(t.Context(), connect.NewRequest(&accountv1.UnmuteRequest{User: author}))
	must(t, err)
	_, err = admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: two.Id, Show: true}))
	must(t, err)
	check("shown again", "later 2", "later 1", "later 0", "two", "one")
	_, err = ann.Graph().Block(t.Context(), connect.NewRequest(&accountv1.BlockRequest{User: ben.User()}))
	must(t, err)
	check("blocked")
}
