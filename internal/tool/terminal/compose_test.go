package terminal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// pageServer reads pages for previews.
type pageServer struct {
	chatv1connect.UnimplementedChatServiceHandler
	previewed []string
}

func (p *pageServer) PreviewLink(_ context.Context, q *connect.Request[chatv1.PreviewLinkRequest]) (*connect.Response[chatv1.LinkPreview], error) {
	p.previewed = append(p.previewed, q.Msg.Url)
	if strings.Contains(q.Msg.Url, "broken") {
		return nil, refusal(connect.CodeUnavailable, "no_preview", "the page cannot be read")
	}
	return connect.NewResponse(&chatv1.LinkPreview{Url: q.Msg.Url, Title: "A page", Signature: []byte("s")}), nil
}

func (p *postServer) GetPost(_ context.Context, q *connect.Request[feedv1.GetPostRequest]) (*connect.Response[feedv1.Post], error) {
	post := &feedv1.Post{Id: q.Msg.Post, Author: 1, Version: 3, Content: &feedv1.PostContent{Title: "Old", Text: "old", Link: "https://example.com", LinkPreview: &chatv1.LinkPreview{Url: "https://example.com", Title: "A page"},
		Images: []*chatv1.Media{{Upload: 4, Name: "a.png"}}, RepostOf: 5}}
	if q.Msg.Post == 8 {
		post.Author = 2
	}
	return connect.NewResponse(post), nil
}

func (p *postServer) EditPost(_ context.Context, q *connect.Request[feedv1.EditPostRequest]) (*connect.Response[feedv1.Post], error) {
	p.edited = append(p.edited, q.Msg)
	return connect.NewResponse(&feedv1.Post{}), nil
}

func (p *postServer) DeletePost(_ context.Context, q *connect.Request[feedv1.DeletePostRequest]) (*connect.Response[feedv1.DeletePostResponse], error) {
	p.engaged = append(p.engaged, "delete "+pageOf(q.Msg.Post))
	return connect.NewResponse(&feedv1.DeletePostResponse{}), nil
}

func (p *postServer) ListVersions(_ context.Context, q *connect.Request[feedv1.ListVersionsRequest]) (*connect.Response[feedv1.ListVersionsResponse], error) {
	if q.Msg.Before == 0 {
		return connect.NewResponse(&feedv1.ListVersionsResponse{Next: 2, Versions: []*feedv1.PostVersion{{Version: 2, Content: &feedv1.PostContent{Text: "second"}}}}), nil
	}
	return connect.NewResponse(&feedv1.ListVersionsResponse{Versions: []*feedv1.PostVersion{{Version: 1, Content: &feedv1.PostContent{Text: "first"}}}}), nil
}

func (p *postServer) ListLikes(_ context.Context, q *connect.Request[engagementv1.ListLikesRequest]) (*connect.Response[engagementv1.PostList], error) {
	if q.Msg.Page == "" {
		return connect.NewResponse(&engagementv1.PostList{Next: "2", Posts: []*engagementv1.ListedPost{{Post: &feedv1.Post{Id: 21, Author: 2, Content: &feedv1.PostContent{Text: "liked"}}}}}), nil
	}
	return connect.NewResponse(&engagementv1.PostList{}), nil
}

func (p *postServer) ListFavourites(context.Context, *connect.Request[engagementv1.ListFavouritesRequest]) (*connect.Response[engagementv1.PostList], error) {
	return connect.NewResponse(&engagementv1.PostList{}), nil
}

func (p *postServer) ListViews(context.Context, *connect.Request[engagementv1.ListViewsRequest]) (*connect.Response[engagementv1.PostList], error) {
	return connect.NewResponse(&engagementv1.PostList{Posts: []*engagementv1.ListedPost{{Post: &feedv1.Post{Id: 22, Author: 2, Content: &feedv1.PostContent{Text: "seen"}}}}}), nil
}

func (p *postServer) ClearViews(context.Context, *connect.Request[engagementv1.ClearViewsRequest]) (*connect.Response[engagementv1.ClearViewsResponse], error) {
	p.engaged = append(p.engaged, "clear")
	return connect.NewResponse(&engagementv1.ClearViewsResponse{}), nil
}

func (p *postServer) ListLikers(_ context.Context, q *connect.Request[engagementv1.ListLikersRequest]) (*connect.Response[engagementv1.ListLikersResponse], error) {
	p.engaged = append(p.engaged, "likers "+q.Msg.Kind.String()+" "+pageOf(q.Msg.Subject)+q.Msg.Page)
	if q.Msg.Page == "" {
		return connect.NewResponse(&engagementv1.ListLikersResponse{Next: "+"}), nil
	}
	return connect.NewResponse(&engagementv1.ListLikersResponse{Likers: []*engagementv1.Liker{{User: 2}}}), nil
}

