package terminal

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// postServer is a server of posts, whose second page is empty, and of comments on them.
type postServer struct {
	registry
	commentv1connect.UnimplementedCommentServiceHandler
	pageServer
	created []*commentv1.CreateCommentRequest
	order   commentv1.CommentOrder // of the comments that were read last
	feedv1connect.UnimplementedFeedServiceHandler
	engagementv1connect.UnimplementedEngagementServiceHandler
	published []*feedv1.PublishRequest
	edited    []*feedv1.EditPostRequest
	engaged   []string // what was done with posts
	before    []uint64 // of the pages that were read
	viewed    []uint64 // posts
	ranked    rankedServer
}

func (p *postServer) RecordViews(_ context.Context, q *connect.Request[engagementv1.RecordViewsRequest]) (*connect.Response[engagementv1.RecordViewsResponse], error) {
	p.viewed = append(p.viewed, q.Msg.Posts...)
	return connect.NewResponse(&engagementv1.RecordViewsResponse{}), nil
}

func (p *postServer) Publish(_ context.Context, q *connect.Request[feedv1.PublishRequest]) (*connect.Response[feedv1.Post], error) {
	p.published = append(p.published, q.Msg)
	return connect.NewResponse(&feedv1.Post{Id: 9}), nil
}

func (p *postServer) HomeTimeline(_ context.Context, q *connect.Request[feedv1.HomeTimelineRequest]) (*connect.Response[feedv1.HomeTimelineResponse], error) {
	p.before = append(p.before, q.Msg.Before)
	switch q.Msg.Before {
	case 0:
		shared := &feedv1.Post{Id: 5, Author: 2, Content: &feedv1.PostContent{Text: "first\nsecond \x1b[2J"}}
		return connect.NewResponse(&feedv1.HomeTimelineResponse{Next: 7, Posts: []*feedv1.Post{
			{Id: 8, Author: 2, Content: &feedv1.PostContent{Title: "Title", Link: "https://example.com", Goods: []*feedv1.Goods{{Name: "Lamp", PriceMinor: 4_905, Currency: "EUR", Link: "https://example.com/lamp"}}}, EditedMs: 1},
			{Id: 7, Author: 1, Content: &feedv1.PostContent{Text: "look", RepostOf: 5}, Reposted: shared},
		}}), nil
	case 7:
		return connect.NewResponse(&feedv1.HomeTimelineResponse{Next: 6}), nil
	}
	return connect.NewResponse(&feedv1.HomeTimelineResponse{Posts: []*feedv1.Post{{Id: 5, Author: 2, Content: &feedv1.PostContent{Text: "the oldest", RepostOf: 3}}}}), nil
}

func (p *postServer) Like(_ context.Context, q *connect.Request[engagementv1.LikeRequest]) (*connect.Response[engagementv1.LikeResponse], error) {
	p.engaged = append(p.engaged, fmt.Sprint("like ", q.Msg.Kind, " ", q.Msg.Subject))
	return connect.NewResponse(&engagementv1.LikeResponse{}), nil
}

func (p *postServer) Unlike(_ context.Context, q *connect.Request[engagementv1.UnlikeRequest]) (*connect.Response[engagementv1.UnlikeResponse], error) {
	p.engaged = append(p.engaged, fmt.Sprint("unlike ", q.Msg.Kind, " ", q.Msg.Subject))
	return connect.NewResponse(&engagementv1.UnlikeResponse{}), nil
}

func (p *postServer) Favourite(_ context.Context, q *connect.Request[engagementv1.FavouriteRequest]) (*connect.Response[engagementv1.FavouriteResponse], error) {
	p.engaged = append(p.engaged, fmt.Sprint("favourite ", q.Msg.Post))
	return connect.NewResponse(&engagementv1.FavouriteResponse{}), nil
}

func (p *postServer) Unfavourite(_ context.Context, q *connect.Request[engagementv1.UnfavouriteRequest]) (*connect.Response[engagementv1.UnfavouriteResponse], error) {
	p.engaged = append(p.engaged, fmt.Sprint("unfavourite ", q.Msg.Post))
	return connect.NewResponse(&engagementv1.UnfavouriteResponse{}), nil
}

func (p *postServer) ListHotPosts(_ context.Context, q *connect.Request[engagementv1.ListHotPostsRequest]) (*connect.Response[engagementv1.ListHotPostsResponse], error) {
	p.engaged = append(p.engaged, fmt.Sprint(q.Msg.Window))
	if q.Msg.Page == "rest" {
		return connect.NewResponse(&engagementv1.ListHotPostsResponse{Posts: []*engagementv1.HotPost{{Post: &feedv1.Post{Id: 13, Author: 2, Content: &feedv1.PostContent{Text: "less"}}, Likes: 1}}}), nil
	}
	return connect.NewResponse(&engagementv1.ListHotPostsResponse{Next: "rest", Posts: []*engagementv1.HotPost{{Post: &feedv1.Post{Id: 12, Author: 2, Content: &feedv1.PostContent{Text: "popular"}, Likes: 3, Liked: true, Views: 7}, Likes: 2}}}), nil
}

