package rpc_test

import (
	"crypto/rand"
	"testing"

	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

const (
	engages   = "/rialto.engagement.v1.EngagementService/"
	ofPost    = engagementv1.LikeKind_LIKE_KIND_POST
	ofComment = engagementv1.LikeKind_LIKE_KIND_COMMENT
)

func ofEngagement() map[string]row {
	// of a post that only its author and bob see
	seen := func(request func(o subject) proto.Message) row {
		return row{request: request, former: "no_post", outsider: "no_post"}
	}
	return map[string]row{
		engages + "Like":           seen(func(o subject) proto.Message { return &engagementv1.LikeRequest{Kind: ofPost, Subject: o.post} }),
		engages + "ListLikers":     seen(func(o subject) proto.Message { return &engagementv1.ListLikersRequest{Kind: ofPost, Subject: o.post} }),
		engages + "Favourite":      seen(func(o subject) proto.Message { return &engagementv1.FavouriteRequest{Post: o.post} }),
		engages + "Unlike":         own(func(o subject) proto.Message { return &engagementv1.UnlikeRequest{Kind: ofPost, Subject: o.post} }),
		engages + "Unfavourite":    own(func(o subject) proto.Message { return &engagementv1.UnfavouriteRequest{Post: o.post} }),
		engages + "ListLikes":      own(func(subject) proto.Message { return &engagementv1.ListLikesRequest{} }),
		engages + "ListFavourites": own(func(subject) proto.Message { return &engagementv1.ListFavouritesRequest{} }),
		engages + "RecordViews":    own(func(o subject) proto.Message { return &engagementv1.RecordViewsRequest{Posts: []uint64{o.post}} }),
		engages + "ListViews":      own(func(subject) proto.Message { return &engagementv1.ListViewsRequest{} }),
		engages + "ClearViews":     own(func(subject) proto.Message { return &engagementv1.ClearViewsRequest{} }),
		engages + "ListHotPosts":   own(func(subject) proto.Message { return &engagementv1.ListHotPostsRequest{} }),
	}
}

// TestPostsAndCommentsHaveCounts: each call that gives posts or comments gives their counts, and what the caller has done.
func TestPostsAndCommentsHaveCounts(t *testing.T) {
	h := newHarness(t)
	alice, bob := h.person("alice"), h.person("bob")
	call := func(by person, name string, q, into proto.Message) {
		t.Helper()
		h.into(into, h.call(name, q, bearer(by.AccessToken)))
	}
	publish := func(by person, c *feedv1.PostContent) *feedv1.Post {
		p := &feedv1.Post{}
		call(by, feeds+"Publish", &feedv1.PublishRequest{ClientPostId: rand.Text(), Content: c}, p)
		return p
	}
	p := publish(alice, &feedv1.PostContent{Text: "a post"})
	repost := publish(bob, &feedv1.PostContent{Text: "look", RepostOf: p.Id})
	c, err := h.comments.CreateComment(t.Context(), alice.user(), &commentv1.CreateCommentRequest{ClientCommentId: "c", SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: p.Id, Content: &commentv1.CommentContent{Text: "a comment"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []person{alice, bob} {
		call(by, engages+"Like", &engagementv1.LikeRequest{Kind: ofPost, Subject: p.Id}, &engagementv1.LikeResponse{})
	}
	call(bob, engages+"Like", &engagementv1.LikeRequest{Kind: ofComment, Subject: c.Id}, &engagementv1.LikeResponse{})
	call(bob, engages+"Favourite", &engagementv1.FavouriteRequest{Post: p.Id}, &engagementv1.FavouriteResponse{})
	call(bob, engages+"RecordViews", &engagementv1.RecordViewsRequest{Posts: []uint64{p.Id}}, &engagementv1.RecordViewsResponse{})
	if err := h.engagement.Rank(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := &feedv1.Post{Likes: 2, Favourites: 1, Comments: 1, Reposts: 1, Liked: true, Favourited: true}
	check := func(where string, got *feedv1.Post) {
		t.Helper()
		if got := (&feedv1.Post{Likes: got.GetLikes(), Favourites: got.GetFavourites(), Comments: got.GetComments(), Reposts: got.GetReposts(), Liked: got.GetLiked(), Favourited: got.GetFavourited()}); !proto.Equal(got, want) {
			t.Errorf("%s has %v, want %v", where, got, want)
		}
	}
	one := &feedv1.Post{}
	call(bob, feeds+"GetPost", &feedv1.GetPostRequest{Post: p.Id}, one)
	check("GetPost", one)
	call(bob, feeds+"EditPost", &feedv1.EditPostRequest{Post: repost.Id, Content: &feedv1.PostContent{Text: "see", RepostOf: p.Id}}, one)
	check("EditPost", one.Reposted)
	posts := &feedv1.ListPostsResponse{}
	call(bob, feeds+"ListPosts", &feedv1.ListPostsRequest{User: alice.User}, posts)
	check("ListPosts", posts.Posts[0])
	home := &feedv1.HomeTimelineResponse{}
	call(bob, feeds+"HomeTimeline", &feedv1.HomeTimelineRequest{}, home)
	check("HomeTimeline", home.Posts[0].Reposted)
	list := &engagementv1.PostList{}
	for name, q := range map[string]proto.Message{"ListLikes": &engagementv1.ListLikesRequest{}, "ListFavourites": &engagementv1.ListFavouritesRequest{}, "ListViews": &engagementv1.ListViewsRequest{}} {
		call(bob, engages+name, q, list)
		check(name, list.Posts[0].Post)
	}
	hot := &engagementv1.ListHotPostsResponse{}
	call(bob, engages+"ListHotPosts", &engagementv1.ListHotPostsRequest{}, hot)
	check("ListHotPosts", hot.Posts[0].Post)
	want.Liked, want.Favourited = true, false
	call(alice, feeds+"GetPost", &feedv1.GetPostRequest{Post: p.Id}, one)
	check("GetPost of the author", one)
	for _, by := range []person{alice, bob} {
		got := &commentv1.Comment{}
		call(by, comments+"GetComment", &commentv1.GetCommentRequest{Comment: c.Id}, got)
		page := &commentv1.ListCommentsResponse{}
		call(by, comments+"ListComments", &commentv1.ListCommentsRequest{SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: p.Id, Order: commentv1.CommentOrder_COMMENT_ORDER_LIKES}, page)
		for _, c := range []*commentv1.Comment{got, page.Comments[0]} {
			if c.Likes != 1 || c.Liked != (by.User == bob.User) {
				t.Errorf("%d sees a comment with %d likes, liked %v", by.User, c.Likes, c.Liked)
			}
		}
	}
	// What is deleted does not count.
	call(bob, feeds+"DeletePost", &feedv1.DeletePostRequest{Post: repost.Id}, &feedv1.DeletePostResponse{})
	call(alice, comments+"DeleteComment", &commentv1.DeleteCommentRequest{Comment: c.Id}, &commentv1.DeleteCommentResponse{})
	want.Comments, want.Reposts = 0, 0
	call(alice, feeds+"GetPost", &feedv1.GetPostRequest{Post: p.Id}, one)
	check("GetPost", one)
}
