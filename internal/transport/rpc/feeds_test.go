package rpc_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

const (
	feeds      = "/rialto.feed.v1.FeedService/"
	feedAdmins = "/rialto.feed.v1.FeedAdminService/"
)

func ofFeeds() map[string]row {
	// of a post that only its author and bob see
	seen := func(request func(o subject) proto.Message) row {
		return row{request: request, former: "no_post", outsider: "no_post"}
	}
	changed := func(request func(o subject) proto.Message) row { return all("no_post", request).ownerRefused("") }
	return map[string]row{
		feeds + "Publish": own(func(subject) proto.Message {
			return &feedv1.PublishRequest{ClientPostId: rand.Text(), Content: &feedv1.PostContent{Text: "hello"}}
		}),
		feeds + "GetPost":     seen(func(o subject) proto.Message { return &feedv1.GetPostRequest{Post: o.post} }),
		feeds + "GetPostPage": seen(func(o subject) proto.Message { return &feedv1.GetPostPageRequest{Post: o.post} }),
		feeds + "EditPost": changed(func(o subject) proto.Message {
			return &feedv1.EditPostRequest{Post: o.post, Content: &feedv1.PostContent{Text: "edited"}}
		}),
		feeds + "DeletePost":         changed(func(o subject) proto.Message { return &feedv1.DeletePostRequest{Post: o.post} }),
		feeds + "ListVersions":       changed(func(o subject) proto.Message { return &feedv1.ListVersionsRequest{Post: o.post} }),
		feeds + "ListPosts":          own(func(o subject) proto.Message { return &feedv1.ListPostsRequest{User: o.other} }),
		feeds + "GetFeedProfile":     own(func(o subject) proto.Message { return &feedv1.GetFeedProfileRequest{User: o.other} }),
		feeds + "HomeTimeline":       own(func(subject) proto.Message { return &feedv1.HomeTimelineRequest{} }),
		feedAdmins + "HidePost":      own(func(o subject) proto.Message { return &feedv1.HidePostRequest{Post: o.post} }),
		feedAdmins + "GetFeedAuthor": own(func(o subject) proto.Message { return &feedv1.GetFeedAuthorRequest{User: o.other} }),
	}
}

// publish publishes a post that another person sees.
func (h *harness) publish(by, reader person) uint64 {
	h.t.Helper()
	p, err := h.deps.Feed.Publish(h.t.Context(), by.user(), &feedv1.PublishRequest{ClientPostId: rand.Text(), Content: &feedv1.PostContent{Text: "for one", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{reader.User}}})
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Id
}

// TestPicturesOfPosts: who may see a post gets its pictures, and nobody else, nor others by it.
func TestPicturesOfPosts(t *testing.T) {
	h := newHarness(t)
	alice, bob, carol := h.person("alice"), h.person("bob"), h.person("carol")
	picture, other := h.upload(alice, pixel(t)), h.upload(alice, pixel(t))
	var post feedv1.Post
	content := &feedv1.PostContent{Images: []*chatv1.Media{{Upload: picture, Name: "x.png"}}, Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{bob.User}}
	h.into(&post, h.call(feeds+"Publish", &feedv1.PublishRequest{ClientPostId: "a", Content: content}, bearer(alice.AccessToken)))
	for _, c := range []struct {
		by     person
		upload uint64
		want   string
	}{{alice, picture, ""}, {bob, picture, ""}, {bob, other, "no_upload"}, {carol, picture, "no_post"}} {
		got := h.call(medias+"GetDownload", &chatv1.GetDownloadRequest{Upload: c.upload, Post: post.Id}, bearer(c.by.AccessToken))
		if got.reason() != c.want || (got.status == http.StatusOK) != (c.want == "") {
			t.Errorf("%s is answered with %d %s, want %q", fmt.Sprint(c.by.User), got.status, got.body, c.want)
		}
	}
	// Nobody publishes a picture of another user.
	content.Users[0] = carol.User
	if got := h.call(feeds+"Publish", &feedv1.PublishRequest{ClientPostId: "b", Content: content}, bearer(bob.AccessToken)); got.reason() != "no_upload" {
		t.Errorf("another user's picture is answered with %d %s", got.status, got.body)
	}
}

// TestServersMisspellFields: a call of a server with an unknown field does nothing; what users call ignores it.
func TestServersMisspellFields(t *testing.T) {
	h := newHarness(t)
	alice, bob := h.person("alice"), h.person("bob")
	post := h.publish(alice, bob)
	for _, c := range []struct {
		method, fields, auth, want string
	}{
		{feedAdmins + "HidePost", `"shwo":true`, bearer(h.key), "bad_json"},
		{feeds + "GetPost", `"shwo":true`, bearer(alice.AccessToken), ""},
		{feedAdmins + "HidePost", `"reason":"spam"`, bearer(h.key), ""},
		{feeds + "GetPost", `"shwo":true`, bearer(alice.AccessToken), "no_post"},
		{feedAdmins + "HidePost", `"show":true`, bearer(h.key), ""},
		{feeds + "GetPost", `"shwo":true`, bearer(alice.AccessToken), ""},
	} {
		if got := h.post(c.method, asJSON, fmt.Appendf(nil, `{"post":"%d",%s}`, post, c.fields), c.auth); got.reason() != c.want {
			t.Errorf("%s with %s is answered with %d %s, want %q", c.method, c.fields, got.status, got.body, c.want)
		}
	}
}