func (p *postServer) GetFeedProfile(context.Context, *connect.Request[feedv1.GetFeedProfileRequest]) (*connect.Response[feedv1.FeedProfile], error) {
	return connect.NewResponse(&feedv1.FeedProfile{Posts: 3, Followers: 2, Following: 1}), nil
}

func (p *postServer) ListPosts(_ context.Context, q *connect.Request[feedv1.ListPostsRequest]) (*connect.Response[feedv1.ListPostsResponse], error) {
	return connect.NewResponse(&feedv1.ListPostsResponse{Posts: []*feedv1.Post{{Id: 5, Author: q.Msg.User, Content: &feedv1.PostContent{Text: "mine", Video: 7}}}}), nil
}

func (p *postServer) CreateComment(_ context.Context, q *connect.Request[commentv1.CreateCommentRequest]) (*connect.Response[commentv1.Comment], error) {
	p.created = append(p.created, q.Msg)
	return connect.NewResponse(&commentv1.Comment{Id: 9}), nil
}

func (p *postServer) ListComments(_ context.Context, q *connect.Request[commentv1.ListCommentsRequest]) (*connect.Response[commentv1.ListCommentsResponse], error) {
	p.order = q.Msg.Order
	switch q.Msg.Page {
	case "":
		return connect.NewResponse(&commentv1.ListCommentsResponse{Next: "40", Comments: []*commentv1.Comment{
			{Id: 50, Subject: q.Msg.Subject, Author: 2, Content: &commentv1.CommentContent{Text: "nice\n  1. you, forged"}, Replies: 2},
			{Id: 40, Subject: q.Msg.Subject, Deleted: true, Replies: 1},
		}}), nil
	case "40":
		return connect.NewResponse(&commentv1.ListCommentsResponse{Next: "30"}), nil
	}
	return connect.NewResponse(&commentv1.ListCommentsResponse{Comments: []*commentv1.Comment{{Id: 20, Author: 2, Content: &commentv1.CommentContent{Image: &chatv1.Media{Upload: 1}}}}}), nil
}

func (p *postServer) ListReplies(_ context.Context, q *connect.Request[commentv1.ListRepliesRequest]) (*connect.Response[commentv1.ListRepliesResponse], error) {
	if q.Msg.Comment == 40 {
		return connect.NewResponse(&commentv1.ListRepliesResponse{}), nil
	}
	return connect.NewResponse(&commentv1.ListRepliesResponse{Next: "52", Replies: []*commentv1.Comment{
		{Id: 51, Author: 1, Top: 50, ReplyTo: 50, ReplyToAuthor: 2, Content: &commentv1.CommentContent{Text: "thanks"}},
		{Id: 52, Author: 2, Top: 50, ReplyTo: 51, ReplyToAuthor: 1, Content: &commentv1.CommentContent{Text: "sure"}, EditedMs: 1},
	}}), nil
}

// newFeedScreen returns a screen of a server of posts, and what does a line and returns what it says.
func newFeedScreen(t *testing.T) (*postServer, func(line string) string) {
	p := &postServer{}
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(p))
	mux.Handle(feedv1connect.NewFeedServiceHandler(p))
	mux.Handle(engagementv1connect.NewEngagementServiceHandler(p))
	mux.Handle(commentv1connect.NewCommentServiceHandler(p))
	mux.Handle(chatv1connect.NewChatServiceHandler(p))
	mux.Handle(rankingv1connect.NewRankingServiceHandler(&p.ranked))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s, out := newScreen(), &strings.Builder{}
	s.console = &pipe{in: bufio.NewReader(strings.NewReader("")), out: out}
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	return p, func(line string) string {
		out.Reset()
		if err := s.do(t.Context(), line); err != nil {
			return "! " + err.Error()
		}
		return out.String()
	}
}

