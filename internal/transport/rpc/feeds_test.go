package rpc_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
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
		feedAdmins + "SetFeedPlan":   own(func(subject) proto.Message { return &feedv1.SetFeedPlanRequest{Plan: &feedv1.FeedPlan{}, By: "a test"} }),
		feedAdmins + "GetFeedPlan":   own(func(subject) proto.Message { return &feedv1.GetFeedPlanRequest{} }),
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

// TestFeedPlans: what an operator switches off is refused with a reason of its own, everything else works, and each change is recorded.
func TestFeedPlans(t *testing.T) {
	h := newHarness(t)
	alice, bob := h.person("alice"), h.person("bob")
	post := h.publish(alice, bob)
	comment := h.comment(bob, post)
	as := bearer(bob.AccessToken)
	likes := func(method string) string {
		return h.call(engages+method, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: post}, as).reason()
	}
	favourite := func() string {
		return h.call(engages+"Favourite", &engagementv1.FavouriteRequest{Post: post}, as).reason()
	}
	write := func() string {
		r := &commentv1.CreateCommentRequest{ClientCommentId: rand.Text(), SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: post, Content: &commentv1.CommentContent{Text: "x"}}
		return h.call(comments+"CreateComment", r, as).reason()
	}
	edit := func() string {
		return h.call(comments+"EditComment", &commentv1.EditCommentRequest{Comment: comment, Content: &commentv1.CommentContent{Text: "y"}}, as).reason()
	}
	check := func(plan *feedv1.FeedPlan, like, comment string) {
		t.Helper()
		if got := h.call(feedAdmins+"SetFeedPlan", &feedv1.SetFeedPlanRequest{Plan: plan, By: "ops", Reason: "a test"}, bearer(h.key)); got.status != http.StatusOK {
			t.Fatalf("%v is answered with %d %s", plan, got.status, got.body)
		}
		for what, c := range map[string][2]string{"Like": {likes("Like"), like}, "Favourite": {favourite(), like}, "Unlike": {likes("Unlike"), ""}, "CreateComment": {write(), comment}, "EditComment": {edit(), comment}} {
			if c[0] != c[1] {
				t.Errorf("with %v, %s is answered with %q, want %q", plan, what, c[0], c[1])
			}
		}
		if got := h.call(feeds+"GetPostPage", &feedv1.GetPostPageRequest{Post: post}, as); got.status != http.StatusOK {
			t.Errorf("with %v, the page is answered with %d %s", plan, got.status, got.body)
		}
	}
	check(&feedv1.FeedPlan{}, "", "")
	check(&feedv1.FeedPlan{LikesOff: true}, "likes_off", "")
	check(&feedv1.FeedPlan{CommentsReadOnly: true}, "", "comments_read_only")
	if got := h.call(comments+"DeleteComment", &commentv1.DeleteCommentRequest{Comment: comment}, as); got.status != http.StatusOK {
		t.Errorf("deleting a comment is answered with %d %s", got.status, got.body)
	}
	if got := h.call(feedAdmins+"SetFeedPlan", &feedv1.SetFeedPlanRequest{By: "ops"}, bearer(h.key)); got.reason() != "bad_post" {
		t.Errorf("no plan is answered with %d %s", got.status, got.body)
	}
	for _, bad := range []*feedv1.SetFeedPlanRequest{{Plan: &feedv1.FeedPlan{}}, {Plan: &feedv1.FeedPlan{}, By: "two\nlines"}, {Plan: &feedv1.FeedPlan{}, By: "ops", Reason: strings.Repeat("x", 501)}} {
		if got := h.call(feedAdmins+"SetFeedPlan", bad, bearer(h.key)); got.reason() != "bad_change" {
			t.Errorf("%v is answered with %d %s", bad, got.status, got.body)
		}
	}
	var plan feedv1.GetFeedPlanResponse
	h.into(&plan, h.call(feedAdmins+"GetFeedPlan", &feedv1.GetFeedPlanRequest{}, bearer(h.key)))
	var changes []string
	for _, c := range plan.Changes {
		changes = append(changes, fmt.Sprintf("%s %v %s %s", c.Switch, c.On, c.By, c.Reason))
	}
	if want := []string{"likes_off false ops a test", "comments_read_only true ops a test", "likes_off true ops a test"}; plan.Plan.LikesOff || !plan.Plan.CommentsReadOnly || !slices.Equal(changes, want) {
		t.Errorf("the plan is %v after %q, want %q", plan.Plan, changes, want)
	}
}