func (p *postServer) EditComment(_ context.Context, q *connect.Request[commentv1.EditCommentRequest]) (*connect.Response[commentv1.Comment], error) {
	p.engaged = append(p.engaged, "edit comment "+pageOf(q.Msg.Comment)+" "+q.Msg.Content.Text+" "+q.Msg.Content.Image.GetName())
	return connect.NewResponse(&commentv1.Comment{}), nil
}

func (p *postServer) GetComment(_ context.Context, q *connect.Request[commentv1.GetCommentRequest]) (*connect.Response[commentv1.Comment], error) {
	return connect.NewResponse(&commentv1.Comment{Id: q.Msg.Comment, Content: &commentv1.CommentContent{Text: "old", Image: &chatv1.Media{Name: "a.png"}}}), nil
}

func (p *postServer) DeleteComment(_ context.Context, q *connect.Request[commentv1.DeleteCommentRequest]) (*connect.Response[commentv1.DeleteCommentResponse], error) {
	p.engaged = append(p.engaged, "delete comment "+pageOf(q.Msg.Comment))
	return connect.NewResponse(&commentv1.DeleteCommentResponse{}), nil
}

// A post may have more than a text, and an audience. What looks like an option behind the text, or has no value, is text.
func TestComposedPosts(t *testing.T) {
	p, do := newFeedScreen(t)
	do("/feed")
	for line, want := range map[string]*feedv1.PostContent{
		`/post to:friends hello`: {Text: "hello", Audience: feedv1.Audience_AUDIENCE_FRIENDS},
		`/post title:"By the lake" to:@bob link:https://example.com/map Two hours, link:no`: {Title: "By the lake", Text: "Two hours, link:no", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{2},
			Link: "https://example.com/map", LinkPreview: &chatv1.LinkPreview{Url: "https://example.com/map", Title: "A page", Signature: []byte("s")}},
		`/post except:@bob,@bob goods:"Lamp, brass, 49.9 EUR, https://example.com/lamp" goods:"Tea, 300 JPY, https://example.com/tea"`: {Audience: feedv1.Audience_AUDIENCE_EXCEPT, Users: []uint64{2, 2},
			Goods: []*feedv1.Goods{{Name: "Lamp, brass", PriceMinor: 4_990, Currency: "EUR", Link: "https://example.com/lamp"}, {Name: "Tea", PriceMinor: 300, Currency: "JPY", Link: "https://example.com/tea"}}},
		`/post to: all of you, @bob and @nobody`: {Text: "to: all of you, @bob and @nobody", Mentions: []*chatv1.Mention{{User: 2, Start: 16, Length: 4}}},
		`/repost 1`:                              {RepostOf: 8},
		`/repost 2 Worth reading`:                {RepostOf: 7, Text: "Worth reading"},
		`/post link:https://broken.example x`:    {Text: "x", Link: "https://broken.example"},
	} {
		p.published = nil
		got := do(line)
		if !strings.HasSuffix(got, "Done.\n") || len(p.published) != 1 || !proto.Equal(p.published[0].Content, want) {
			t.Errorf("%s: %q, published %v, want %v", line, got, p.published, want)
		}
		if strings.Contains(line, "broken") && !strings.Contains(got, "without a preview of the link: the page cannot be read") {
			t.Errorf("%s prints %q, want that there is no preview", line, got)
		}
	}
	p.published = nil
	for _, line := range []string{"/post", "/repost", "/repost 9 x", "/post to:all x", "/post image:/no/such.png x", `/post goods:"Lamp, 4.999 EUR, https://x" x`, `/post goods:"Lamp, 4 XTS, https://x" x`, `/post goods:"Lamp" x`,
		`/post goods:"Lamp, 4. EUR, https://x" x`, `/post goods:"Lamp, -4 EUR, https://x" x`} {
		if got := do(line); !strings.HasPrefix(got, "! ") || len(p.published) > 0 {
			t.Errorf("%s: %q, published %v", line, got, p.published)
		}
	}
}

// An edit changes what is given and leaves the rest, is based on the version that was read, and has a new preview: nobody may send a stored one.
func TestEditedPosts(t *testing.T) {
	p, do := newFeedScreen(t)
	do("/feed")
	if got := do("/editpost 2 title:New new"); got != "Done.\n" || len(p.edited) != 1 {
		t.Fatalf("/editpost: %q, edited %v", got, p.edited)
	}
	want := &feedv1.EditPostRequest{Post: 7, Version: 3, Content: &feedv1.PostContent{Title: "New", Text: "new", Link: "https://example.com", LinkPreview: &chatv1.LinkPreview{Url: "https://example.com", Title: "A page", Signature: []byte("s")},
		Images: []*chatv1.Media{{Upload: 4, Name: "a.png"}}, RepostOf: 5}}
	if !proto.Equal(p.edited[0], want) {
		t.Errorf("edited %v, want %v", p.edited[0], want)
	}
	for _, line := range []string{"/editpost 2", "/editpost 1 another's", "/editpost 9 x", "/deletepost 9", "/versions"} {
		if got := do(line); !strings.HasPrefix(got, "! ") || len(p.edited) != 1 {
			t.Errorf("%s: %q, edited %v", line, got, p.edited)
		}
	}
	if got := do("/versions 2"); !strings.Contains(got, "version 2") || strings.Index(got, "      second\n") > strings.Index(got, "      first\n") || !strings.Contains(got, "      first\n") {
		t.Errorf("/versions shows %q", got)
	}
	if got := do("/deletepost 2"); got != "Done.\n" || !slices.Equal(p.engaged, []string{"delete 7"}) {
		t.Errorf("/deletepost: %q, did %q", got, p.engaged)
	}
}