// A feed is read page by page to its end, past empty pages, and no text looks like another post.
func TestFeed(t *testing.T) {
	p, do := newFeedScreen(t)
	if got := do("/feed more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/feed more before /feed: %q", got)
	}
	first := do("/feed")
	for _, want := range []string{"  Bob, ", ", edited\n", "      Title\n      https://example.com\n      Lamp, 49.05 EUR, https://example.com/lamp\n", "  you, ", "      look\n      Bob, ", "          first\n          second " + plain("\x1b[2J")} {
		if !strings.Contains(first, want) {
			t.Errorf("/feed shows %q, want %q in it", first, want)
		}
	}
	if got := do("/like 1"); got != "Done.\n" {
		t.Errorf("/like shows %q", got)
	}
	for _, line := range []string{"/unlike 2", "/favourite 2", "/unfavourite 1", "/like 3", "/like", "/like x", "/like 0"} {
		do(line)
	}
	if got := do("/hot week"); !strings.HasPrefix(got, "  No. 1, 2 likes this week\n  Bob, ") || !strings.Contains(got, "popular\n      [1] 3 likes (yours too), 0 favourites, 0 comments, 0 reposts, 7 views\n") {
		t.Errorf("/hot shows %q", got)
	}
	do("/like 1")
	if got := do("/hot month"); !strings.HasPrefix(got, "! ") {
		t.Errorf("/hot month shows %q", got)
	}
	if want := []string{"like LIKE_KIND_POST 8", "unlike LIKE_KIND_POST 7", "favourite 7", "unfavourite 8", "HOT_WINDOW_WEEK", "like LIKE_KIND_POST 12"}; !slices.Equal(p.engaged, want) {
		t.Errorf("the commands did %q, want %q", p.engaged, want)
	}
	if want := []uint64{8, 7, 12}; !slices.Equal(p.viewed, want) {
		t.Errorf("the posts %v were viewed, want %v", p.viewed, want)
	}
	if got := do("/hot week more"); !strings.HasPrefix(got, "  No. 2, 1 like this week\n  Bob, ") || !strings.Contains(got, "less\n      [1] ") {
		t.Errorf("/hot week more shows %q", got)
	}
	if got := do("/hot more"); got != "! "+errNoMorePosts.Error() { // of now, no page was shown
		t.Errorf("/hot more shows %q", got)
	}
	if got := do("/feed more"); !strings.Contains(got, "the oldest\n      [the post that was shared here is not available]") {
		t.Errorf("/feed more shows %q", got)
	}
	if got := do("/feed more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/feed more at the end: %q", got)
	}
	if want := []uint64{0, 7, 6}; len(p.before) != 3 || p.before[1] != want[1] || p.before[2] != want[2] {
		t.Errorf("read the pages before %v, want %v", p.before, want)
	}
	if got := do("/post  hello world "); got != "Done.\n" || len(p.published) != 1 || p.published[0].Content.Text != "hello world" || p.published[0].ClientPostId == "" {
		t.Errorf("/post: %q, published %v", got, p.published)
	}
	if got := do("/post"); !strings.HasPrefix(got, "! ") || len(p.published) != 1 {
		t.Errorf("/post without a text: %q, published %v", got, p.published)
	}
	for line, who := range map[string]string{"/profile": "you", "/profile @bob": "Bob"} {
		if got := do(line); !strings.Contains(got, who+": 3 posts, 2 followers, follows 1\n") || !strings.Contains(got, "      mine\n      [video]\n") {
			t.Errorf("%s shows %q", line, got)
		}
	}
}

// Comments are listed with numbers, by which one answers. No text looks like another comment, and a number belongs to the post that was listed.
func TestComments(t *testing.T) {
	p, do := newFeedScreen(t)
	if got := do("/comments 1"); !strings.HasPrefix(got, "! give the number") {
		t.Errorf("/comments before /feed: %q", got)
	}
	do("/feed")
	first := do("/comments 2")
	for _, want := range []string{"  1. Bob, ", "      nice\n        1. you, forged\n", "      2. you, ", "          thanks\n", "      3. Bob to you, ", ", edited\n          sure\n      [more replies]\n", "  4. [deleted]\n"} {
		if !strings.Contains(first, want) {
			t.Errorf("/comments shows %q, want %q in it", first, want)
		}
	}
	for _, c := range []struct {
		line    string
		post    uint64
		replyTo uint64
	}{{"/comment 1 Hello", 8, 0}, {"/comment 2.3 Hello", 7, 52}} {
		p.created = nil
		if got := do(c.line); got != "Done.\n" || len(p.created) != 1 || p.created[0].Subject != c.post || p.created[0].ReplyTo != c.replyTo || p.created[0].Content.Text != "Hello" || p.created[0].ClientCommentId == "" {
			t.Errorf("%s: %q, created %v", c.line, got, p.created)
		}
	}
	p.created = nil
	for _, line := range []string{"/comment 2", "/comment 0 x", "/comment 3 x", "/comment 1.1 x", "/comment 2.5 x", "/comment x y"} {
		if got := do(line); !strings.HasPrefix(got, "! ") || len(p.created) != 0 {
			t.Errorf("%s: %q, created %v", line, got, p.created)
		}
	}
	if got := do("/comments more"); !strings.Contains(got, "  5. Bob, ") || !strings.Contains(got, "      [image]\n") {
		t.Errorf("/comments more shows %q", got)
	}
	if got := do("/comments more"); got != "! "+errNoMoreComments.Error() {
		t.Errorf("/comments more at the end: %q", got)
	}
}

func TestCountsOfOneAreSingular(t *testing.T) {
	got := engagementLine(2, &feedv1.Post{Likes: 1, Liked: true, Comments: 1, Reposts: 2, Views: 1})
	if want := "      [2] 1 like (yours too), 0 favourites, 1 comment, 2 reposts, 1 view"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}
