package apptest_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/comment/v1/commentv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Clients that show a post are told when it is edited, hidden and deleted, in both encodings, and with several nodes on whichever node that is done; what they read
// then is what holds. Those that show other posts are not told.
func TestScreensFollowTheirPosts(t *testing.T) {
	f := openFeed(t, 4, 0)
	author := f.people[0]
	publish := func(text string) uint64 {
		t.Helper()
		p, err := f.feed.Publish(t.Context(), apptest.As(author, &feedv1.PublishRequest{ClientPostId: text, Content: &feedv1.PostContent{Text: text}}))
		must(t, err)
		return p.Msg.Id
	}
	post, other := publish("one"), publish("other")
	watch := func(p *apptest.Person, protocol string, n uint64) *apptest.Socket {
		t.Helper()
		s, _ := p.Socket(t, protocol)
		s.Write(&gatewayv1.ClientFrame{Request: 7, WatchPosts: &gatewayv1.WatchPosts{Posts: []*gatewayv1.WatchedPost{{Post: n, Version: 1}}}})
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			if f.Error != nil || len(f.ChangedPosts) > 0 {
				t.Fatalf("the answer to watchPosts is %v, want no error and no changed post", f)
			}
			return f.Request == 7
		})
		return s
	}
	var open []*apptest.Socket
	for i, protocol := range []string{"rialto.v1.json", "rialto.v1.proto", "rialto.v1.proto"} { // with three nodes, one on each
		open = append(open, watch(f.people[1+i], protocol, post))
	}
	elsewhere := watch(author, "rialto.v1.proto", other)
	get := func(p *apptest.Person) (version uint32, found bool) {
		t.Helper()
		r, err := f.feed.GetPost(t.Context(), apptest.As(p, &feedv1.GetPostRequest{Post: post}))
		if connect.CodeOf(err) == connect.CodeNotFound {
			return 0, false
		}
		must(t, err)
		return r.Msg.Version, true
	}
	for _, c := range []struct {
		what    string
		do      func() error
		version uint32
		found   bool
	}{
		{"edited", func() error {
			_, err := f.feed.EditPost(t.Context(), apptest.As(author, &feedv1.EditPostRequest{Post: post, Content: &feedv1.PostContent{Text: "two"}}))
			return err
		}, 2, true},
		{"hidden", func() error {
			_, err := f.admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: post}))
			return err
		}, 0, false},
		{"shown again", func() error {
			_, err := f.admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: post, Show: true}))
			return err
		}, 2, true},
		{"deleted", func() error {
			_, err := f.feed.DeletePost(t.Context(), apptest.As(author, &feedv1.DeletePostRequest{Post: post}))
			return err
		}, 0, false},
	} {
		must(t, c.do())
		for i, s := range open {
			// A hint may also come of an earlier change, or of a gap: the client reads each time.
			s.Until(func(frame *gatewayv1.ServerFrame) bool {
				if !slices.Contains(frame.ChangedPosts, post) {
					return false
				}
				version, found := get(f.people[1+i])
				return version == c.version && found == c.found
			})
		}
	}
	elsewhere.Write(&gatewayv1.ClientFrame{Request: 9, Ping: &gatewayv1.Ping{}})
	elsewhere.Until(func(frame *gatewayv1.ServerFrame) bool {
		if slices.Contains(frame.ChangedPosts, post) {
			t.Error("a client that shows another post is told")
		}
		return frame.Request == 9
	})
}

// The page of a post has its author, the relation of the reader with the author, and its comments. A post that is hidden has no page.
func TestThePageOfAPost(t *testing.T) {
	f := openFeed(t, 2, 0)
	author, reader := f.people[0], f.people[1]
	p, err := f.feed.Publish(t.Context(), apptest.As(author, &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "one"}}))
	must(t, err)
	_, err = f.h.Graph().Follow(t.Context(), apptest.As(reader, &accountv1.FollowRequest{User: author.User}))
	must(t, err)
	comments := commentv1connect.NewCommentServiceClient(f.h.HTTP, f.h.URL)
	for i, text := range []string{"first", "second"} {
		_, err := comments.CreateComment(t.Context(), apptest.As(f.people[i], &commentv1.CreateCommentRequest{ClientCommentId: text, SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: p.Msg.Id,
			Content: &commentv1.CommentContent{Text: text}}))
		must(t, err)
	}
	page, err := f.feed.GetPostPage(t.Context(), apptest.As(reader, &feedv1.GetPostPageRequest{Post: p.Msg.Id, Comments: 1}))
	must(t, err)
	if m := page.Msg; m.Post.Content.Text != "one" || m.Author.GetId() != author.User || !m.Relation.GetFollowing() || m.Post.Comments != 2 || len(m.Comments) != 1 ||
		m.Comments[0].Content.Text != "second" || m.NextComments == "" || len(m.Missing) > 0 {
		t.Errorf("the page is %v", m)
	}
	_, err = f.admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: p.Msg.Id}))
	must(t, err)
	if _, err := f.feed.GetPostPage(t.Context(), apptest.As(author, &feedv1.GetPostPageRequest{Post: p.Msg.Id})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("the page of a hidden post is answered with %v", err)
	}
}

// Connected followers are told of a new post whose author has so many that they are pulled, with several nodes on each; a user who does not follow is not.
func TestFollowersOfAPulledAuthorAreTold(t *testing.T) {
	f := openFeed(t, 5, 0)
	author, outsider := f.people[0], f.people[4]
	var open []*apptest.Socket
	for _, p := range f.people {
		s, _ := p.Socket(t, "rialto.v1.proto")
		open = append(open, s)
		if p != author && p != outsider {
			_, err := f.h.Graph().Follow(t.Context(), apptest.As(p, &accountv1.FollowRequest{User: author.User}))
			must(t, err)
		}
	}
	p, err := f.feed.Publish(t.Context(), apptest.As(author, &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "one"}}))
	must(t, err)
	tier, err := f.admin.GetFeedAuthor(t.Context(), connect.NewRequest(&feedv1.GetFeedAuthorRequest{User: author.User}))
	must(t, err)
	if !tier.Msg.Pulled {
		t.Fatalf("the author is %v", tier.Msg)
	}
	names := func(frame *gatewayv1.ServerFrame) bool {
		return slices.ContainsFunc(frame.Posts, func(h *gatewayv1.PostHint) bool { return h.Post == p.Msg.Id && h.Author == author.User })
	}
	for _, s := range open[:4] {
		s.Until(names)
	}
	open[4].Write(&gatewayv1.ClientFrame{Request: 9, Ping: &gatewayv1.Ping{}})
	open[4].Until(func(frame *gatewayv1.ServerFrame) bool {
		if names(frame) {
			t.Error("a user who does not follow the author is told")
		}
		return frame.Request == 9
	})
}