// Images are read from files, also those with spaces in their names.
func TestImagesOfPosts(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "my cat.png")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := compose(`cover:"` + name + `" image:a.png image:b.png Cats`)
	if want := [][2]string{{"cover", name}, {"image", "a.png"}, {"image", "b.png"}}; !slices.Equal(c.options, want) || c.text != "Cats" {
		t.Errorf("composed %v, %q, want %v", c.options, c.text, want)
	}
}

// The lists of what one liked, favourited and viewed go on page by page, and posts and comments are liked, edited and deleted by their numbers.
func TestListsOfEngagedPosts(t *testing.T) {
	p, do := newFeedScreen(t)
	if got := do("/liked"); !strings.Contains(got, "      liked\n      [1] ") {
		t.Errorf("/liked shows %q", got)
	}
	if got := do("/liked more"); got != "! "+errNoMorePosts.Error() {
		t.Errorf("/liked more shows %q", got)
	}
	if got := do("/favourites"); !strings.HasPrefix(got, "You have no favourites.") {
		t.Errorf("/favourites shows %q", got)
	}
	if got := do("/viewed"); !strings.Contains(got, "      seen\n") {
		t.Errorf("/viewed shows %q", got)
	}
	do("/comments 1 likes")
	if p.order != commentv1.CommentOrder_COMMENT_ORDER_LIKES {
		t.Errorf("/comments 1 likes is sorted by %v", p.order)
	}
	for _, line := range []string{"/like 1.3", "/unlike 1.1", "/editcomment 1.2 better", "/deletecomment 1.2", "/viewed clear"} {
		if got := do(line); got != "Done.\n" {
			t.Errorf("%s: got %q, want %q", line, got, "Done.\n")
		}
	}
	if got := do("/likers 1"); got != "  @bob  Bob\n" {
		t.Errorf("/likers shows %q", got)
	}
	want := []string{"like LIKE_KIND_COMMENT 52", "unlike LIKE_KIND_COMMENT 50", "edit comment 51 better a.png", "delete comment 51", "clear", "likers LIKE_KIND_POST 22", "likers LIKE_KIND_POST 22+"}
	if !slices.Equal(p.engaged, want) {
		t.Errorf("the commands did %q, want %q", p.engaged, want)
	}
	for _, line := range []string{"/comments 1 best", "/editcomment 1.2", "/editcomment 1 x", "/deletecomment 1", "/deletecomment 1.9", "/like 1.9", "/liked all"} {
		if got := do(line); !strings.HasPrefix(got, "! ") {
			t.Errorf("%s prints %q, want an error", line, got)
		}
	}
	if !slices.Equal(p.engaged, want) {
		t.Errorf("refused commands did %q", p.engaged[len(want):])
	}
}

// A card has the beginning of a post for everyone. Of others it names the author alone.
func TestCardsOfPosts(t *testing.T) {
	for _, c := range []struct {
		content *feedv1.PostContent
		want    *chatv1.Card
	}{
		{&feedv1.PostContent{Audience: feedv1.Audience_AUDIENCE_EVERYONE, Title: "Lake", Text: strings.Repeat("湖", 300)}, &chatv1.Card{Title: "Lake", Text: strings.Repeat("湖", 199) + "…", Url: "https://example.com/feed/7"}},
		{&feedv1.PostContent{Audience: feedv1.Audience_AUDIENCE_EVERYONE, Text: "hi"}, &chatv1.Card{Title: "Post by Bob", Text: "hi", Url: "https://example.com/feed/7"}},
		{&feedv1.PostContent{Audience: feedv1.Audience_AUDIENCE_FRIENDS, Title: "Secret", Text: "secret"}, &chatv1.Card{Title: "Post by Bob", Url: "https://example.com/feed/7"}},
	} {
		if got := postCard(&feedv1.Post{Id: 7, Content: c.content}, "Bob", "https://example.com/"); !proto.Equal(got, c.want) {
			t.Errorf("the card of %v is %v, want %v", c.content, got, c.want)
		}
	}
}
