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
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
)

// postServer is a server of posts, whose second page is empty.
type postServer struct {
	registry
	feedv1connect.UnimplementedFeedServiceHandler
	engagementv1connect.UnimplementedEngagementServiceHandler
	published []*feedv1.PublishRequest
	engaged   []string // what was done with posts
	before    []uint64 // of the pages that were read
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
			{Id: 8, Author: 2, Content: &feedv1.PostContent{Title: "Title", Link: "https://example.com"}, EditedMs: 1},
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
	return connect.NewResponse(&engagementv1.ListHotPostsResponse{Posts: []*engagementv1.HotPost{{Post: &feedv1.Post{Id: 12, Author: 2, Content: &feedv1.PostContent{Text: "popular"}, Likes: 3, Liked: true, Views: 7}}}}), nil
}

func (p *postServer) GetFeedProfile(context.Context, *connect.Request[feedv1.GetFeedProfileRequest]) (*connect.Response[feedv1.FeedProfile], error) {
	return connect.NewResponse(&feedv1.FeedProfile{Posts: 3, Followers: 2, Following: 1}), nil
}

func (p *postServer) ListPosts(_ context.Context, q *connect.Request[feedv1.ListPostsRequest]) (*connect.Response[feedv1.ListPostsResponse], error) {
	return connect.NewResponse(&feedv1.ListPostsResponse{Posts: []*feedv1.Post{{Id: 5, Author: q.Msg.User, Content: &feedv1.PostContent{Text: "mine"}}}}), nil
}

// A feed is read page by page to its end, past empty pages, and no text looks like another post.
func TestFeed(t *testing.T) {
	p := &postServer{}
	mux := http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(p))
	mux.Handle(feedv1connect.NewFeedServiceHandler(p))
	mux.Handle(engagementv1connect.NewEngagementServiceHandler(p))
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
	do := func(line string) string {
		out.Reset()
		if err := s.do(t.Context(), line); err != nil {
			return "! " + err.Error()
		}
		return out.String()
	}

	if got := do("/feed more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/feed more before /feed: %q", got)
	}
	first := do("/feed")
	for _, want := range []string{"  Bob, ", ", edited\n", "      Title\n      https://example.com\n", "  you, ", "      look\n      Bob, ", "          first\n          second " + plain("\x1b[2J")} {
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
	if got := do("/hot week"); !strings.Contains(got, "popular\n      [1] 3 likes (yours too), 0 favourites, 0 comments, 0 reposts, 7 views\n") {
		t.Errorf("/hot shows %q", got)
	}
	do("/like 1")
	if got := do("/hot month"); !strings.HasPrefix(got, "! ") {
		t.Errorf("/hot month shows %q", got)
	}
	if want := []string{"like LIKE_KIND_POST 8", "unlike LIKE_KIND_POST 7", "favourite 7", "unfavourite 8", "HOT_WINDOW_WEEK", "like LIKE_KIND_POST 12"}; !slices.Equal(p.engaged, want) {
		t.Errorf("the commands did %q, want %q", p.engaged, want)
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
		if got := do(line); !strings.Contains(got, who+": 3 posts, 2 followers, follows 1\n") || !strings.Contains(got, "      mine\n") {
			t.Errorf("%s shows %q", line, got)
		}
	}
}
